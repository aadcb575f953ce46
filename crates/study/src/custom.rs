//! A custom study: a file like those of the built-in ones that also says what is run and what is measured.
//!
//! ```toml
//! question = "Does a blinker wait longer under round robin than under EEVDF?"
//! source = "where the numbers were published"
//! runs = 5                                # replications; 5 by default
//!
//! [input.hogs]                            # one or more, by any name
//! run = "hogs.toml"                       # a file beside this one, a recording, or a workload such as "hogs:tasks=4"
//! machine = "ideal"                       # may be left out
//!
//! [[number]]                              # as in the files of the built-in studies, and
//! key = "wait"
//! quantity = "longest wait, round robin by EEVDF"
//! says = "above"
//! against = { value = 1.0 }
//! where = "table 1"
//! measure = { policy = "rr:timeslice=10ms", metric = "wakeup_latency_max", by = { policy = "eevdf" } }
//! ```
//!
//! `measure` takes a metric of one policy, its quotient `by` that of another policy, input or metric (in pairs of equal
//! seeds), or an `order` of policies, smallest first. The input may be left out where there is one only.

use crate::published::{self, Says};
use crate::{Against, Conduct, Estimate, Findings, Lab, Number, Published, Row, Run, Study, Trial};
use goodness::{OpenOptions, PolicySpec, RUNS_MAX, Refusal, Work, unwatched};
use goodness_core::spelling::suggest;
use goodness_observe::METRICS;
use goodness_work::text_file;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// Default number of replications.
const RUNS: u32 = 5;

/// A custom study.
pub struct CustomStudy {
    /// Name: that of its file, or of its folder if the file has the standard name.
    pub name: String,
    /// Its file's text.
    pub text: String,
    /// Question.
    pub question: String,
    /// The document.
    pub source: String,
    /// Default number of replications per run.
    pub runs: u32,
    /// Published numbers.
    pub published: Published,
    conclusion: String,
    inputs: BTreeMap<String, Work>,
    asked: Vec<Asked>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    question: String,
    source: String,
    runs: Option<Spanned<u32>>,
    #[serde(default)]
    conclusion: String,
    input: BTreeMap<String, Spanned<InputText>>,
    number: Vec<Spanned<Number>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputText {
    run: String,
    machine: Option<String>,
}

/// A metric of a policy on an input.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    input: String,
    policy: String,
    metric: &'static str,
}

/// The measure of one number.
struct Asked {
    /// Position in the file, for error messages.
    place: String,
    key: String,
    how: How,
    note: String,
}

enum How {
    /// A value, multiplied into the unit of the number.
    Value(Term, f64),
    Quotient(Term, Term),
    /// Smallest first.
    Order(Vec<Term>),
}

impl CustomStudy {
    /// Parses the file called `file` with contents `text`, and the files it names, which are looked up in its folder
    /// first.
    ///
    /// # Errors
    /// Invalid TOML, an unknown key, input, policy or metric, or a number that states nothing; one sentence
    /// with file and line.
    pub fn read(file: &str, text: &str) -> Result<CustomStudy, String> {
        let File { question, source, runs, conclusion, input, number } = published::parse(file, text)?;
        let place = |offset| published::place(file, text, offset);
        let runs = match runs {
            Some(runs) if !(2..=RUNS_MAX).contains(runs.get_ref()) => {
                return Err(format!(
                    "{}: runs: a whole number in 2 ..= {RUNS_MAX} is needed",
                    place(runs.span().start)
                ));
            }
            runs => runs.map_or(RUNS, Spanned::into_inner),
        };
        let mut inputs = BTreeMap::new();
        for (name, one) in input {
            let at = place(one.span().start);
            let InputText { run, machine } = one.into_inner();
            let opened = open_beside(file, &run, machine).map_err(|why| format!("{at}: input {name}: {why}"))?;
            inputs.insert(name, opened);
        }
        let (mut published, places) = Published::checked(file, text, number)?;
        let mut asked = Vec::new();
        for (number, place) in published.numbers.iter_mut().zip(places) {
            let how = how(number, &inputs).map_err(|why| format!("{place}: {}: {why}", number.key))?;
            let note = number.measure.as_ref().and_then(|measure| measure.note.clone()).unwrap_or_default();
            asked.push(Asked { place, key: number.key.clone(), how, note });
        }
        let (name, text) = (name_of(Path::new(file)), text.to_string());
        Ok(CustomStudy { name, text, question, source, runs, published, conclusion, inputs, asked })
    }

    /// Reads the study in a file, or in the `published.toml` of a folder.
    ///
    /// # Errors
    /// As [`CustomStudy::read`]; a file that cannot be read.
    pub fn open(path: &str) -> Result<CustomStudy, String> {
        let file = if Path::new(path).is_dir() { Path::new(path).join("published.toml") } else { path.into() };
        let named = file.to_string_lossy();
        CustomStudy::read(&named, &text_file::read(&named, text_file::WORK_MAX)?)
    }

    /// The study in the form of the built-in ones; `conduct` is to call [`CustomStudy::conduct`].
    #[must_use]
    pub fn study<'a>(&'a self, conduct: Conduct<'a>) -> Study<'a> {
        Study {
            name: &self.name,
            question: &self.question,
            source: &self.source,
            published: &self.text,
            parameters: &[],
            corners: &[],
            runs: self.runs,
            conduct,
        }
    }

    /// Runs the study and compares with the published numbers.
    ///
    /// # Errors
    /// A metric missing from a run, with its line in the file; a violated checker or a fault.
    pub fn conduct(&self, lab: &Lab) -> Result<Findings, String> {
        let mut runs = Runs { study: self, lab, made: Vec::new() };
        let mut findings = Findings { conclusion: self.conclusion.clone(), ..Findings::default() };
        for asked in &self.asked {
            findings.rows.push(runs.row(asked).map_err(|why| format!("{}: {}: {why}", asked.place, asked.key))?);
        }
        Ok(findings)
    }
}

/// Name of a study: that of its file, or of its folder if the file has the standard name.
fn name_of(file: &Path) -> String {
    let full = std::path::absolute(file).unwrap_or_else(|_| file.into());
    let folder = full.parent().and_then(Path::file_name).filter(|_| full.ends_with("published.toml"));
    folder.or(full.file_stem()).unwrap_or_default().to_string_lossy().into_owned()
}

/// Opens the files that the study in `file` names.
fn open_beside(file: &str, run: &str, machine: Option<String>) -> Result<Work, Refusal> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let beside = |text: String| {
        let path = folder.join(&text);
        if path.is_file() { path.to_string_lossy().into_owned() } else { text }
    };
    let options = OpenOptions { machine: machine.map(beside), ..OpenOptions::default() };
    goodness::open(&beside(run.into()), &options, &unwatched)
}

/// The measure of `number`. An order is stated as a direction, for its row.
fn how(number: &mut Number, inputs: &BTreeMap<String, Work>) -> Result<How, String> {
    let measure = number.measure.clone().ok_or("it needs measure = { policy = \"…\", metric = \"…\" }")?;
    let metric = metric_named(&measure.metric)?;
    let input = input_named(measure.input.as_deref(), inputs)?;
    let term = |policy: &str| -> Result<Term, String> {
        PolicySpec::parse(policy)?;
        Ok(Term { input: input.into(), policy: policy.into(), metric })
    };
    match (&measure.policy, &measure.order, &measure.by) {
        (Some(_), None, _) if number.value.is_none() && number.says.is_none() => {
            Err("it states nothing; give a value, or says and against".into())
        }
        (Some(policy), None, None) => Ok(How::Value(term(policy)?, scale(metric, &number.unit)?)),
        (Some(policy), None, Some(by)) => {
            let divisor = Term {
                input: input_named(by.input.as_deref().or(Some(input)), inputs)?.into(),
                metric: by.metric.as_deref().map_or(Ok(metric), metric_named)?,
                ..term(by.policy.as_ref().unwrap_or(policy))?
            };
            plain_unit(&number.unit)?;
            let of = term(policy)?;
            if of == divisor {
                return Err("it is divided by itself; name another policy, input or metric in by".into());
            }
            Ok(How::Quotient(of, divisor))
        }
        (None, Some(order), None) if order.len() > 1 && number.value.is_none() && number.says.is_none() => {
            plain_unit(&number.unit)?;
            (number.says, number.against) = (Some(Says::Above), Some(Against { value: 1.0 }));
            Ok(How::Order(order.iter().map(|policy| term(policy)).collect::<Result<_, _>>()?))
        }
        (None, Some(_), _) => Err("an order has two policies or more, and neither value, says nor by".into()),
        _ => Err("measure needs either policy or order".into()),
    }
}

fn metric_named(name: &str) -> Result<&'static str, String> {
    let found = METRICS.iter().find(|metric| metric.name == name).map(|metric| metric.name);
    let near = || suggest(name, METRICS.iter().map(|metric| metric.name));
    found.ok_or_else(|| format!("there is no metric \"{name}\"; {}", near()))
}

fn input_named<'a>(name: Option<&'a str>, inputs: &'a BTreeMap<String, Work>) -> Result<&'a str, String> {
    match name {
        Some(name) if inputs.contains_key(name) => Ok(name),
        Some(name) => {
            let near = suggest(name, inputs.keys().map(String::as_str));
            Err(format!("there is no [input.{name}]; {near}"))
        }
        None => match inputs.keys().next() {
            Some(only) if inputs.len() == 1 => Ok(only),
            _ => Err(format!("measure needs input = \"…\", for there are {} of them", inputs.len())),
        },
    }
}

/// Factor that converts a metric to `unit`.
fn scale(metric: &str, unit: &str) -> Result<f64, String> {
    let own = METRICS.iter().find(|it| it.name == metric).map_or("1", |it| it.unit);
    match (own, unit) {
        ("ns", "ns") | ("1/s", "1/s") | ("1", "" | "1" | "share" | "count" | "ratio") => Ok(1.0),
        ("ns", "us") => Ok(1e-3),
        ("ns", "ms") => Ok(1e-6),
        ("ns", "s") => Ok(1e-9),
        ("1", "%") => Ok(100.0),
        _ => {
            let fitting = match own {
                "ns" => "\"ns\", \"us\", \"ms\" or \"s\"",
                "1" => "\"\", \"count\", \"share\" or \"%\"",
                other => other,
            };
            Err(format!("the unit \"{unit}\" does not fit {metric}; write {fitting}"))
        }
    }
}

fn plain_unit(unit: &str) -> Result<(), String> {
    match unit {
        "" | "ratio" => Ok(()),
        _ => Err(format!("a quotient has no unit; leave unit = \"{unit}\" out")),
    }
}

/// The runs so far: each input once under each policy.
struct Runs<'a> {
    study: &'a CustomStudy,
    lab: &'a Lab<'a>,
    made: Vec<(&'a str, &'a str, Vec<Run>)>,
}

impl<'a> Runs<'a> {
    fn row(&mut self, asked: &'a Asked) -> Result<Row, String> {
        let estimate = match &asked.how {
            How::Value(term, scale) => {
                let values: Vec<f64> = self.values(term)?.iter().map(|value| value * scale).collect();
                Estimate::of(&values)
            }
            How::Quotient(of, by) => Estimate::of(&self.quotients(of, by)?),
            How::Order(terms) => self.weakest_step(terms)?,
        };
        Ok(Row::new(self.lab.published(&asked.key)?, estimate.as_ref(), &asked.note))
    }

    /// The metric in each replication.
    fn values(&mut self, term: &'a Term) -> Result<Vec<f64>, String> {
        let Term { input, policy, metric } = term;
        let made = self.made.iter().position(|(i, p, _)| i == input && p == policy);
        let index = match made {
            Some(index) => index,
            None => {
                let work = &self.study.inputs[input];
                let runs = self.lab.run(&Trial { policy, machine: &work.machine, work: &*work.source })?;
                self.made.push((input, policy, runs));
                self.made.len() - 1
            }
        };
        let missing = |_| format!("no run under {policy} on {input} gives {metric}");
        self.made[index].2.iter().map(|run| run.get(metric).map_err(missing)).collect()
    }

    /// One quotient for each pair of equal seeds.
    fn quotients(&mut self, of: &'a Term, by: &'a Term) -> Result<Vec<f64>, String> {
        let (of, divisors) = (self.values(of)?, self.values(by)?);
        if divisors.contains(&0.0) {
            return Err(format!("{} is 0 under {} on {}; nothing is divided by it", by.metric, by.policy, by.input));
        }
        Ok(of.iter().zip(divisors).map(|(of, by)| of / by).collect())
    }

    /// Of all steps in an order of policies, the quotient whose interval extends lowest. The order holds if even that
    /// one is above 1.
    fn weakest_step(&mut self, terms: &'a [Term]) -> Result<Option<Estimate>, String> {
        let mut weakest: Option<Estimate> = None;
        for step in terms.windows(2) {
            let here = Estimate::of(&self.quotients(&step[1], &step[0])?);
            let low = |it: &Estimate| it.ci95.map_or(it.value, |ci| ci[0]);
            weakest = match (weakest, here) {
                (Some(a), Some(b)) => Some(if low(&b) < low(&a) { b } else { a }),
                (a, b) => a.or(b),
            };
        }
        Ok(weakest)
    }
}
