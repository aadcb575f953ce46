//! A custom policy on the running kernel: round robin that panics, hangs, or allocates without end after a hundred
//! decisions. Tests in guests use it to check that the kernel's scheduler takes over in each case.
//!
//! faulty_policy panic|hang|memory COMMAND…

use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, Pick, Registered, Rejected, Resched, Seed,
    Span, Stop, TaskId,
};
use goodness_policies::rr::{RoundRobin, Settings};
use goodness_sched_ext::{Options, live_with};
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Decisions before the fault.
const GOOD: u32 = 100;
/// Selected fault.
static FAULT: OnceLock<Fault> = OnceLock::new();

#[derive(Clone, Copy, Debug)]
enum Fault {
    Panic,
    Hang,
    Memory,
}

impl Fault {
    fn happen(self) {
        eprintln!("the fault comes");
        match self {
            Fault::Panic => panic!("the policy's fault after {GOOD} decisions"),
            // No pause instructions: emulators take their time for them.
            Fault::Hang => loop {
                std::hint::black_box(self);
            },
            Fault::Memory => {
                let mut taken = Vec::new();
                loop {
                    // Not zero, or the kernel would only promise the memory.
                    taken.push(vec![1_u8; 1 << 20]);
                    std::hint::black_box(&taken);
                }
            }
        }
    }
}

#[derive(Debug)]
struct Faulty {
    inner: RoundRobin,
    decisions: u32,
}

impl Registered for Faulty {
    const ABOUT: About = About {
        name: "faulty",
        summary: "Round robin with a fault.",
        source: "this example",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, seed: Seed) -> Self {
        Faulty { inner: RoundRobin::new(machine, settings, seed), decisions: 0 }
    }
}

impl CpuPolicy for Faulty {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.inner.admit(cx, task, parent)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.inner.enqueue(cx, cpu, task, why)
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.inner.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        self.decisions += 1;
        if self.decisions > GOOD {
            FAULT.get().copied().unwrap_or(Fault::Panic).happen();
        }
        self.inner.pick_next(cx, cpu)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.inner.charge(cx, cpu, task, ran, why)
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let fault = match words.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("panic") => Fault::Panic,
        Some("hang") => Fault::Hang,
        Some("memory") => Fault::Memory,
        _ => {
            eprintln!("usage: faulty_policy panic|hang|memory COMMAND…");
            return ExitCode::from(2);
        }
    };
    FAULT.get_or_init(|| fault);
    let options = Options { command: words.collect::<Vec<OsString>>(), ..Options::default() };
    match live_with(&Faulty::ENTRY, &options, &mut |_| {}) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
