//! Built-in workloads by name, with their parameters as tunables.

mod parts;
mod web;

use crate::script::Plan;
use goodness_core::spelling::suggest;
use goodness_core::{Seed, Tunable, TunableError, Tunables, Workload, WorkloadSource, tunable};

/// Name, summary, source and parameters of a model.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Registered name.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Source of its shape and its figures.
    pub source: &'static str,
}

/// A built-in workload.
#[derive(Clone, Copy)]
pub struct Model {
    /// Registered name.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Source of its shape and its figures.
    pub source: &'static str,
    /// Its parameters.
    pub tunables: fn() -> &'static [Tunable],
    make: Make,
}

/// Makes a model from settings as typed.
type Make = fn(&[(String, String)]) -> Result<Made, TunableError>;

/// Product of a model.
enum Made {
    /// Scripts, the same in every replication.
    Plan(Box<Plan>),
    /// Behaviours in Rust, built anew for every replication.
    Programmes(Box<dyn Fn(Seed) -> Workload + Send + Sync>),
}

/// Default settings, changed by the typed ones.
fn read<S: Tunables>(pairs: &[(String, String)]) -> Result<S, TunableError> {
    let mut settings = S::default();
    for (key, value) in pairs {
        settings.set(key, value)?;
    }
    Ok(settings)
}

/// Declares the list of models. Each is a file with `ABOUT`, `Settings`, and either `plan` (if made of scripts) or
/// `build`.
macro_rules! models {
    (scripts: $($model:ident),* ; programmes: $($own:ident),* ;) => {
        $(mod $model;)*
        $(mod $own;)*

        /// Every built-in workload.
        pub const WORKLOADS: &[Model] = &[$(Model {
            name: $model::ABOUT.name,
            summary: $model::ABOUT.summary,
            source: $model::ABOUT.source,
            tunables: <$model::Settings as Tunables>::spec,
            make: |pairs| Ok(Made::Plan(Box::new($model::plan(&read(pairs)?)))),
        },)* $(Model {
            name: $own::ABOUT.name,
            summary: $own::ABOUT.summary,
            source: $own::ABOUT.source,
            tunables: <$own::Settings as Tunables>::spec,
            make: |pairs| {
                let settings = read(pairs)?;
                Ok(Made::Programmes(Box::new(move |seed| $own::build(&settings, seed))))
            },
        },)*];
    };
}

models! {
    scripts: null,
    apache_event,
    apache_prefork,
    apache_worker,
    hogs,
    sleepers,
    mixed,
    hackbench,
    interbench,
    light_server,
    panasyuk,
    mysql_oltp,
    pipe_ring,
    postgres_buffers,
    schbench,
    server,
    specweb96,
    yield_benchmark;
    programmes: dbload;
}

/// A built-in workload with its parameters.
pub struct BuiltIn {
    name: String,
    made: Made,
    /// True for each task that is judged; those of the model are if it is empty.
    judged: Vec<bool>,
}

impl BuiltIn {
    /// Parses `NAME` or `NAME:key=value,…`.
    ///
    /// # Errors
    /// An unknown name or parameter (the nearest is named), a value out of range.
    pub fn parse(text: &str) -> Result<BuiltIn, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let Some(model) = WORKLOADS.iter().find(|model| model.name == name) else {
            let names = WORKLOADS.iter().map(|m| m.name);
            return Err(format!("there is no workload \"{name}\"; {}", suggest(name, names)));
        };
        let wrong = |e: TunableError| format!("workload {name}: {e}");
        let made = tunable::pairs(rest).and_then(|pairs| (model.make)(&pairs)).map_err(wrong)?;
        Ok(BuiltIn { name: text.into(), made, judged: Vec::new() })
    }

    /// Names of the tasks, in their order.
    #[must_use]
    pub fn task_names(&self) -> Vec<String> {
        self.build(Seed(0), 0).tasks.into_iter().map(|task| task.name).collect()
    }

    /// The workload with an answer about these of its tasks alone; the others run as before.
    #[must_use]
    pub fn with_judged(self, judged: Vec<bool>) -> BuiltIn {
        BuiltIn { judged, ..self }
    }

    /// The plan of the tasks.
    ///
    /// # Errors
    /// A sentence if the workload is not made of scripts.
    pub fn into_plan(self) -> Result<Plan, String> {
        match self.made {
            Made::Plan(plan) => Ok(*plan),
            Made::Programmes(_) => Err(format!(
                "workload {} is made of programmes of its own; name it on the command line instead of a file",
                self.name
            )),
        }
    }
}

impl WorkloadSource for BuiltIn {
    fn name(&self) -> &str {
        &self.name
    }

    fn what_varies(&self) -> &str {
        match self.made {
            Made::Plan(_) => {
                "lengths of bursts and sleeps are drawn anew within their ranges, and so is the phase of the tick"
            }
            Made::Programmes(_) => "all that the model leaves to chance is drawn anew, and so is the phase of the tick",
        }
    }

    fn build(&self, seed: Seed, _: u32) -> Workload {
        let mut work = match &self.made {
            Made::Plan(plan) => plan.workload(),
            Made::Programmes(build) => build(seed),
        };
        work.tasks.iter_mut().zip(&self.judged).for_each(|(spec, judged)| spec.judged = *judged);
        work
    }

    fn asks_for_elevator(&self) -> bool {
        self.build(Seed(0), 0).storage.disks.iter().any(|disk| disk.elevator.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_workload_can_be_made_with_its_defaults() {
        for model in WORKLOADS {
            let built = BuiltIn::parse(model.name).unwrap();
            assert!(built.build(Seed(1), 0).horizon.is_some(), "{}", model.name);
            assert!(built.what_varies().contains("drawn anew"), "{}", model.name);
        }
    }

    #[test]
    fn a_wrong_name_or_parameter_is_refused_with_the_nearest_one() {
        let sentence = |text: &str| BuiltIn::parse(text).err().unwrap();
        assert!(sentence("hog").contains("nearest is \"hogs\""));
        assert!(sentence("hogs:task=3").contains("nearest is \"tasks\""));
        assert!(sentence("hogs:tasks=0").contains("outside"));
        assert!(sentence("hogs:tasks").contains("KEY=VALUE"));
        assert!(sentence("hogs:tasks=1,tasks=2").contains("\"tasks\" is given twice"));
    }
}
