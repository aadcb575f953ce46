//! Decisions per second of the bare simulator: `cargo run --release -p goodness-sim --example speed`.
use goodness_core::*;
use goodness_cpu::rr::RoundRobin;
use goodness_sim::{Options, simulate};

struct Blinker {
    sleeping: bool,
}
impl Behaviour for Blinker {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        self.sleeping = !self.sleeping;
        if self.sleeping {
            Step::Compute(Span(10_000 + cx.rng.below(1000)))
        } else {
            Step::Sleep(Span(5_000_000 + cx.rng.below(100_000)))
        }
    }
}

fn main() {
    for kind in ["hogs", "blinkers"] {
        let machine = Machine::flat(1, 1000).unwrap();
        let tasks = (0..1000)
            .map(|_| TaskSpec {
                name: String::new(),
                start: Start::At(Time::ZERO),
                task: Task::default(),
                behaviour: if kind == "hogs" {
                    Box::new(|_: &mut StepContext| Step::Compute(Span::MAX)) as Box<dyn Behaviour>
                } else {
                    Box::new(Blinker { sleeping: false })
                },
                judged: true,
            })
            .collect();
        let work = Workload {
            tasks,
            horizon: Some(Time(if kind == "hogs" { 50_000_000_000 } else { 30_000_000_000 })),
            ..Workload::default()
        };
        let began = std::time::Instant::now();
        let settings = goodness_cpu::rr::Settings { timeslice: Span::from_us(10) };
        let outcome = simulate::<RoundRobin, _>(&machine, settings, work, &mut (), Options::default()).unwrap();
        let took = began.elapsed();
        println!(
            "{kind}: {} decisions, {:.1} ns each",
            outcome.decisions,
            took.as_nanos() as f64 / outcome.decisions as f64
        );
    }
}
