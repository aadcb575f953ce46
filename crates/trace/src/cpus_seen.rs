//! CPUs in a trace: those that wrote lines, and those only named by wake-ups and migrations.

/// Facts about one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// True if a line was written on it.
    wrote: bool,
    /// Wake-ups and migrations that name it.
    named: u64,
}

/// The CPUs seen in a trace, by number. Its size depends on the highest number, not on the trace's length.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpusSeen(Vec<Seen>);

impl CpusSeen {
    /// A line was written on `cpu`.
    pub fn wrote(&mut self, cpu: u32) {
        self.slot(cpu).wrote = true;
    }

    /// A wake-up or a migration names `cpu`.
    pub fn named(&mut self, cpu: u32) {
        self.slot(cpu).named += 1;
    }

    #[inline]
    fn slot(&mut self, cpu: u32) -> &mut Seen {
        let index = cpu as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, Seen::default());
        }
        &mut self.0[index]
    }

    /// Highest CPU number seen, plus one.
    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// A warning about CPUs that are named but wrote no line, if any: the trace was filtered.
    pub fn warning(&self) -> Option<String> {
        let silent = || self.0.iter().enumerate().filter(|(_, seen)| !seen.wrote && seen.named > 0);
        let first = silent().next()?.0;
        let named: u64 = silent().map(|(_, seen)| seen.named).sum();
        let cpus = match silent().count() {
            1 => format!("CPU {first}, which"),
            more => format!("{more} CPUs (first CPU {first}) that"),
        };
        Some(format!(
            "{named} wake-ups and migrations name {cpus} wrote no line, as in a trace filtered to some CPUs: what ran \
             there is unknown; record all CPUs"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpus_that_are_named_and_silent_are_warned_of() {
        let mut cpus = CpusSeen::default();
        cpus.wrote(3);
        cpus.named(3);
        assert_eq!((cpus.count(), cpus.warning()), (4, None));
        cpus.named(7);
        assert_eq!(cpus.count(), 8);
        assert!(cpus.warning().is_some_and(|w| w.starts_with("1 wake-ups and migrations name CPU 7, which wrote")));
        cpus.named(9);
        cpus.named(9);
        assert!(
            cpus.warning().is_some_and(|w| w.starts_with("3 wake-ups and migrations name 2 CPUs (first CPU 7) that"))
        );
        cpus.wrote(7);
        cpus.wrote(9);
        assert_eq!(cpus.warning(), None);
    }
}
