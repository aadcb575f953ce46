//! `prev_state` of `sched_switch`: the state in which a task left its CPU, as a set of letters that differs by kernel.

use goodness_core::Off;
use std::fmt;

/// State letters with their bits, in print order.
const LETTERS: [(u8, u16); 12] = [
    (b'S', 1 << 0),
    (b'D', 1 << 1),
    (b'T', 1 << 2),
    (b't', 1 << 3),
    (b'X', 1 << 4),
    (b'Z', 1 << 5),
    (b'P', 1 << 6),
    (b'I', 1 << 7),
    (b'K', 1 << 8),
    (b'W', 1 << 9),
    (b'N', 1 << 10),
    (b'?', 1 << 14),
];

/// A set of state letters. The empty set is `R`: runnable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrevState(u16);

impl PrevState {
    /// `R`: still runnable.
    pub const RUNNABLE: PrevState = PrevState(0);
    /// `R+`: preempted. `+` with other letters: preempted on the way to sleep.
    pub const PREEMPTED: PrevState = PrevState(1 << 15);
    /// `S`: interruptible sleep.
    pub const SLEEPING: PrevState = PrevState(1);
    /// `D`: uninterruptible sleep.
    pub const UNINTERRUPTIBLE: PrevState = PrevState(1 << 1);
    /// `X`: ended.
    pub const DEAD: PrevState = PrevState(1 << 4);
    /// `Z`: ended, not yet reaped by its parent.
    pub const ZOMBIE: PrevState = PrevState(1 << 5);
    /// `?`: the switch was not recorded, and the state is unknown.
    pub const UNKNOWN: PrevState = PrevState(1 << 14);

    /// Parses letters, separated by `|` or not, an optional final `+`, or `0x…` for kernels that print no letters.
    /// `None` for anything else.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<PrevState> {
        if let Some(hex) = text.strip_prefix(b"0x") {
            let bits = u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
            return Some(PrevState::of_kernel_bits(bits));
        }
        let mut state = PrevState(0);
        for (at, &byte) in text.iter().enumerate() {
            state.0 |= match byte {
                b'R' | b'|' => 0,
                b'+' if at > 0 => PrevState::PREEMPTED.0,
                b'x' => PrevState::DEAD.0,
                b'w' | b'n' | b'k' | b'C' | b'p' | b'F' | b'L' | b'M' | b'H' => 0,
                letter => LETTERS.iter().find(|(l, _)| *l == letter)?.1,
            };
        }
        (!text.is_empty()).then_some(state)
    }

    /// The set for `TASK_*` bits as the kernel numbers them in reports since 4.14.
    fn of_kernel_bits(bits: u16) -> PrevState {
        let order = [b'S', b'D', b'T', b't', b'X', b'Z', b'P', b'I'];
        let mut state = PrevState(0);
        for (bit, letter) in order.into_iter().enumerate() {
            if bits & (1 << bit) != 0 {
                state.0 |= LETTERS.iter().find(|(l, _)| *l == letter).map_or(0, |(_, b)| *b);
            }
        }
        state
    }

    /// True if this set contains every letter of `other`.
    #[must_use]
    pub const fn has(self, other: PrevState) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if the task is still runnable: `R`, `R+`, or preempted in another state.
    #[must_use]
    pub const fn is_runnable(self) -> bool {
        self.0 == 0 || self.has(PrevState::PREEMPTED)
    }

    /// True if the task has ended.
    #[must_use]
    pub const fn is_dead(self) -> bool {
        !self.is_runnable() && (self.has(PrevState::DEAD) || self.has(PrevState::ZOMBIE))
    }

    /// The state as [`Off`]. Runnable counts as preempted, because a trace does not distinguish yielding. Unknown
    /// counts as sleeping.
    #[must_use]
    pub const fn off(self) -> Off {
        if self.is_runnable() {
            Off::Preempted
        } else if self.is_dead() {
            Off::Exited
        } else if self.has(PrevState::SLEEPING) || self.has(PrevState::UNKNOWN) {
            Off::Sleeping
        } else {
            Off::Uninterruptible
        }
    }
}

impl fmt::Display for PrevState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (letter, bit) in LETTERS {
            if self.0 & bit != 0 {
                if !text.is_empty() {
                    text.push('|');
                }
                text.push(letter as char);
            }
        }
        if text.is_empty() {
            text.push('R');
        }
        if self.has(PrevState::PREEMPTED) {
            text.push('+');
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_all_kernels_read_back_as_printed() {
        for text in ["R", "R+", "S", "D", "D|K", "D|W", "T", "t", "X", "Z", "P", "I", "D|N", "S+"] {
            assert_eq!(PrevState::parse(text.as_bytes()).map(|l| l.to_string()).as_deref(), Some(text));
        }
        assert_eq!(PrevState::parse(b"x"), Some(PrevState::DEAD));
        assert_eq!(PrevState::parse(b"0x2"), Some(PrevState::UNINTERRUPTIBLE));
        assert_eq!(PrevState::parse(b""), None);
        assert_eq!(PrevState::parse(b"+"), None);
        assert_eq!(PrevState::parse(b"S="), None);
    }

    #[test]
    fn who_is_preempted_while_leaving_is_still_runnable() {
        assert_eq!(PrevState::parse(b"S+").map(PrevState::off), Some(Off::Preempted));
        assert_eq!(PrevState::parse(b"X").map(PrevState::off), Some(Off::Exited));
        assert_eq!(PrevState::parse(b"I").map(PrevState::off), Some(Off::Uninterruptible));
        assert_eq!(PrevState::parse(b"S").map(PrevState::off), Some(Off::Sleeping));
    }
}
