//! The first decision that differs, in words, with the queue as each side saw it.

use super::decisions::{Choice, Track, channel};
use super::disk_question::{Answer, DiskQuestion};
use super::disk_queues;
use super::first::{self, Parting};
use super::placement_question::PlacementQuestion;
use super::question::Question;
use super::scene::{Moment, Scene, left};
use crate::refusal::Refusal;
use crate::run::Named;
use crate::simulation::{Around, Beside};
use crate::storage::AroundElevator;
use goodness_core::{CpuId, DiskId, Operation, Placement, Reason, Submitter, TaskId, Time};
use goodness_report::diff::{self as model, FirstDifference, Queued, QueuedRequest, TaskName};
use goodness_report::figure;
use goodness_report::rule::Rule;
use std::thread;

/// Runs side 0 or 1 with something beside it; returns its tasks.
pub(crate) trait Rerun: Fn(usize, Beside) -> Result<Vec<Named>, Refusal> + Sync {}
impl<F: Fn(usize, Beside) -> Result<Vec<Named>, Refusal> + Sync> Rerun for F {}

/// Runs both sides beside each other until they differ.
///
/// Memory does not depend on the length of the runs: some thousand decisions of each, and those that one run has made
/// and the other, within some hundred microseconds of simulated time, not yet.
///
/// # Errors
/// Those of a run.
pub(crate) fn parting(rerun: &impl Rerun) -> Result<Option<Parting>, Refusal> {
    thread::scope(|scope| {
        let start = |side: usize| {
            let (mut sender, stream) = channel();
            (scope.spawn(move || rerun(side, Beside::watched(&mut sender)).map(drop)), stream)
        };
        let ((a, of_a), (b, of_b)) = (start(0), start(1));
        let found = first::first(of_a, of_b);
        for run in [a, b] {
            run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(found)
    })
}

/// Runs both sides up to where they part, and tells what each did and saw.
///
/// # Errors
/// Those of a run.
pub(crate) fn told(parting: &Parting, cpus: usize, rerun: &impl Rerun) -> Result<FirstDifference, Refusal> {
    let side = |index: usize| -> Result<Told, Refusal> {
        let own = parting.of[index];
        let moment = own.map_or(Moment::After(parting.at), |it| Moment::Before(it.number));
        let mut scene = Scene::new(cpus, moment);
        let question = Question::of(parting, index);
        let waiting = question.as_ref().map(|it| (it.waiting, it.answer.clone()));
        let placing = PlacementQuestion::of(parting, index);
        let placed = placing.as_ref().map(|it| it.answer.clone());
        let around = question.map(|it| -> Around { Box::new(move |made| it.to(made, cpus)) });
        let around = around.or(placing.map(|it| -> Around { Box::new(move |made| it.to(made, cpus)) }));
        let of_disk = DiskQuestion::of(parting, index);
        let around_elevator =
            of_disk.clone().map(|it| -> Box<AroundElevator> { Box::new(move |disk, made| it.to(disk, made)) });
        let tasks = rerun(index, Beside { observer: Some(&mut scene), around, around_elevator })?;
        let rule = waiting.and_then(|(task, answer)| Some((answer.get()?, task)));
        let placed = placed.and_then(|it| it.get());
        let io_rule = of_disk.and_then(|it| it.answer());
        Ok(Told { scene, tasks, at: parting.at, choice: own.map(|it| it.decision.choice), rule, placed, io_rule })
    };
    let (a, b) = (side(0)?, side(1)?);
    let told = |it: &Told| match parting.track {
        Track::Cpu(cpu) => it.pick(cpu),
        Track::Task(task) => it.placement(task),
        Track::Disk(disk) => it.dispatch(disk),
    };
    Ok(FirstDifference {
        replication: 0,
        seed: 0,
        at_ns: parting.at.0,
        cpu: match parting.track {
            Track::Cpu(cpu) => Some(cpu.0),
            Track::Task(task) => a.cpu_of(task).or(b.cpu_of(task)).map(|cpu| cpu.0),
            Track::Disk(_) => None,
        },
        disk: if let Track::Disk(disk) = parting.track { Some(disk.0.into()) } else { None },
        placed: if let Track::Task(task) = parting.track {
            Some(if a.has(task) { &a } else { &b }.name(task))
        } else {
            None
        },
        a: told(&a),
        b: told(&b),
    })
}

/// One side at the parting.
struct Told {
    scene: Scene,
    tasks: Vec<Named>,
    at: Time,
    /// `None` if it went on as before.
    choice: Option<Choice>,
    /// The rule by which its choice is ahead of the other side's, which waits.
    rule: Option<(Reason, TaskId)>,
    /// The rule by which it placed the task.
    placed: Option<Placement>,
    /// As `rule`, of an elevator.
    io_rule: Option<Answer>,
}

impl Told {
    fn name(&self, task: TaskId) -> TaskName {
        match self.tasks.get(task.index()) {
            Some(known) => TaskName { name: known.name.clone(), id: known.id },
            None => TaskName { name: "forked".into(), id: u64::from(task.0) + 1 },
        }
    }

    fn has(&self, task: TaskId) -> bool {
        task.index() < self.tasks.len()
    }

    fn said(&self, task: TaskId) -> String {
        let TaskName { name, id } = self.name(task);
        format!("{name} {id}")
    }

    /// Like [`Self::said`], for a sentence of the policy.
    fn short(&self, task: TaskId) -> String {
        let TaskName { name, id } = self.name(task);
        format!("{} {id}", figure::name(&name))
    }

    /// Who runs next on `cpu`.
    fn pick(&self, cpu: CpuId) -> model::Choice {
        let running = self.scene.running(cpu);
        let (did, picked) = match self.choice {
            Some(Choice::Switched { prev, next }) => {
                let then = next.map_or("idles".into(), |task| format!("picks {}", self.said(task)));
                let did = prev.map(|(task, off)| format!("{then} ({} {})", self.said(task), left(off)));
                (did.unwrap_or(then), next)
            }
            _ => (running.map_or("idles on".into(), |task| format!("keeps {}", self.said(task))), running),
        };
        let rule = self.rule.map(|(reason, waiting)| Rule::over(reason, &self.short(waiting)));
        model::Choice { picked: picked.map(|task| self.name(task)), rule, ..self.seen(Some(cpu), did) }
    }

    /// The CPU on which `task` waits from then on.
    fn cpu_of(&self, task: TaskId) -> Option<CpuId> {
        match self.choice {
            Some(Choice::Placed(cpu) | Choice::Moved(cpu)) => Some(cpu),
            _ => self.scene.queue_of(task),
        }
    }

    fn placement(&self, task: TaskId) -> model::Choice {
        let name = self.said(task);
        let did = match (self.choice, self.scene.queue_of(task)) {
            (Some(Choice::Placed(cpu)), _) => format!("wakes {name} on CPU {}", cpu.0),
            (Some(Choice::Moved(cpu)), _) => format!("moves {name} to CPU {}", cpu.0),
            (_, Some(cpu)) => format!("leaves {name} waiting on CPU {}", cpu.0),
            (None, None) if !self.has(task) => "has no such task".into(),
            (_, None) => format!("does not wake {name} yet"),
        };
        model::Choice { rule: self.placed.map(Rule::from), ..self.seen(self.cpu_of(task), did) }
    }

    /// The request that `disk` is given.
    fn dispatch(&self, disk: DiskId) -> model::Choice {
        let waiting = self.scene.disks().waiting(disk);
        let did = match self.choice {
            Some(Choice::Issued { op, sector, sectors }) => {
                let it = waiting.iter().find(|it| (it.op, it.sector) == (op, sector));
                let by = it.and_then(|it| self.submitter(it.by)).map(|it| format!(" by {} {}", it.name, it.id));
                let of =
                    if op == Operation::Flush { String::new() } else { format!(" of {sectors} sectors from {sector}") };
                format!("issues a {}{of}{}", op.name(), by.unwrap_or_default())
            }
            _ => "issues nothing".into(),
        };
        let queued = |it: &disk_queues::Waiting| QueuedRequest {
            operation: it.op.name().into(),
            sector: it.sector,
            sectors: it.sectors,
            by: self.submitter(it.by),
            waited_ns: self.at.0.saturating_sub(it.since.0),
        };
        let name = |by| self.submitter(by).map_or("the kernel".into(), |it| format!("{} {}", it.name, it.id));
        let rule = self.io_rule.map(|answer| match answer {
            Answer::Rule(reason, it) => Rule::of_elevator_over(reason, &called(it.op, it.sector), name),
            Answer::NotThere(it) => Rule::not_there(&called(it.op, it.sector)),
        });
        model::Choice {
            requests: waiting.iter().map(queued).collect(),
            in_flight: Some(self.scene.disks().in_flight(disk)),
            rule,
            ..self.seen(None, did)
        }
    }

    /// The task behind a request; `None` for the kernel's own, and for a task that was forked.
    fn submitter(&self, by: Submitter) -> Option<TaskName> {
        self.has(TaskId(by.0)).then(|| self.name(TaskId(by.0)))
    }

    /// The run queue of `cpu` as it was.
    fn seen(&self, cpu: Option<CpuId>, did: String) -> model::Choice {
        let queued = |(task, since): (TaskId, Time)| Queued {
            task: self.name(task),
            waited_ns: self.at.0.saturating_sub(since.0),
        };
        let slice = |(task, cpu, start, end): (TaskId, CpuId, Time, Time)| model::Slice {
            task: self.name(task),
            cpu: cpu.0,
            start_ns: start.0,
            end_ns: end.0,
        };
        model::Choice {
            did,
            picked: None,
            running: cpu.and_then(|cpu| self.scene.running(cpu)).map(|task| self.name(task)),
            queue: cpu.map(|cpu| self.scene.queue(cpu)).unwrap_or_default().into_iter().map(queued).collect(),
            schedule: self.scene.slices().map(slice).collect(),
            rule: None,
            requests: Vec::new(),
            in_flight: None,
        }
    }
}

/// A request in a sentence.
fn called(op: Operation, sector: u64) -> String {
    format!("the {} at {sector}", op.name())
}
