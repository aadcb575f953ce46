//! Knobs: what a tuning may set, and to which values.

use crate::contender::Contender;
use crate::refusal::{Refusal, See};
use crate::space::Range;
use goodness_core::Tunable;
use goodness_core::spelling::suggest;

/// Values of a range in the grid that a tuning is compared with. A choice: fewer miss a narrow optimum.
const GRID: u32 = 8;
/// Edits of the machine, which name no task.
const MACHINE: [&str; 3] = ["cpus", "hz", "hogs"];

/// A knob with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// As typed: `base_slice`, `redis.nice`.
    pub name: String,
    /// True if it is a tunable of the policy; false if it is an edit of tasks, groups or the machine.
    is_tunable: bool,
    values: Values,
}

#[derive(Clone, Debug, PartialEq)]
enum Values {
    Range(Range),
    List(Vec<String>),
}

impl Knob {
    /// A knob as typed: `base_slice=0.3ms..12ms`, `backup.class=normal|batch`, or a tunable alone for all of its range.
    fn parse(text: &str, tunables: &[Tunable], policy: &'static str) -> Result<Knob, Refusal> {
        let (name, values) = text.split_once('=').map_or((text, None), |(name, values)| (name, Some(values)));
        let is_tunable = !name.contains('.') && !MACHINE.contains(&name);
        let tunable = tunables.iter().find(|it| it.name == name);
        if is_tunable && tunable.is_none() {
            let near = suggest(name, tunables.iter().map(|it| it.name).chain(MACHINE));
            let what = format!("knob \"{text}\": {policy} has no tunable \"{name}\"");
            let remedy = format!("{near}; knobs of tasks and groups are written TASK.nice=-10..10");
            return Err(Refusal::usage(what).remedy(remedy).see(See::Policies(Some(policy))));
        }
        let values = match (values, tunable) {
            (Some(typed), _) => typed.to_string(),
            (None, Some(tunable)) => tunable.range.replace(" ..= ", "..").replace(" | ", "|"),
            (None, None) => String::new(),
        };
        let values = Values::parse(&values).map_err(|why| wrong(text, &why))?;
        Ok(Knob { name: name.into(), is_tunable, values })
    }

    /// The value at `share`, 0 to 1, of its range or list.
    #[must_use]
    pub fn value(&self, share: f64) -> String {
        match &self.values {
            Values::Range(range) => range.near(share),
            Values::List(list) => list[self.place(share)].clone(),
        }
    }

    /// Number of the value at `share`: of a list its place, of a range its third.
    #[must_use]
    pub fn place(&self, share: f64) -> usize {
        ((share * self.places() as f64) as usize).min(self.places() - 1)
    }

    /// Values that effects are told of: those of a list, or the thirds of a range.
    #[must_use]
    pub fn places(&self) -> usize {
        if let Values::List(list) = &self.values { list.len() } else { 3 }
    }

    /// The values at place `place` as text: one of a list, or the ends of a third of the range.
    #[must_use]
    pub fn described(&self, place: usize) -> String {
        let ends = [place, place + 1].map(|it| it as f64 / self.places() as f64);
        match &self.values {
            Values::List(list) => list[place].clone(),
            Values::Range(range) => format!("{}..{}", range.near(ends[0]), range.near(ends[1])),
        }
    }

    /// True if its values are those of a range.
    #[must_use]
    pub fn is_range(&self) -> bool {
        matches!(self.values, Values::Range(_))
    }

    /// Number of its values in a grid.
    #[must_use]
    pub fn levels(&self) -> u64 {
        match &self.values {
            Values::List(list) => list.len() as u64,
            Values::Range(range) => range.grid(GRID).len() as u64,
        }
    }

    /// The values that must be possible: the ends of a range, or all of a list.
    fn extremes(&self) -> Vec<String> {
        match &self.values {
            Values::List(list) => list.clone(),
            Values::Range(range) => vec![range.at(0.0), range.at(1.0)],
        }
    }
}

impl Values {
    fn parse(text: &str) -> Result<Values, String> {
        if let Some((from, to)) = text.split_once("..") {
            return Range::spread(from.trim(), to.trim()).map(Values::Range);
        }
        let mut list: Vec<String> = text.split('|').map(|it| it.trim().to_string()).collect();
        list.dedup();
        match list.len() > 1 && !list.iter().any(String::is_empty) {
            true => Ok(Values::List(list)),
            false => Err("it needs two values or more".into()),
        }
    }
}

fn wrong(text: &str, why: &str) -> Refusal {
    Refusal::usage(format!("knob \"{text}\": {why}")).remedy(
        "write NAME=LOW..HIGH or NAME=ONE|OTHER: base_slice=0.3ms..12ms, redis.nice=-10..10, x.class=normal|batch",
    )
}

/// The knobs of a tuning, and the contender that they change.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// The knobs, as typed in order.
    pub knobs: Vec<Knob>,
    /// The default: all knobs as they are.
    pub default: Contender,
}

impl Space {
    /// The space of `knobs`, as typed, around `default`.
    ///
    /// # Errors
    /// No knob, one given twice, an unknown one, or one with an impossible value.
    pub fn of(knobs: &[String], default: Contender) -> Result<Space, Refusal> {
        if knobs.is_empty() {
            return Err(Refusal::usage("there is no knob to tune").remedy("name one: base_slice=0.3ms..12ms"));
        }
        let (entry, name) = (default.policy.entry(), default.policy.name);
        let parse = |text: &String| Knob::parse(text, (entry.tunables)(), name);
        let knobs: Vec<Knob> = knobs.iter().map(parse).collect::<Result<_, _>>()?;
        if let Some((at, twin)) =
            knobs.iter().enumerate().find(|(at, it)| knobs[..*at].iter().any(|o| o.name == it.name))
        {
            let what = format!("the knob {} is given twice, the second time as number {}", twin.name, at + 1);
            return Err(Refusal::usage(what).remedy("join its values"));
        }
        let space = Space { knobs, default };
        for (place, knob) in space.knobs.iter().enumerate() {
            for value in knob.extremes() {
                let mut values = vec![None; space.knobs.len()];
                values[place] = Some(value);
                space.contender(&values)?;
            }
        }
        Ok(space)
    }

    /// The contender with these values of the knobs; `None` leaves a knob as it is.
    ///
    /// # Errors
    /// A value that the knob does not take.
    pub fn contender(&self, values: &[Option<String>]) -> Result<Contender, Refusal> {
        let set = |is_tunable: bool| {
            let all = self.knobs.iter().zip(values).filter(move |(knob, _)| knob.is_tunable == is_tunable);
            all.filter_map(|(knob, value)| Some(format!("{}={}", knob.name, value.as_ref()?)))
        };
        let tunables: Vec<String> = set(true).collect();
        let mut words: Vec<String> = set(false).collect();
        if !tunables.is_empty() {
            words.insert(0, format!("{}:{}", self.default.policy.name, tunables.join(",")));
        }
        let arm = Contender::arm(&words.join(" "), &self.default.policy)?;
        Ok(Contender { elevator: self.default.elevator.clone(), ..arm })
    }

    /// Settings of a grid with every combination.
    #[must_use]
    pub fn grid(&self) -> u64 {
        self.knobs.iter().map(Knob::levels).fold(1, u64::saturating_mul)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::PolicySpec;

    fn space(knobs: &[&str]) -> Result<Space, String> {
        let default = Contender::policy(PolicySpec::parse("eevdf:kernel=6.18").unwrap());
        let knobs: Vec<String> = knobs.iter().map(ToString::to_string).collect();
        Space::of(&knobs, default).map_err(|why| why.to_string())
    }

    #[test]
    fn a_setting_keeps_what_it_does_not_name() {
        let space = space(&["base_slice=0.3ms..12ms", "web.nice=-5..5", "run_to_parity"]).unwrap();
        let of =
            |values: [Option<&str>; 3]| space.contender(&values.map(|it| it.map(String::from))).unwrap().to_string();
        assert_eq!(of([None; 3]), "eevdf:kernel=6.18");
        assert_eq!(of([Some("3ms"), None, Some("off")]), "eevdf:kernel=6.18,base_slice=3ms,run_to_parity=off");
        assert_eq!(of([None, Some("-5"), None]), "eevdf:kernel=6.18 web.nice=-5");
        assert_eq!(space.grid(), 8 * 8 * 2);
        assert_eq!((space.knobs[0].value(0.0), space.knobs[2].value(0.9)), ("300us".into(), "off".into()));
        assert_eq!((space.knobs[0].described(2), space.knobs[2].described(0)), ("3.5ms..12ms".into(), "on".into()));
    }

    #[test]
    fn what_cannot_be_tuned_is_refused_with_what_could() {
        let why = |knob: &str| space(&[knob]).unwrap_err();
        assert!(why("base_slise=1ms..2ms").contains("nearest is \"base_slice\""), "{}", why("base_slise=1ms..2ms"));
        assert!(why("base_slice=1ms").contains("two values or more"));
        assert!(why("base_slice=2ms..1ms").contains("not below"));
        assert!(why("base_slice=1ms..2").contains("one kind"));
        assert!(why("base_slice=1ms..2s").contains("outside"), "the end of the range is out of the tunable's");
        assert!(why("x.nice=-30..5").contains("-20 to 19"));
        assert!(why("x.clas=normal|batch").contains("class"));
        assert!(space(&["hz=100|250", "hz=300|1000"]).unwrap_err().contains("given twice"));
        assert!(space(&[]).unwrap_err().contains("no knob"));
    }
}
