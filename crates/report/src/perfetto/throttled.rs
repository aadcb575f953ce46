//! Times out of quota: slices on the threads' tracks.

use super::message::{Message, packet};
use super::{SEQUENCE, Writer};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// `TYPE_SLICE_BEGIN` and `TYPE_SLICE_END` of track events.
const BEGIN: u64 = 1;
const END: u64 = 2;

impl Writer<'_> {
    pub(super) fn throttled(&self, out: &mut dyn Write) -> io::Result<()> {
        let tasks: BTreeSet<_> = self.timeline.throttled.iter().map(|it| it.task).collect();
        for task in tasks {
            packet(out, &self.thread_track(task))?;
        }
        for it in &self.timeline.throttled {
            for (at, kind) in [(it.from, BEGIN), (it.to, END)] {
                let mut event = Message::default();
                event.number(9, kind).number(11, self.track_of_thread(it.task));
                if kind == BEGIN {
                    event.text(23, "throttled");
                }
                let mut message = Message::default();
                message.number(8, at).message(11, &event).number(10, SEQUENCE);
                packet(out, &message)?;
            }
        }
        Ok(())
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
