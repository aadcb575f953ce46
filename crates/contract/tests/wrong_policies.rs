//! Negative controls: each way to break the contract is found by some draw, and said in one sentence.

use goodness_contract::{Broken, Contract};
use goodness_core::*;
use std::cell::Cell;

/// Round robin with one mistake.
struct Wrong {
    inner: Box<dyn CpuPolicy>,
    mistake: Mistake,
    calls: u64,
}

#[derive(Clone, Copy)]
enum Mistake {
    None,
    /// Every thirtieth task that is enqueued goes to no queue.
    Loses,
    /// Every task goes to the first CPU.
    IgnoresAffinity,
    /// From the fiftieth pick on, CPUs stay idle.
    StopsPicking,
    /// From the hundredth pick on, timeslices are longer by this much.
    Slices(u64),
}

impl CpuPolicy for Wrong {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.inner.admit(cx, task, parent)
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        match self.mistake {
            Mistake::IgnoresAffinity => CpuId(0),
            _ => self.inner.select_cpu(cx, task, why),
        }
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.calls += 1;
        match self.mistake {
            Mistake::Loses if self.calls.is_multiple_of(30) => Resched::Keep,
            _ => self.inner.enqueue(cx, cpu, task, why),
        }
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.inner.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        self.calls += 1;
        match self.mistake {
            Mistake::StopsPicking if self.calls > 100 => None,
            Mistake::Slices(more) if self.calls > 200 => {
                let pick = self.inner.pick_next(cx, cpu)?;
                Some(Pick { timeslice: Some(Span(100_000 + more)), ..pick })
            }
            _ => self.inner.pick_next(cx, cpu),
        }
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.inner.charge(cx, cpu, task, ran, why)
    }
}

/// The first of ten draws on two CPUs that a mistake breaks. `mistake` may differ from run to run.
fn broken(mistake: impl Fn() -> Mistake) -> Option<Broken> {
    let rr = goodness_policies::entry("rr").unwrap();
    let make = |machine: &Machine, seed: Seed| {
        let made = (rr.make)(machine, &[], seed).unwrap();
        MadePolicy { policy: Box::new(Wrong { inner: made.policy, mistake: mistake(), calls: 0 }), ..made }
    };
    (0..10).find_map(|seed| Contract { cpus: 2, seed, is_unequal: false }.hold(&make).err())
}

fn assert_says(broken: Option<Broken>, part: &str) {
    let said = broken.map(|it| it.to_string()).unwrap_or_default();
    assert!(said.starts_with("on 2 CPUs, seed ") && said.contains(part) && !said.contains('\n'), "{part}: {said}");
}

#[test]
fn each_mistake_is_found_and_said_in_a_sentence() {
    assert_eq!(broken(|| Mistake::None), None);
    assert_says(broken(|| Mistake::Loses), "waits on cpu");
    assert_says(broken(|| Mistake::IgnoresAffinity), "affinity");
    assert_says(broken(|| Mistake::StopsPicking), "nothing is left to happen");
    let runs = Cell::new(0);
    let next = || {
        runs.set(runs.get() + 1);
        Mistake::Slices(runs.get())
    };
    assert_says(broken(next), "two runs of one seed differ");
}
