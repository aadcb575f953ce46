//! CPUs that are offline: slices on a track of each such CPU.

use super::message::{Message, packet};
use super::{Writer, declaration};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Number of the track of CPU 0.
const FIRST_CPU_TRACK: u64 = 500_000;

impl Writer<'_> {
    pub(super) fn offline(&self, out: &mut dyn Write) -> io::Result<()> {
        let cpus: BTreeSet<_> = self.timeline.offline.iter().map(|it| it.cpu).collect();
        let of = self.label.map_or_else(String::new, |label| format!("{label}: "));
        let track_of = |cpu| FIRST_CPU_TRACK + self.cpu(cpu);
        for cpu in cpus {
            let mut track = Message::default();
            track.number(1, track_of(cpu.0)).text(2, &format!("{of}offline CPU {}", cpu.0));
            packet(out, &declaration(&track))?;
        }
        self.timeline.offline.iter().try_for_each(|it| self.slice(track_of(it.cpu.0), "offline", (it.from, it.to), out))
    }
}

#[test]
fn each_time_offline_is_a_slice_of_its_cpu() {
    use crate::offline::Offline;
    use crate::timeline::{Timeline, TimelineTask};
    use goodness_core::CpuId;
    let task = TimelineTask { name: "hog".into(), id: 12, ..TimelineTask::default() };
    let plain = Timeline { cpus: 2, tasks: vec![task], end: 100, ..Timeline::default() };
    let at = |from, to| Offline { cpu: CpuId(1), from, to };
    let offline = plain.clone().with_offline(vec![at(10, 20), at(40, 60)]);
    let named = |timeline: &Timeline, name: &str| {
        let mut bytes = Vec::new();
        super::write(&[(timeline, "base")], &mut bytes).unwrap();
        bytes.windows(name.len()).filter(|it| *it == name.as_bytes()).count()
    };
    assert_eq!((named(&plain, "offline"), named(&offline, "offline CPU 1"), named(&offline, "offline")), (0, 1, 3));
}
