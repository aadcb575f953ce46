//! Rejects work that cannot end under any policy, before anything is simulated: a loop that uses no time, or a run
//! without end. Errors name the place.

use crate::script::{Op, Plan, Script, TaskPlan};
use goodness_core::{HORIZON_MAX, Span, Step};
use std::sync::Arc;

/// Rounds that count as endless: after this many zero-time steps the simulator considers a task stuck.
const ROUNDS: u64 = 1_000_000;

/// Checks the requested length of a run.
///
/// # Errors
/// It exceeds [`HORIZON_MAX`].
pub fn duration(asked: Span) -> Result<Span, String> {
    if asked <= HORIZON_MAX {
        return Ok(asked);
    }
    Err(format!("{asked} is longer than a day (24h), the longest run that is simulated; write a shorter one"))
}

/// The most groups of a run. A choice: each has a queue on each CPU.
pub(crate) const GROUPS_MAX: usize = 10_000;

/// Limit of letters in a name; reports repeat it for every task and policy. A choice.
const NAME_MAX: usize = 255;

/// A name from a file.
///
/// # Errors
/// The name is longer than 255 letters.
pub fn name(text: &str) -> Result<&str, String> {
    match text.chars().count() {
        0..=NAME_MAX => Ok(text),
        letters => Err(format!("the name has {letters} letters, and at most {NAME_MAX} are read; write a shorter one")),
    }
}

impl Plan {
    /// Rejects tasks with an endless loop that uses no time, and a run that neither ends nor has a duration. `how`
    /// tells how to give a duration in the file's format.
    ///
    /// # Errors
    /// One sentence with file, line, task and remedy.
    pub fn check(&self, file: &str, how: &str) -> Result<(), String> {
        let mut before: Option<&Arc<Script>> = None;
        for task in &self.tasks {
            if before.is_some_and(|script| Arc::ptr_eq(script, &task.script)) {
                continue;
            }
            before = Some(&task.script);
            let wrong = |why: String| Err(format!("{}: task \"{}\" {why}", task.place(file), task.name));
            if task.script.spins() {
                return wrong(
                    "goes round for ever without using time; give a step of its loop a length above 0".into(),
                );
            }
            if self.horizon.is_none() && task.script.never_ends() {
                return wrong(format!("goes on for ever and the run has no end; {how}"));
            }
        }
        match self.outside.iter().find(|it| it.script.spins()) {
            Some(it) => Err(format!(
                "{file}: the outsider \"{}\" loops for ever without using time; let it sleep or ask",
                it.name
            )),
            None => Ok(()),
        }
    }
}

impl TaskPlan {
    /// Position of the task in `file`.
    #[must_use]
    pub fn place(&self, file: &str) -> String {
        if self.line == 0 { file.into() } else { format!("{file}, line {}", self.line) }
    }
}

impl Script {
    /// The bodies of its loops with their numbers of rounds; `u64::MAX` for endless.
    fn rounds(&self) -> impl Iterator<Item = (&[Op], u64)> {
        self.ops.iter().enumerate().filter_map(|(end, op)| match *op {
            Op::Repeat { times, to, .. } => Some((self.ops.get(to as usize..end)?, times.unwrap_or(u64::MAX))),
            _ => None,
        })
    }

    /// True if it loops forever without using time.
    fn spins(&self) -> bool {
        self.rounds().any(|(body, times)| times > ROUNDS && body.iter().all(takes_no_time))
    }

    /// True if the task never ends and never blocks for good.
    fn never_ends(&self) -> bool {
        let leaves = |op: &Op| {
            let asks = matches!(op, Op::Ask(_) | Op::AskDevice(_) | Op::Receive(_));
            asks || matches!(op, Op::WaitWith { .. } | Op::Do(Step::Wait(_) | Step::Exit))
        };
        let endless = self.rounds().any(|(body, times)| times == u64::MAX && !body.iter().any(leaves));
        let computes = self.ops.iter().position(|op| *op == Op::Do(Step::Compute(Span::MAX)));
        endless || computes.is_some_and(|at| !self.ops[..at].iter().any(leaves))
    }
}

/// True if the instruction takes no time on any machine under any policy.
fn takes_no_time(op: &Op) -> bool {
    match op {
        Op::Do(Step::Compute(span) | Step::Sleep(span)) | Op::Spin(span) => *span == Span::ZERO,
        Op::ComputeBetween(_, high) | Op::SleepBetween(_, high) => *high == Span::ZERO,
        Op::Begin | Op::BeginAtExpiry(_) | Op::Served | Op::Reply | Op::Answer | Op::Repeat { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Start, Task, Time};

    fn checked(ops: Vec<Op>, times: Option<u64>, horizon: Option<Time>) -> Result<(), String> {
        let mut script = Script { ops, ..Script::default() };
        script.repeat_from(0, times);
        let script = Arc::new(script);
        let task = TaskPlan { name: "a".into(), start: Start::At(Time::ZERO), task: Task::default(), script, line: 7 };
        Plan { tasks: vec![task], horizon, ..Plan::default() }.check("x.toml", "write duration = \"10s\"")
    }

    const END: Option<Time> = Some(Time(1_000_000_000));

    #[test]
    fn a_loop_that_takes_no_time_is_refused_with_its_place() {
        let nothing = || vec![Op::Do(Step::Compute(Span::ZERO)), Op::SleepBetween(Span::ZERO, Span::ZERO)];
        let sentence = checked(nothing(), None, END).unwrap_err();
        assert!(sentence.starts_with("x.toml, line 7: task \"a\" goes round for ever"), "{sentence}");
        assert!(checked(vec![Op::Begin], Some(u64::MAX - 1), END).is_err(), "as good as for ever");
        assert_eq!(checked(nothing(), Some(3), END), Ok(()), "three rounds end");
        assert_eq!(checked(vec![Op::Do(Step::Compute(Span(1)))], None, END), Ok(()));
    }

    #[test]
    fn a_run_without_an_end_is_refused() {
        let work = |step| vec![Op::Do(Step::Compute(Span(5))), Op::Do(step)];
        assert!(checked(work(Step::Yield), None, None).unwrap_err().contains("write duration = \"10s\""));
        assert!(checked(work(Step::Compute(Span::MAX)), Some(1), None).is_err());
        assert_eq!(checked(work(Step::Yield), Some(9), None), Ok(()));
        assert_eq!(checked(work(Step::Exit), None, None), Ok(()));
    }

    #[test]
    fn a_name_of_thousands_of_letters_is_refused() {
        assert_eq!(name("hog"), Ok("hog"));
        assert!(name(&"x".repeat(100_000)).unwrap_err().contains("100000 letters"));
    }

    #[test]
    fn a_day_is_the_longest_run() {
        assert_eq!(duration(Span::from_s(86_400)), Ok(Span::from_s(86_400)));
        assert!(duration(Span::from_s(86_401)).unwrap_err().contains("24h"));
    }
}
