//! Knobs: what a tuning may set, and to which values.

use crate::contender::Contender;
use crate::refusal::{Refusal, See};
use crate::space::Range;
use crate::spec::{ElevatorSpec, Registry, Spec};
use goodness_core::Tunable;
use goodness_core::spelling::suggest;

/// Values of a range in the grid that a tuning is compared with. A choice: fewer miss a narrow optimum.
const GRID: u32 = 8;
/// Edits of the machine, which name no task.
const MACHINE: [&str; 3] = ["cpus", "hz", "hogs"];

/// A knob with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// As typed: `base_slice`, `mq-deadline:read_expire`, `redis.nice`.
    pub name: String,
    /// What it sets.
    of: Owner,
    /// Its name there: `read_expire`.
    key: String,
    values: Values,
}

/// What a knob sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// A tunable of the policy.
    Policy,
    /// A tunable of the elevator.
    Elevator,
    /// Tasks, groups or the machine.
    Edit,
}

/// The tunables of a policy or an elevator.
struct Tunables {
    of: Owner,
    /// Name of the policy or elevator.
    name: &'static str,
    all: &'static [Tunable],
    see: See,
}

impl Tunables {
    /// Those of a contender's policy and elevator.
    fn of(default: &Contender) -> Vec<Tunables> {
        let name = default.policy.name;
        let all = (default.policy.entry().tunables)();
        let mut both = vec![Tunables { of: Owner::Policy, name, all, see: See::Policies(Some(name)) }];
        both.extend(default.elevator.iter().map(|ElevatorSpec { name, .. }| {
            let all = (goodness_elevators::entry(name).expect("a checked name is registered").tunables)();
            Tunables { of: Owner::Elevator, name, all, see: See::Elevators(Some(name)) }
        }));
        both
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Values {
    Range(Range),
    List(Vec<String>),
}

impl Knob {
    /// A knob as typed: `base_slice=0.3ms..12ms`, `mq-deadline:read_expire=50ms..1s`, `backup.class=normal|batch`, or a
    /// tunable alone for all of its range.
    fn parse(text: &str, tunables: &[Tunables]) -> Result<Knob, Refusal> {
        let (name, values) = text.split_once('=').map_or((text, None), |(name, values)| (name, Some(values)));
        let read = |typed: &str| Values::parse(typed).map_err(|why| wrong(text, &why));
        if name.contains('.') || MACHINE.contains(&name) {
            let values = read(values.unwrap_or_default())?;
            return Ok(Knob { name: name.into(), of: Owner::Edit, key: name.into(), values });
        }
        let (of, tunable) = tunable(text, name, tunables)?;
        let values = match values {
            Some(typed) => read(typed)?,
            None => read(&tunable.range.replace(" ..= ", "..").replace(" | ", "|"))?,
        };
        Ok(Knob { name: name.into(), of, key: tunable.name.into(), values })
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

/// The tunable called `name`, alone or after its policy or elevator and a colon.
fn tunable(text: &str, name: &str, tunables: &[Tunables]) -> Result<(Owner, &'static Tunable), Refusal> {
    let (owner, key) = name.split_once(':').map_or((None, name), |(owner, key)| (Some(owner), key));
    let named: Vec<&Tunables> = tunables.iter().filter(|it| owner.is_none_or(|owner| owner == it.name)).collect();
    let has = |it: &&Tunables| it.all.iter().find(|tunable| tunable.name == key).map(|tunable| (it.of, tunable));
    match (&named[..], &named.iter().filter_map(has).collect::<Vec<_>>()[..]) {
        (_, [one]) => Ok(*one),
        ([], _) => {
            let what = format!("knob \"{text}\": \"{}\" is not tuned here", owner.unwrap_or_default());
            Err(Refusal::usage(what).remedy(suggest(owner.unwrap_or_default(), tunables.iter().map(|it| it.name))))
        }
        (named, []) => {
            let near = suggest(key, named.iter().flat_map(|it| it.all).map(|it| it.name).chain(MACHINE));
            let owners: Vec<&str> = named.iter().map(|it| it.name).collect();
            let verb = if owners.len() > 1 { "have" } else { "has" };
            let what = format!("knob \"{text}\": {} {verb} no tunable \"{key}\"", owners.join(" and "));
            let remedy = format!("{near}; knobs of tasks and groups are written TASK.nice=-10..10");
            Err(Refusal::usage(what).remedy(remedy).see(named[0].see))
        }
        ([one, other, ..], _) => {
            let what = format!("knob \"{text}\": {} and {} have a tunable \"{key}\"", one.name, other.name);
            Err(Refusal::usage(what).remedy(format!("write {}:{text} or {}:{text}", one.name, other.name)))
        }
        ([_], _) => unreachable!("one owner has a tunable once"),
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
        let tunables = Tunables::of(&default);
        let knobs: Vec<Knob> = knobs.iter().map(|text| Knob::parse(text, &tunables)).collect::<Result<_, _>>()?;
        let is_twin = |a: &Knob, b: &Knob| (a.of, &a.key) == (b.of, &b.key);
        if let Some((at, twin)) = knobs.iter().enumerate().find(|(at, it)| knobs[..*at].iter().any(|o| is_twin(o, it)))
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
        let set = |of: Owner| {
            let all = self.knobs.iter().zip(values).filter(move |(knob, _)| knob.of == of);
            all.filter_map(|(knob, value)| Some(format!("{}={}", knob.key, value.as_ref()?))).collect::<Vec<String>>()
        };
        let Contender { policy, elevator, .. } = &self.default;
        let policy = with(policy, &set(Owner::Policy))?;
        let elevator = elevator.as_ref().map(|own| with(own, &set(Owner::Elevator))).transpose()?;
        let edits = Contender::arm(&set(Owner::Edit).join(" "), &policy)?.edits;
        Ok(Contender { policy, elevator, edits })
    }

    /// Settings of a grid with every combination.
    #[must_use]
    pub fn grid(&self) -> u64 {
        self.knobs.iter().map(Knob::levels).fold(1, u64::saturating_mul)
    }
}

/// A policy or an elevator with some of its settings changed.
fn with<R: Registry + Clone + PartialEq>(own: &Spec<R>, set: &[String]) -> Result<Spec<R>, Refusal> {
    match set {
        [] => Ok(own.clone()),
        _ => Ok(Spec::parse(&format!("{}:{}", own.name, set.join(",")))?.over(own)),
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
        assert!(space(&["eevdf:base_slice", "base_slice"]).unwrap_err().contains("given twice"));
        assert!(why("rr:timeslice=1ms..2ms").contains("\"rr\" is not tuned here"));
        assert!(space(&[]).unwrap_err().contains("no knob"));
    }

    #[test]
    fn knobs_of_policy_and_elevator_mix_and_a_name_that_both_have_is_asked_about() {
        let default = Contender::parse("eevdf:kernel=6.18+kyber:read_lat=3ms").unwrap();
        let space = |knobs: &[&str]| {
            let knobs: Vec<String> = knobs.iter().map(ToString::to_string).collect();
            Space::of(&knobs, default.clone()).map_err(|why| why.to_string())
        };
        let both = space(&["base_slice=1ms..3ms", "write_lat=1ms..20ms", "kyber:kernel"]).unwrap();
        let of =
            |values: [Option<&str>; 3]| both.contender(&values.map(|it| it.map(String::from))).unwrap().to_string();
        assert_eq!(of([None; 3]), "eevdf:kernel=6.18+kyber:read_lat=3ms");
        assert_eq!(of([None, Some("5ms"), None]), "eevdf:kernel=6.18+kyber:read_lat=3ms,write_lat=5ms");
        assert_eq!(of([Some("2ms"), None, None]), "eevdf:kernel=6.18,base_slice=2ms+kyber:read_lat=3ms");
        let why = space(&["kernel"]).unwrap_err();
        assert!(why.contains("eevdf and kyber have") && why.contains("write eevdf:kernel or kyber:kernel"), "{why}");
        assert!(space(&["read_late=1ms..2ms"]).unwrap_err().contains("nearest is \"read_lat\""));
    }
}
