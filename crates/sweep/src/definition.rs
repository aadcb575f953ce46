//! The definition of a sweep: a TOML file.

use crate::space::{Draw, Method, Parameter, Point, ValuesText, points};
use goodness::{RUNS_MAX, Refusal, check_rank};
use goodness_core::spelling::suggest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A sweep as defined.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Metric that the summary judges.
    pub metric: String,
    /// Runs of each cell.
    pub runs: u32,
    /// Random seeds, a cell each.
    pub seeds: Vec<u64>,
    /// Inputs, as in a comparison, with parameters in braces.
    pub inputs: Vec<Template>,
    /// Machines; without any, the input's own.
    pub machines: Vec<Template>,
    /// Arms: policies with settings, and edits.
    pub arms: Vec<Template>,
    /// Parameters in alphabetical order.
    pub parameters: Vec<Parameter>,
    /// Points of the space.
    pub points: Vec<Point>,
    /// True if they were drawn: they are not all combinations.
    pub is_drawn: bool,
    /// Parameters of the phase diagram.
    pub phase: Option<Phase>,
}

/// The two parameters of a phase diagram.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// From left to right.
    pub x: String,
    /// From top to bottom.
    pub y: String,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    metric: String,
    #[serde(default = "five")]
    runs: u32,
    #[serde(default)]
    seeds: SeedsText,
    inputs: Vec<String>,
    #[serde(default)]
    machines: Vec<String>,
    arms: Vec<String>,
    #[serde(default)]
    space: BTreeMap<String, ValuesText>,
    draw: Option<Draw>,
    phase: Option<Phase>,
}

fn five() -> u32 {
    5
}

/// Random seeds as typed: a list, or a range of all from one to another.
#[derive(Deserialize)]
#[serde(untagged, expecting = "seeds are a list, [1, 2, 3], or a range, { from = 1, to = 1000 }")]
enum SeedsText {
    List(Vec<u64>),
    Range(SeedRange),
}

/// Seeds from one to another, both included.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedRange {
    from: u64,
    to: u64,
}

impl Default for SeedsText {
    fn default() -> SeedsText {
        SeedsText::List(vec![1])
    }
}

impl SeedsText {
    fn list(self) -> Result<Vec<u64>, Refusal> {
        match self {
            SeedsText::List(list) => Ok(list),
            SeedsText::Range(SeedRange { from, to }) if from > to => {
                Err(Refusal::usage(format!("seeds: {from} is above {to}")).remedy("write the smaller one first"))
            }
            SeedsText::Range(SeedRange { from, to }) if to - from >= MOST_CELLS as u64 => {
                Err(Refusal::usage(format!("seeds: {from} to {to} are more than {MOST_CELLS}")))
            }
            SeedsText::Range(SeedRange { from, to }) => Ok((from..=to).collect()),
        }
    }
}

/// Most cells of a sweep.
pub const MOST_CELLS: usize = 50_000_000;

impl Definition {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no definition: file, line and remedy.
    pub fn open(path: &Path) -> Result<Definition, Refusal> {
        let text = std::fs::read_to_string(path)
            .map_err(|why| Refusal::usage(format!("it cannot be read: {why}")).at(path.display().to_string()))?;
        Definition::parse(&path.display().to_string(), &text)
    }

    /// Reads the text of the file `name`.
    ///
    /// # Errors
    /// As [`Definition::open`].
    pub fn parse(name: &str, text: &str) -> Result<Definition, Refusal> {
        let file: File = toml::from_str(text).map_err(|why| {
            let line = why.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            Refusal::usage(why.message().lines().collect::<Vec<_>>().join(" ")).at(format!("{name}, line {line}"))
        })?;
        Definition::of(file).map_err(|refusal| match refusal.place.clone() {
            Some(place) => refusal.at(format!("{name}, {place}")),
            None => refusal.at(name),
        })
    }

    fn of(file: File) -> Result<Definition, Refusal> {
        check_rank(&file.metric)?;
        let parameters: Vec<Parameter> =
            file.space.into_iter().map(|(name, values)| Parameter::of(&name, values)).collect::<Result<_, _>>()?;
        let templates = |texts: Vec<String>| texts.into_iter().map(|text| Template::of(text, &parameters));
        let definition = Definition {
            metric: file.metric,
            runs: file.runs,
            seeds: file.seeds.list()?,
            inputs: templates(file.inputs).collect::<Result<_, _>>()?,
            machines: templates(file.machines).collect::<Result<_, _>>()?,
            arms: templates(file.arms).collect::<Result<_, _>>()?,
            points: points(&parameters, file.draw),
            is_drawn: file.draw.is_some_and(|draw| draw.method != Method::Grid),
            parameters,
            phase: file.phase,
        };
        definition.check()?;
        Ok(definition)
    }

    fn check(&self) -> Result<(), Refusal> {
        let lists =
            [("inputs", self.inputs.is_empty()), ("arms", self.arms.is_empty()), ("seeds", self.seeds.is_empty())];
        if let Some((name, _)) = lists.into_iter().find(|(_, is_empty)| *is_empty) {
            return Err(Refusal::usage(format!("{name} is empty")).remedy("list one or more"));
        }
        if self.runs == 0 || self.runs > RUNS_MAX {
            return Err(Refusal::usage(format!("runs = {} is outside 1 ..= {RUNS_MAX}", self.runs)));
        }
        let all = || self.inputs.iter().chain(&self.machines).chain(&self.arms);
        if let Some(unused) = self.parameters.iter().find(|it| !all().any(|template| template.names(&it.name))) {
            let what = format!("no input, machine or arm names the parameter {}", unused.name);
            return Err(Refusal::usage(what).remedy(format!("write {{{}}} where its value belongs", unused.name)));
        }
        let known = || self.parameters.iter().map(|it| it.name.as_str());
        let axes = self.phase.iter().flat_map(|it| [&it.x, &it.y]);
        if let Some(axis) = axes.into_iter().find(|axis| !known().any(|name| name == axis.as_str())) {
            return Err(Refusal::usage(format!("phase: there is no parameter {axis}")).remedy(suggest(axis, known())));
        }
        let cells =
            [self.points.len(), self.inputs.len(), self.machines.len().max(1), self.arms.len(), self.seeds.len()];
        match cells.into_iter().try_fold(1usize, usize::checked_mul) {
            Some(cells) if cells <= MOST_CELLS => Ok(()),
            _ => Err(Refusal::usage(format!("it has more than {MOST_CELLS} cells")).remedy("draw points of the space")),
        }
    }
}

/// A text with parameters in braces: `mixed:hogs={hogs}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// As typed.
    pub text: String,
    /// Text between parameters, and parameters.
    parts: Vec<TemplatePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Parameter(String),
}

impl Template {
    /// A template over `parameters`.
    ///
    /// # Errors
    /// A brace without its partner, or an unknown parameter; the nearest is named.
    fn of(text: String, parameters: &[Parameter]) -> Result<Template, Refusal> {
        let (mut parts, mut rest) = (Vec::new(), text.as_str());
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err(Refusal::usage(format!("\"{text}\" opens a brace and does not close it")));
            };
            if !parameters.iter().any(|it| it.name == name) {
                let near = suggest(name, parameters.iter().map(|it| it.name.as_str()));
                return Err(Refusal::usage(format!("\"{text}\": there is no parameter {name}")).remedy(near));
            }
            parts.extend([TemplatePart::Text(before.into()), TemplatePart::Parameter(name.into())]);
            rest = after;
        }
        parts.push(TemplatePart::Text(rest.into()));
        Ok(Template { text, parts })
    }

    /// True if it names `parameter`.
    pub(crate) fn names(&self, parameter: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, TemplatePart::Parameter(name) if name == parameter))
    }

    /// The text with the values of `point`.
    #[must_use]
    pub fn at(&self, point: &Point) -> String {
        let of = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Parameter(name) => point[name].clone(),
        };
        self.parts.iter().map(of).collect()
    }

    /// The parameters it names, with their values at `point`: `hogs=4,slice=1ms`.
    pub(crate) fn named<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Parameter(name) => Some((name.as_str(), point[name].as_str())),
            TemplatePart::Text(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "metric = \"wakeup_latency_p99\"\ninputs = [\"mixed:hogs={hogs}\"]\narms = [\"rr\", \
        \"eevdf:base_slice={slice}\"]\n[space]\nhogs = [1, 2]\nslice = [\"1ms\"]\n";

    fn why(text: &str) -> String {
        Definition::parse("s.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn a_definition_has_a_point_for_each_combination() {
        let it = Definition::parse("s.toml", GOOD).unwrap();
        assert_eq!((it.points.len(), it.runs, it.seeds.as_slice()), (2, 5, &[1][..]));
        assert_eq!(it.inputs[0].at(&it.points[1]), "mixed:hogs=2");
        assert_eq!(it.arms[1].at(&it.points[0]), "eevdf:base_slice=1ms");
    }

    #[test]
    fn seeds_are_a_list_or_a_range_with_both_ends() {
        let seeds = |text: &str| Definition::parse("s.toml", &format!("seeds = {text}\n{GOOD}")).unwrap().seeds;
        assert_eq!(seeds("[7, 3]"), [7, 3]);
        assert_eq!(seeds("{ from = 3, to = 6 }"), [3, 4, 5, 6]);
        assert_eq!(seeds("{ from = 5, to = 5 }"), [5]);
        assert_eq!(seeds("{ from = 1, to = 50000 }").len(), 50_000);
        let wrong = |text: &str| why(&format!("seeds = {text}\n{GOOD}"));
        assert!(wrong("{ from = 2, to = 1 }").contains("seeds: 2 is above 1"));
        assert!(wrong("{ from = 0, to = 18446744073709551615 }").contains("are more than 50000000"));
        for text in ["{ from = 1, too = 2 }", "{ from = 1 }", "\"all\"", "[-1]"] {
            let sentence = wrong(text);
            assert!(sentence.contains("line 1: seeds are a list, [1, 2, 3], or a range"), "{sentence}");
        }
    }

    #[test]
    fn each_mistake_is_one_sentence_with_its_place() {
        let with = |from: &str, to: &str| why(&GOOD.replace(from, to));
        assert!(with("metric =", "metrik =").starts_with("s.toml, line 1: "), "{}", with("metric =", "metrik ="));
        assert!(with("latency_p99", "latency_p9").contains("there is no metric"));
        assert!(with("{slice}", "{slise}").contains("there is no parameter slise"));
        assert!(with("{slice}", "{slise}").contains("slice"), "the nearest");
        assert!(with("{hogs}", "3").contains("names the parameter hogs"));
        assert!(with("{hogs}", "{hogs").contains("does not close it"));
        assert!(with("[\"mixed:hogs={hogs}\"]", "[]").contains("inputs is empty"));
        assert!(why(&format!("runs = 0\n{GOOD}")).contains("runs = 0 is outside"));
        assert!(why(&format!("{GOOD}[phase]\nx = \"hogs\"\ny = \"slyce\"\n")).contains("no parameter slyce"));
        assert!(!why("metric = 3").contains('\n'));
    }
}
