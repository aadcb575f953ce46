//! Policies by name: a table of what is registered, and how each is made as a trait object.

use crate::machine::Machine;
use crate::policy::CpuPolicy;
use crate::rng::Seed;
use crate::time::Span;
use crate::tunable::{Tunable, TunableError, Tunables, Values};

/// A policy's entry in the list: name, summary, source, needs.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The registered name: the file's name with `-` for `_`, or with a version behind it where one file holds
    /// several policies.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Paper, kernel version or specification section.
    pub source: &'static str,
    /// Its needs of a host.
    pub needs: Needs,
}

/// A policy's needs of its host beyond the verbs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// `charge(Tick)` at the machine's HZ while a task runs.
    pub tick: bool,
    /// `timer` at the time given by `next_timer`.
    pub timer: bool,
    /// `balance` on newly idle CPUs and, with `tick`, on ticks.
    pub balance: bool,
    /// One lock guards all runqueues, so that decisions of different CPUs exclude each other.
    pub global_lock: bool,
}

/// Settings as typed: names and values.
pub type Typed = [(String, String)];

/// A policy that can be made by name.
pub trait Registered: CpuPolicy + Sized + 'static {
    /// Its entry in the list.
    const ABOUT: About;
    /// A kernel that throws this policy out when a task was runnable for longer than this and did not run. Hosts report
    /// it; the schedule goes on.
    const WATCHDOG: Option<Span> = None;
    /// Its tunables.
    type Settings: Tunables;
    /// A policy for this machine.
    fn new(machine: &Machine, settings: Self::Settings, seed: Seed) -> Self;
    /// Its line in the registry.
    const ENTRY: PolicyEntry = PolicyEntry {
        about: &Self::ABOUT,
        watchdog: Self::WATCHDOG,
        tunables: Self::Settings::spec,
        values: |typed| Self::Settings::made(typed).map(|settings| settings.values()),
        make: |machine, typed, seed| {
            Self::Settings::made(typed).map(|settings| MadePolicy::of::<Self>(machine, settings, seed))
        },
    };
}

/// A line of the registry of policies.
pub struct PolicyEntry {
    /// The policy's entry in the list.
    pub about: &'static About,
    /// As [`Registered::WATCHDOG`].
    pub watchdog: Option<Span>,
    /// Its tunables.
    pub tunables: fn() -> &'static [Tunable],
    /// All tunables with their values, once the settings typed are made.
    pub values: fn(&Typed) -> Result<Values, TunableError>,
    /// Makes the policy for a machine, with settings as typed, in a run with this seed.
    pub make: fn(&Machine, &Typed, Seed) -> Result<MadePolicy, TunableError>,
}

/// A policy ready to run: the trait object, and what it says of itself.
pub struct MadePolicy {
    /// Its entry in the list.
    pub about: &'static About,
    /// The state machine.
    pub policy: Box<dyn CpuPolicy>,
}

impl MadePolicy {
    /// Policy `P` in a run with `seed`, from which its own stream of random numbers derives.
    #[must_use]
    pub fn of<P: Registered>(machine: &Machine, settings: P::Settings, seed: Seed) -> MadePolicy {
        let policy = Box::new(P::new(machine, settings, seed.stream("policy", 0)));
        MadePolicy { about: P::ENTRY.about, policy }
    }
}

/// A body of code to run with a policy chosen by name.
pub trait Visitor {
    /// Result of the visit.
    type Output;
    /// Runs with policy `P`.
    fn visit<P: Registered>(self) -> Self::Output;
}

/// Longer words are compared with no name: nobody means one of them, and comparing takes their product of steps.
const WORD_MAX: usize = 64;
/// More names than this are not listed in a sentence.
const LISTED_MAX: usize = 25;

/// The entry of `names` that `wanted` is most likely meant to be; `None` when none is spelled much like it. Up to one
/// letter in four may differ, letter case does not count, and a part of three letters or more stands for the whole.
#[must_use]
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let length = wanted.chars().count();
    if length > WORD_MAX {
        return None;
    }
    let effort = |name: &'a str| {
        let lower = name.to_lowercase();
        let distance = edit_distance(&wanted, &lower);
        let is_close = distance <= (length.max(lower.chars().count()) + 2) / 4;
        let is_part = length >= 3 && lower.contains(&wanted);
        (is_close || is_part).then_some((!is_close, distance, name))
    };
    names.into_iter().filter_map(effort).min_by_key(|(is_part, distance, _)| (*is_part, *distance)).map(|found| found.2)
}

/// Ending of a sentence about an unknown name: the nearest name, or all of them where none is near and they are
/// few.
#[must_use]
pub fn suggest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match nearest(wanted, names.iter().copied()) {
        Some(near) => format!("the nearest is \"{near}\""),
        None if names.is_empty() => "there is none".into(),
        None if names.len() <= LISTED_MAX => format!("there are: {}", names.join(", ")),
        None => format!("none of the {} names is spelled like it", names.len()),
    }
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (restricted Damerau).
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// Declares a registry of CPU policies: the modules, `ALL`, and `entry`, which finds a line by its name.
/// A module may hold several policies that share one implementation.
///
/// ```text
/// cpu_policies! { fifo::Fifo, linux::{Linux20, Linux22}, }
/// ```
#[macro_export]
macro_rules! cpu_policies {
    ($($list:tt)*) => {
        $crate::registry! { [About, Registered, PolicyEntry, Visitor, with_policy] $($list)* }
    };
}

/// Declares a registry of elevators: the modules, `ALL`, and `entry`. Written as `cpu_policies!` is.
#[macro_export]
macro_rules! elevators {
    ($($list:tt)*) => {
        $crate::registry! { [ElevatorAbout, RegisteredElevator, ElevatorEntry, ElevatorVisitor, with_elevator] $($list)* }
    };
}

/// Common part of `cpu_policies!` and `elevators!`.
#[doc(hidden)]
#[macro_export]
macro_rules! registry {
    (@flat [$about:ident, $registered:ident, $entry_type:ident, $visitor:ident, $with:ident] [$($module:ident :: $entry:ident,)*]) => {
        /// Everything registered, in the order of the registry.
        pub const ALL: &[&$crate::$about] = &[$(&<$module::$entry as $crate::$registered>::ABOUT),*];

        const ENTRIES: &[$crate::$entry_type] = &[$(<$module::$entry as $crate::$registered>::ENTRY),*];

        /// The line of the registry for `name`; `None` if nothing has that name.
        #[must_use]
        pub fn entry(name: &str) -> Option<&'static $crate::$entry_type> {
            ENTRIES.iter().find(|entry| entry.about.name == name)
        }

        /// Runs `visitor` with what is called `name`; `None` if nothing has that name.
        pub fn $with<V: $crate::$visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(if name == <$module::$entry as $crate::$registered>::ABOUT.name {
                return Some(visitor.visit::<$module::$entry>());
            })*
            None
        }
    };
    (@flat $kind:tt [$($done:tt)*] $module:ident :: { $($entry:ident),+ $(,)? }, $($rest:tt)*) => {
        $crate::registry! { @flat $kind [$($done)* $($module::$entry,)+] $($rest)* }
    };
    (@flat $kind:tt [$($done:tt)*] $module:ident :: $entry:ident, $($rest:tt)*) => {
        $crate::registry! { @flat $kind [$($done)* $module::$entry,] $($rest)* }
    };
    ($kind:tt $($module:ident :: $entries:tt),* $(,)?) => {
        $(pub mod $module;)*
        $crate::registry! { @flat $kind [] $($module :: $entries,)* }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_forgives_a_typing_error() {
        assert_eq!(nearest("bqf", ["eevdf", "bfq", "bfs"]), Some("bfq"));
        assert_eq!(nearest("evdf", ["eevdf", "cfs", "rr"]), Some("eevdf"));
        assert_eq!(nearest("EEVDF", ["eevdf", "cfs"]), Some("eevdf"));
        assert_eq!(nearest("linux", ["cfs", "linux-2.4"]), Some("linux-2.4"));
    }

    #[test]
    fn a_far_fetched_name_is_not_suggested() {
        assert_eq!(nearest("banana", ["eevdf", "bfq", "bfs"]), None);
        assert_eq!(nearest("c", ["a"]), None);
        assert_eq!(nearest(&"x".repeat(100_000), ["eevdf"]), None);
        assert_eq!(suggest("banana", ["eevdf", "rr"]), "there are: eevdf, rr");
        assert_eq!(suggest("evdf", ["eevdf", "rr"]), "the nearest is \"eevdf\"");
        assert_eq!(suggest("banana", []), "there is none");
    }
}
