//! How causes look in pictures: a colour each, and a band where two are alike in grey.

/// The look of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Name of the cause.
    pub cause: &'static str,
    /// What it is, for a legend.
    pub meaning: &'static str,
    /// Red, green and blue.
    pub colour: [u8; 3],
    /// True if a band of the other brightness runs through it.
    pub has_band: bool,
}

const fn look(cause: &'static str, meaning: &'static str, colour: [u8; 3], has_band: bool) -> Look {
    Look { cause, meaning, colour, has_band }
}

/// All causes; the last is that of what is not told.
const LOOKS: [Look; 14] = [
    look("computing", "computing", [0x2f, 0x8a, 0x57], false),
    look("behind", "behind another task", [0xe6, 0x8a, 0x1c], false),
    look("behind_own", "behind its own kind", [0xf3, 0xcf, 0x5b], false),
    look("idle_cpu_allowed", "while an allowed CPU idled", [0xa8, 0x1f, 0x14], false),
    look("idle_cpu_forbidden", "while a forbidden CPU idled", [0xe0, 0x86, 0xac], true),
    look("throttled", "throttled", [0x7d, 0x4f, 0xc0], true),
    look("cpu_starts", "until an idle CPU started", [0xa9, 0xd2, 0xf5], true),
    look("scheduler", "the scheduler's work", [0x1d, 0x2f, 0x5e], false),
    look("asleep", "asleep until a timer or something outside", [0xdf, 0xe3, 0xe8], false),
    look("device", "waiting for a device", [0x6b, 0x46, 0x1f], true),
    look("dirty_memory", "waiting while too much memory was dirty", [0x9a, 0x94, 0x5c], true),
    look("io_limit", "held by a limit on I/O", [0xc8, 0xb4, 0xa0], true),
    look("disk_queue", "its disk served others first", [0x2b, 0x9c, 0xa6], true),
    look("not_told", "not told by the events", [0xff, 0xff, 0xff], false),
];

/// The look of a cause by its name.
pub(super) fn of(cause: &str) -> Look {
    LOOKS.iter().copied().find(|it| it.cause == cause).unwrap_or(LOOKS[LOOKS.len() - 1])
}

/// The looks of those of `causes` that occur, in the order of the list.
pub(super) fn used(causes: &[&str]) -> Vec<Look> {
    LOOKS.into_iter().filter(|look| causes.iter().any(|cause| of(cause) == *look)).collect()
}

impl Look {
    /// The colour for SVG.
    pub fn fill(self) -> String {
        let [red, green, blue] = self.colour;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// Brightness in grey, 0 to 255 (ITU-R BT.601).
    fn grey(self) -> u32 {
        let [red, green, blue] = self.colour.map(u32::from);
        (299 * red + 587 * green + 114 * blue) / 1000
    }

    /// True if black letters are read on it better than white ones.
    pub fn is_light(self) -> bool {
        self.grey() > 115
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_causes_look_alike_in_grey() {
        for (at, one) in LOOKS.iter().enumerate() {
            for other in &LOOKS[..at] {
                let apart = one.grey().abs_diff(other.grey());
                let names = (one.cause, other.cause);
                assert!(apart >= 18 || one.has_band != other.has_band, "{names:?} are {apart} apart");
            }
        }
    }

    #[test]
    fn an_unknown_cause_looks_like_one_that_is_not_told() {
        assert_eq!(of("new").cause, "not_told");
        assert_eq!(used(&["new", "computing"]).len(), 2);
    }
}
