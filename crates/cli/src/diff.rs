//! `goodness diff`: what differs between two arms, recordings or results, and where it begins.

use crate::compare::circumstances;
use crate::failure::{Failure, exit};
use crate::input::InputOptions;
use crate::output::{self, file, is_stdout};
use crate::tables::Tables;
use crate::verbosity::Verbosity;
use crate::watching::watch;
use crate::words::{self, command_line};
use clap::Args;
use goodness::diff::{self, Asked, Saved};
use goodness::{Contender, Plan, RUNS_MAX, Runs, Work, check_names, recordings};
use goodness_report::diff::gate::Condition;
use goodness_report::diff::{Diff, Outcome, junit, page, table, text};
use goodness_report::model::Details;
use goodness_report::{Report, json};
use std::path::{Path, PathBuf};

/// Tell whether two schedulers, recordings or results differ: the first decision, and what follows; decide for CI.
///
/// Compares two arms on one input, two recordings of one set-up, or two saved results (JSON of `goodness compare`).
/// Arms, which are policies or what-if changes, run with the same seeds; the first decision in which they differ is
/// named with the queue as each saw it. Two recordings differ if they do so by more than repeated recordings of a load.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness diff mixed -p eevdf -p cfs                         two schedulers on one input
  goodness diff mixed --arm eevdf:base_slice=6ms --html d.html   a setting against the default, as a page
  goodness diff monday.ftrace.gz tuesday.ftrace.gz            two recordings of one set-up
  goodness diff before.json after.json -p eevdf               two saved results
  goodness diff mixed -p eevdf --save main                    keep a result under a name
  goodness diff mixed -p eevdf --against main --fail-if 'wakeup_latency_p99 > +5%' --junit diff.xml

Exit codes: 0 compared, or all conditions hold; 1 a condition of --fail-if is met; 2 bad input; 3 a condition is not
decided; 4 a checker was violated.")]
pub struct Diffing {
    /// One input, as in `goodness compare`; or the first of two recordings or results (.json).
    #[arg(value_name = "INPUT|A")]
    input: String,
    /// The second recording or result.
    b: Option<String>,
    /// Policy with settings: eevdf:base_slice=3ms. Twice to compare two; of two results, the one to compare.
    #[arg(short, long = "policy", value_name = "POLICY[:KEY=VAL,…]")]
    policy: Vec<String>,
    /// What-if changes, separated by blanks: redis.nice=-5. Once to compare with the input as it is, or twice.
    #[arg(long, value_name = "EDIT…", conflicts_with_all = ["policy", "elevator"])]
    arm: Vec<String>,
    /// Elevator of the disks. Twice to compare two.
    #[arg(long, value_name = "ELEVATOR[:KEY=VAL,…]")]
    elevator: Vec<String>,
    /// Runs of each arm.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(RUNS_MAX)))]
    runs: u32,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail if the 95 % interval of B against A shows this: 'METRIC > +5%', '… < -5%', difference. May be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    fail_if: Vec<Condition>,
    /// Write the conditions as JUnit XML.
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    junit: Option<PathBuf>,
    /// Compare with the newest result of this input in a history: a name below --results, or a folder (with a /).
    #[arg(long, value_name = "NAME|FOLDER")]
    against: Option<String>,
    /// Add the result to a history, unless a condition fails.
    #[arg(long, value_name = "NAME|FOLDER")]
    save: Option<String>,
    /// Folder of the histories.
    #[arg(long, value_name = "FOLDER", default_value = "goodness-results")]
    results: PathBuf,
    /// Write the differences as JSON (schema goodness.diff/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write a self-contained page, with both schedules on one time axis.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    options: InputOptions,
}

impl Diffing {
    /// Compares, prints and decides.
    ///
    /// # Errors
    /// Bad input, files that cannot be written, faults and violations.
    pub fn run(&self) -> Result<u8, Failure> {
        self.verbosity.begin();
        let files = [(&self.json, "--json"), (&self.html, "--html"), (&self.junit, "--junit")];
        self.tables.check()?;
        let files = [&files[..], &self.tables.asked()].concat();
        std::iter::once(&self.input).chain(&self.b).try_for_each(|it| output::check(it, &files))?;
        check_names(&self.policy, &self.elevator)?;
        let is_result = |it: &String| diff::is_result(Path::new(it));
        let diff = match (&self.input, &self.b) {
            (a, Some(b)) if is_result(a) && is_result(b) => Some(self.of_results(a, b)?),
            (a, Some(b)) if is_result(a) || is_result(b) => {
                return Err(Failure::usage(format!("{a} and {b}: only one is a saved result; name two of a kind")));
            }
            (a, Some(b)) => Some(self.of_recordings([a, b])?),
            (input, None) => self.of_one(input)?,
        };
        diff.map_or(Ok(exit::OK), |diff| Ok(code(&diff)))
    }

    fn of_results(&self, a: &str, b: &str) -> Result<Diff, Failure> {
        let ignored = self.policy.len() > 1 || !self.arm.is_empty() || !self.elevator.is_empty();
        if ignored || self.against.is_some() || self.save.is_some() {
            return Err(Failure::usage(
                "two results are compared as they are; only one -p can choose a policy of them",
            ));
        }
        let [of_a, of_b] = [a, b].map(|path| diff::read(Path::new(path)));
        let diff = diff::results((a, &of_a?), (b, &of_b?), self.policy.first().map(String::as_str))?;
        self.deliver(diff)
    }

    fn of_recordings(&self, [a, b]: [&String; 2]) -> Result<Diff, Failure> {
        let is_of_arms = !(self.policy.is_empty() && self.arm.is_empty() && self.elevator.is_empty());
        if is_of_arms || self.against.is_some() || self.save.is_some() {
            let remedy = "for arms, name one input; for results, two files of goodness compare --json";
            return Err(Failure::usage(format!("two recordings are compared as they were made; {remedy}")));
        }
        let inputs = [a.clone(), b.clone()];
        let (runs, _, _) = recordings::as_arms(&inputs, |named| self.open(named))?;
        self.deliver(diff::recordings(&runs, [a, b]))
    }

    /// Arms of one input, or a history of it.
    fn of_one(&self, input: &str) -> Result<Option<Diff>, Failure> {
        let work = self.open(input)?;
        let contenders = self.contenders(&work)?;
        let histories = [&self.against, &self.save].into_iter().flatten().count();
        match (contenders.len(), histories) {
            (2, 0) => self.of_arms(input, &work, contenders).map(Some),
            (1, 1..) => self.of_history(input, &work, contenders),
            (1, _) => Err(Failure::usage(
                "one arm has nothing to differ from; name two with -p or --arm, or --against a saved result",
            )),
            (count, 0) => {
                Err(Failure::usage(format!("{count} arms are more than two; compare them with goodness compare")))
            }
            (count, _) => Err(Failure::usage(format!("a saved result has one arm, and {count} are named; name one"))),
        }
    }

    fn of_arms(&self, input: &str, work: &Work, contenders: Vec<Contender>) -> Result<Diff, Failure> {
        let plan = self.plan(work, contenders);
        let (diff, runs) = diff::arms(&plan, &work.about.name, &watch()).map_err(|it| self.said(input, it))?;
        self.check(input, &runs)?;
        self.deliver(diff)
    }

    fn of_history(&self, input: &str, work: &Work, contenders: Vec<Contender>) -> Result<Option<Diff>, Failure> {
        let files = [&self.json, &self.html, &self.junit].into_iter().chain(self.tables.asked().map(|it| it.0));
        if self.against.is_none() && (!self.fail_if.is_empty() || files.flatten().next().is_some()) {
            return Err(Failure::usage("nothing is compared while a result is saved; name a saved one with --against"));
        }
        let history = |name: &Option<String>| name.as_deref().map(|it| Saved::named(&self.results, it)).transpose();
        let (against, save) = (history(&self.against)?, history(&self.save)?);
        let before = against.map(|it| it.latest(&work.about)).transpose()?;
        let runs = self.plan(work, contenders).run(&watch()).map_err(|it| self.said(input, it))?;
        self.check(input, &runs)?;
        let report = self.report(work, &runs);
        let compare = |(path, former): (PathBuf, Report)| {
            let path = path.display().to_string();
            self.deliver(diff::results((&path, &former), (input, &report), None)?)
        };
        let diff = before.map(compare).transpose()?;
        let fails = diff.as_ref().is_some_and(|it| it.outcome() == Some(Outcome::Fails));
        if let Some(save) = save.filter(|_| !fails) {
            let path = save.add(&report)?;
            if !is_stdout(&self.json) && !self.verbosity.quiet {
                say!("saved {}", path.display());
            }
        }
        Ok(diff)
    }

    fn report(&self, work: &Work, runs: &Runs) -> Report {
        let details = Details { command: Some(command_line()), ..work.details.clone() };
        runs.report(circumstances(work.about.clone(), details, &|_| String::new()))
    }

    fn open(&self, named: &str) -> Result<Work, Failure> {
        goodness::open(named, &self.options.read()?, &watch()).map_err(|it| self.said(named, it))
    }

    fn said(&self, named: &str, refusal: goodness::Refusal) -> Failure {
        words::failure(&refusal, &self.options.words(named))
    }

    fn contenders(&self, work: &Work) -> Result<Vec<Contender>, Failure> {
        let asked = Asked {
            policies: self.policy.clone(),
            arms: self.arm.clone(),
            elevators: self.elevator.clone(),
            is_beside_saved: self.against.is_some() || self.save.is_some(),
        };
        Ok(asked.contenders(work)?)
    }

    fn plan<'a>(&self, work: &'a Work, contenders: Vec<Contender>) -> Plan<'a> {
        Plan { seed: self.seed, runs: self.runs, by_task: true, ..Plan::of(work, contenders) }
    }

    fn check(&self, input: &str, runs: &Runs) -> Result<(), Failure> {
        let Some((again, found)) = runs.violation() else { return Ok(()) };
        let again = words::reproduce(&self.options.words(input), again);
        Err(Failure::violated(format!("{}: {} Reproduce: {again}", found.checker, found.sentence)))
    }

    /// Decides the conditions, prints, and writes the requested files.
    fn deliver(&self, mut diff: Diff) -> Result<Diff, Failure> {
        diff.goodness.commit = crate::COMMIT.map(str::to_string);
        diff.gates = self.fail_if.iter().map(|it| it.decide(&diff)).collect();
        match is_stdout(&self.json) {
            true => output::say_json(&diff),
            false => say!("{}", text::render(&diff, output::columns(), self.verbosity.extent()).trim_end()),
        }
        let mut written: Vec<&Path> = Vec::new();
        written.extend(output::write(file(&self.json), || json::text(&diff))?);
        written.extend(output::write(self.html.as_deref(), || page::render(&diff, &command_line()))?);
        written.extend(output::write(self.junit.as_deref(), || junit::render(&diff))?);
        written.extend(self.tables.write(|| std::iter::once(table::differences(&diff)))?);
        if !is_stdout(&self.json) && !self.verbosity.quiet {
            output::say_written(&written);
        }
        Ok(diff)
    }
}

/// The exit code: without conditions a difference is an answer and no failure.
fn code(diff: &Diff) -> u8 {
    match diff.outcome() {
        Some(Outcome::Fails) => exit::FAILURE,
        Some(Outcome::Inconclusive) => exit::INCONCLUSIVE,
        Some(Outcome::Holds) | None => exit::OK,
    }
}
