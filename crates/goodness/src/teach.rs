//! Runs a few jobs of known length under several policies, as textbooks do.

mod rules;

use crate::contender::Contender;
use crate::parallel::Counted;
use crate::plan::{Plan, Timelines};
use crate::progress::Watch;
use crate::refusal::Refusal;
use crate::runs::Arm;
use goodness_core::{
    Machine, Nice, Seed, Span, Start, Step, StepContext, Task, TaskSpec, Time, Workload, WorkloadSource,
};
use goodness_report::teach::{Job, Lesson, Piece, SCHEMA, Schedule};

/// Most jobs: one for each letter.
const MOST_JOBS: usize = 26;
/// Slices of a schedule that are kept. A choice: more than anyone reads.
const MOST_SLICES: usize = 10_000;

/// Reads jobs, `NAME:ARRIVAL:BURST[:PRIORITY]`, separated by blanks. Times are in ms unless they have a unit.
///
/// # Errors
/// A job that is not written so, twice the same name, or none.
pub fn jobs(text: &str) -> Result<Vec<Job>, Refusal> {
    let jobs: Vec<Job> = text.split_whitespace().map(job).collect::<Result<_, _>>()?;
    if jobs.is_empty() || jobs.len() > MOST_JOBS {
        let what = format!("{} jobs are not 1 to {MOST_JOBS}", jobs.len());
        return Err(Refusal::usage(what).remedy("write them as \"A:0:8 B:1:4\""));
    }
    let twice = jobs.iter().enumerate().find(|(at, job)| jobs[..*at].iter().any(|it| it.name == job.name));
    match twice {
        Some((_, job)) => Err(Refusal::usage(format!("two jobs are called \"{}\"", job.name)).remedy("rename one")),
        None => Ok(jobs),
    }
}

fn job(text: &str) -> Result<Job, Refusal> {
    let refused = |why: String| {
        Refusal::usage(format!("\"{text}\": {why}")).remedy("write NAME:ARRIVAL:BURST[:PRIORITY], in ms: A:0:8")
    };
    let parts: Vec<&str> = text.split(':').collect();
    let (name, arrival, burst, priority) = match parts[..] {
        [name, arrival, burst] if !name.is_empty() => (name, arrival, burst, "0"),
        [name, arrival, burst, priority] if !name.is_empty() => (name, arrival, burst, priority),
        _ => return Err(refused(format!("a job has 3 or 4 parts, this has {}", parts.len()))),
    };
    let burst = time(burst).map_err(refused)?;
    if burst == Span::ZERO {
        return Err(refused("a job must compute for more than 0".into()));
    }
    let number: i64 = priority.parse().map_err(|_| refused(format!("\"{priority}\" is no priority")))?;
    Nice::new(number).ok_or_else(|| refused(format!("priority {number} is outside -20 ..= 19")))?;
    Ok(Job { name: name.into(), arrival_ns: time(arrival).map_err(refused)?.0, burst_ns: burst.0, priority: number })
}

/// A time in ms, unless it has a unit.
fn time(text: &str) -> Result<Span, String> {
    let is_number = !text.is_empty() && text.chars().all(|it| it.is_ascii_digit() || it == '.');
    Span::parse(&if is_number { format!("{text}ms") } else { text.into() })
}

/// The jobs as work.
struct Exercise<'a>(&'a [Job]);

impl WorkloadSource for Exercise<'_> {
    fn name(&self) -> &str {
        "jobs"
    }

    fn what_varies(&self) -> &str {
        "nothing"
    }

    fn build(&self, _: Seed, _: u32) -> Workload {
        Workload { tasks: self.0.iter().enumerate().map(spec).collect(), ..Workload::default() }
    }
}

fn spec((index, job): (usize, &Job)) -> TaskSpec {
    let burst = Span(job.burst_ns);
    let mut has_run = false;
    let behaviour = move |_: &mut StepContext| {
        if std::mem::replace(&mut has_run, true) { Step::Exit } else { Step::Compute(burst) }
    };
    TaskSpec {
        name: job.name.clone(),
        start: Start::At(Time(job.arrival_ns)),
        task: Task {
            nice: Nice::new(job.priority).expect("checked when it was read"),
            address_space: Some(index as u32),
            burst: Some(burst),
            ..Task::default()
        },
        behaviour: Box::new(behaviour),
        judged: true,
    }
}

/// The schedules of `jobs` on `machine` under each of `policies`.
///
/// # Errors
/// Faults of a policy, and violations of an invariant.
pub fn lesson(jobs: Vec<Job>, machine: &Machine, policies: Vec<Contender>, watch: &Watch) -> Result<Lesson, Refusal> {
    let source = Exercise(&jobs);
    let timelines = Timelines { slices: MOST_SLICES, with_queues: false };
    let plan = Plan { runs: 1, timelines, ..Plan::on(&source, machine, policies) };
    let runs = plan.run(watch)?;
    if let Some((again, found)) = runs.violation() {
        return Err(Refusal::violated(format!("{}: {}", found.checker, found.sentence)).again(again.clone()));
    }
    let counted = Counted::new(watch, runs.arms.len() as u64);
    let told = |(index, arm): (usize, &Arm)| {
        let mut schedule = schedule(arm, &jobs)?;
        schedule.places = counted.run(|told| rules::tell((&plan, index), &jobs, &mut schedule.slices, told))?;
        Ok(schedule)
    };
    let policies = runs.arms.iter().enumerate().map(told).collect::<Result<_, Refusal>>()?;
    Ok(Lesson { schema: SCHEMA, cpus: machine.cpu_count() as u32, policies, jobs })
}

fn schedule(arm: &Arm, jobs: &[Job]) -> Result<Schedule, Refusal> {
    let timeline = arm.first.timeline.as_ref().expect("the plan keeps it");
    if timeline.left_out > 0 {
        let what = format!("{} cuts the jobs into more than {MOST_SLICES} slices", arm.label());
        return Err(Refusal::usage(what).remedy("take shorter jobs or longer timeslices"));
    }
    let piece = |it: &goodness_report::timeline::Slice| Piece {
        job: it.task.index(),
        cpu: it.cpu.0,
        start_ns: it.start,
        end_ns: it.end,
        then: it.off.map_or("ended", |off| off.name()).into(),
        ahead_of: Vec::new(),
    };
    let mut slices: Vec<Piece> = timeline.slices.iter().map(piece).collect();
    slices.sort_by_key(|it| (it.start_ns, it.cpu));
    Ok(Schedule::of(arm.label(), jobs, slices))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::unwatched;
    use crate::spec::PolicySpec;

    fn means(text: &str, policy: &str) -> [f64; 3] {
        let policies = vec![Contender::policy(PolicySpec::parse(policy).unwrap())];
        let lesson = lesson(jobs(text).unwrap(), &Machine::flat(1, 1000).unwrap(), policies, &unwatched).unwrap();
        let mean = lesson.policies[0].mean;
        [mean.waiting_ns, mean.response_ns, mean.turnaround_ns].map(|ns| (ns / 1e4).round() / 100.0)
    }

    /// Silberschatz, Galvin and Gagne, 10th edition, section 5.3.
    #[test]
    fn the_means_are_those_of_the_textbook() {
        let classic = "P1:0:6 P2:0:8 P3:0:7 P4:0:3";
        assert_eq!(means(classic, "sjf")[0], 7.0);
        assert_eq!(means(classic, "fifo")[0], 10.25);
        assert_eq!(means("P1:0:24 P2:0:3 P3:0:3", "rr:timeslice=4ms"), [5.67, 3.67, 15.67]);
        assert_eq!(means("P1:0:8 P2:1:4 P3:2:9 P4:3:5", "srtf"), [6.5, 4.25, 13.0]);
        assert_eq!(means("P1:0:10:3 P2:0:1:1 P3:0:2:4 P4:0:1:5 P5:0:5:2", "priority")[0], 8.2);
    }

    fn drawn(text: &str, policy: &str) -> Schedule {
        let policies = vec![Contender::policy(PolicySpec::parse(policy).unwrap())];
        let machine = Machine::flat(1, 1000).unwrap();
        lesson(jobs(text).unwrap(), &machine, policies, &unwatched).unwrap().policies.remove(0)
    }

    /// Whom each slice is ahead of, and why.
    fn said(schedule: &Schedule) -> Vec<(u64, Vec<&str>)> {
        fn rules(it: &Piece) -> Vec<&str> {
            it.ahead_of.iter().map(|it| it.rule.said.as_str()).collect()
        }
        schedule.slices.iter().map(|it| (it.start_ns / 1_000_000, rules(it))).collect()
    }

    #[test]
    fn each_decision_has_the_rule_of_the_policy() {
        let work = "A:0:8 B:1:4 C:2:9";
        assert_eq!(
            said(&drawn(work, "srtf")),
            [
                (0, vec![]),
                (1, vec!["it needs 4 ms, less than A's 7 ms"]),
                (5, vec!["it needs 7 ms, less than C's 9 ms"]),
                (12, vec![])
            ]
        );
        let stride = drawn(work, "stride");
        let passes = said(&stride).into_iter().flat_map(|(_, rules)| rules).filter(|rule| rule.starts_with("its pass"));
        assert!(passes.clone().count() > 0 && passes.clone().all(|rule| rule.contains(" smaller than ")), "{stride:?}");
        let turns = drawn(work, "rr:timeslice=4ms");
        assert_eq!(said(&turns)[1], (4, vec!["it came before A", "it came before C"]));
        assert_eq!((&turns.slices[0].then[..], &turns.slices[1].then[..]), ("slice_over", "ended"));
        assert!(turns.places.is_empty(), "round robin has no virtual deadlines");
    }

    #[test]
    fn the_lags_of_eevdf_are_those_of_its_definition() {
        let schedule = drawn("A:0:8.5 B:1:4.5 C:2:9.5", "eevdf");
        let picks: Vec<&[goodness_report::teach::Place]> =
            schedule.places.chunk_by(|a, b| a.at_ns == b.at_ns).collect();
        assert!(picks.len() > 10, "{picks:?}");
        for pick in &picks {
            let sum: i64 = pick.iter().map(|it| it.lag_ns).sum();
            assert!(sum.abs() <= 2 * pick.len() as i64, "lags of equal weights sum to 0 but for rounding: {pick:?}");
        }
        // Of those that are owed CPU time the earliest deadline runs.
        for slice in &schedule.slices {
            let pick = picks.iter().find(|pick| pick[0].at_ns == slice.start_ns).expect("a pick");
            let eligible = pick.iter().filter(|it| it.lag_ns >= 0).map(|it| it.deadline_ns).min();
            let own = pick.iter().find(|it| it.job == slice.job).map(|it| it.deadline_ns);
            assert!(own <= eligible, "{pick:?}, {slice:?}");
        }
    }

    #[test]
    fn what_is_no_job_is_refused_with_the_right_form() {
        for (text, part) in [
            ("A:0", "3 or 4 parts"),
            ("A:0:0", "a job must compute for more than 0"),
            ("A:0:8h8", "is not a unit"),
            ("A:0:8:99", "outside -20"),
            ("A:0:8 A:1:2", "two jobs are called"),
            ("", "0 jobs"),
        ] {
            let why = jobs(text).unwrap_err().to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
        assert_eq!(
            jobs("A:1.5:8us").unwrap()[0],
            Job { name: "A".into(), arrival_ns: 1_500_000, burst_ns: 8_000, priority: 0 }
        );
    }
}
