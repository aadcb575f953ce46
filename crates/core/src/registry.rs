//! The registry: policies by name, and functions that make them as trait objects.

use crate::machine::Machine;
use crate::policy::CpuPolicy;
use crate::rng::Seed;
use crate::time::Span;
use crate::tunable::{Tunable, TunableError, Tunables, Values};

/// Description of a policy: name, summary, source, needs.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Registered name: the file name with `-` for `_`, or with a version appended if a file contains several policies.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Paper, kernel version or specification section.
    pub source: &'static str,
    /// Its needs of a host.
    pub needs: Needs,
}

/// Optional services a policy needs from its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// `charge(Tick)` at the machine's HZ while a task runs.
    pub tick: bool,
    /// Calls of `timer` at the time given by `next_timer`.
    pub timer: bool,
    /// Calls of `balance` on newly idle CPUs and, with `tick`, on ticks.
    pub balance: bool,
    /// One lock guards all run queues, so that decisions of different CPUs exclude each other.
    pub global_lock: bool,
}

/// Settings as typed: names and values.
pub type Typed = [(String, String)];

/// A policy in the registry.
pub trait Registered: CpuPolicy + Sized + 'static {
    /// Its entry in the list.
    const ABOUT: About;
    /// Time a task may be runnable without running before the kernel's watchdog unloads the policy. Hosts report it;
    /// the schedule continues.
    const WATCHDOG: Option<Span> = None;
    /// True if tasks share the CPU time of their groups; otherwise they are scheduled as if there were none.
    const HAS_GROUPS: bool = false;
    /// True if deadline tasks get what they reserved; otherwise they run as the policy's ordinary tasks.
    const HAS_RESERVATIONS: bool = false;
    /// Its tunables.
    type Settings: Tunables;
    /// A policy for this machine.
    fn new(machine: &Machine, settings: Self::Settings, seed: Seed) -> Self;
    /// Its line in the registry.
    const ENTRY: PolicyEntry = PolicyEntry {
        about: &Self::ABOUT,
        watchdog: Self::WATCHDOG,
        has_groups: Self::HAS_GROUPS,
        has_reservations: Self::HAS_RESERVATIONS,
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
    /// See [`Registered::WATCHDOG`].
    pub watchdog: Option<Span>,
    /// See [`Registered::HAS_GROUPS`].
    pub has_groups: bool,
    /// See [`Registered::HAS_RESERVATIONS`].
    pub has_reservations: bool,
    /// Its tunables.
    pub tunables: fn() -> &'static [Tunable],
    /// All tunables with their values, after the typed settings.
    pub values: fn(&Typed) -> Result<Values, TunableError>,
    /// Makes the policy for a machine, with settings as typed, and the run's seed.
    pub make: fn(&Machine, &Typed, Seed) -> Result<MadePolicy, TunableError>,
}

/// A policy ready to run: trait object and description.
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

/// Declares a registry of CPU policies: the modules, `ALL`, and `entry`, which looks up a name. A module may contain
/// several policies that share an implementation.
///
/// ```text
/// cpu_policies! {
///     fifo::Fifo,
///     linux::{Linux20, Linux22},
/// }
/// ```
#[macro_export]
macro_rules! cpu_policies {
    ($($list:tt)*) => {
        $crate::registry! { [About, Registered, PolicyEntry] $($list)* }
    };
}

/// Declares a registry of elevators: the modules, `ALL`, and `entry`, in the form of `cpu_policies!`.
#[macro_export]
macro_rules! elevators {
    ($($list:tt)*) => {
        $crate::registry! { [ElevatorAbout, RegisteredElevator, ElevatorEntry] $($list)* }
    };
}

/// Common part of `cpu_policies!` and `elevators!`.
#[doc(hidden)]
#[macro_export]
macro_rules! registry {
    (@flat [$about:ident, $registered:ident, $entry_type:ident] [$($module:ident :: $entry:ident,)*]) => {
        /// Everything registered, in the order of the registry.
        pub const ALL: &[&$crate::$about] = &[$(&<$module::$entry as $crate::$registered>::ABOUT),*];

        const ENTRIES: &[$crate::$entry_type] = &[$(<$module::$entry as $crate::$registered>::ENTRY),*];

        /// The registry entry of `name`; `None` if unknown.
        #[must_use]
        pub fn entry(name: &str) -> Option<&'static $crate::$entry_type> {
            ENTRIES.iter().find(|entry| entry.about.name == name)
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
