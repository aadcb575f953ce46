//! scx_simple, the example scheduler of sched_ext: one shared dispatch queue, by virtual time or first come, first
//! served.
//!
//! Idea: a task that wakes takes an idle CPU, else it waits on the one queue of the machine, ordered by weighted CPU
//! time. A task that slept lags behind the others by one slice at most. There is no preemption.
//!
//! Source: specs section 12. The kernel side, with departures, is in `scx.rs`.
//! Weakness: a woken task waits for a slice of 20 ms to end; one queue for all CPUs forgets where caches are warm.

use crate::parts::scx::{Ext, Kernel, SLICE, Scheduler, virtual_time, weight};
use goodness_core::{About, Context, CpuId, Machine, Needs, PerTask, Span, Stop, TaskId};

goodness_core::tunables! {
    pub struct Settings {
        /// Serve the queue in order of arrival instead of virtual time.
        fifo: bool = false;
    }
}

/// The only shared queue.
const SHARED: usize = 0;

/// Virtual times.
#[derive(Debug)]
pub struct Simple {
    fifo: bool,
    vtime_now: i64,
    vtime: PerTask<i64>,
}

/// scx_simple in its kernel.
pub type ScxSimple = Ext<Simple>;

impl Scheduler for Simple {
    const ABOUT: About = About {
        name: "scx-simple",
        summary: "One dispatch queue by weighted virtual time, or FIFO, without preemption.",
        source: "sched-ext/scx scx_simple; specs section 12",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(_: &Machine, settings: Settings) -> (Self, usize) {
        (Simple { fifo: settings.fifo, vtime_now: 0, vtime: PerTask::default() }, 1)
    }

    fn init_task(&mut self, _: &Context, task: TaskId) {
        *self.vtime.admit(task) = self.vtime_now;
    }

    fn direct_slice(&self, _: &Context, _: &Kernel, _: TaskId) -> Span {
        SLICE
    }

    fn enqueue(&mut self, cx: &Context, kernel: &mut Kernel, _: CpuId, task: TaskId) {
        if self.fifo {
            return kernel.insert(SHARED, task, SLICE);
        }
        let vtime = &mut self.vtime[task];
        *vtime = (*vtime).max(self.vtime_now - SLICE.0 as i64);
        kernel.insert_ordered(cx, SHARED, task, SLICE, *vtime);
    }

    fn dispatch(&mut self, cx: &Context, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        kernel.take(cx, SHARED, cpu)
    }

    fn running(&mut self, _: &Context, _: CpuId, task: TaskId) {
        self.vtime_now = self.vtime_now.max(self.vtime[task]);
    }

    fn stopping(&mut self, cx: &Context, _: CpuId, task: TaskId, ran: Span, _: Stop) {
        self.vtime[task] += virtual_time(ran, weight(&cx.tasks[task]));
    }
}
