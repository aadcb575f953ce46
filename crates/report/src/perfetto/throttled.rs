//! Times out of quota: slices on the threads' tracks.

use super::Writer;
use super::message::packet;
use std::collections::BTreeSet;
use std::io::{self, Write};

impl Writer<'_> {
    pub(super) fn throttled(&self, out: &mut dyn Write) -> io::Result<()> {
        let tasks: BTreeSet<_> = self.timeline.throttled.iter().map(|it| it.task).collect();
        for task in tasks {
            packet(out, &self.thread_track(task))?;
        }
        let mut all = self.timeline.throttled.iter();
        all.try_for_each(|it| self.slice(self.track_of_thread(it.task), "throttled", (it.from, it.to), out))
    }
}

#[test]
fn each_time_out_of_quota_is_a_slice_of_its_thread() {
    use crate::throttled::Throttled;
    use crate::timeline::{Timeline, TimelineTask};
    use goodness_core::TaskId;
    let task = TimelineTask { name: "hog".into(), id: 12, ..TimelineTask::default() };
    let plain = Timeline { cpus: 1, tasks: vec![task], end: 100, ..Timeline::default() };
    let at = |from, to| Throttled { task: TaskId(0), from, to };
    let throttled = plain.clone().with_throttled(vec![at(10, 20), at(40, 60)]);
    let named = |timeline: &Timeline| {
        let mut bytes = Vec::new();
        super::write(&[(timeline, "base")], &mut bytes).unwrap();
        bytes.windows(9).filter(|it| *it == b"throttled").count()
    };
    assert_eq!((named(&plain), named(&throttled)), (0, 2));
}
