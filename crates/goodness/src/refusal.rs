//! Why something was not done: what is wrong, where, and the remedy.

use crate::again::Again;
use std::fmt;

/// Why the library did not do what it was asked for. A caller matches on [`Refusal::kind`] and shows the rest.
///
/// The sentences name no command and no option: how a remedy is typed depends on who calls. [`Refusal::see`] and
/// [`Refusal::again`] are what a front end needs to say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Whose fault it is.
    pub kind: Kind,
    /// The file and line, the task, the policy; `None` where the sentence says it.
    pub place: Option<Box<str>>,
    /// What is wrong: a sentence, or its beginning where there is a remedy.
    pub what: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// The list in which the right name stands, where a name was wrong.
    pub see: Option<See>,
    /// The run that showed it, where there was one.
    pub again: Option<Box<Again>>,
    /// The field of [`crate::OpenOptions`] that is wrong; the sentence begins with its name.
    pub option: Option<&'static str>,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The caller's: a name, a file or a setting that cannot be, or work that no policy can do.
    Usage,
    /// The policy's: it broke a rule of its verbs, or a checker found a run that cannot be.
    Violated,
    /// Nobody's: the machine did not do what it was asked for.
    Failed,
    /// The caller ended it.
    Cancelled,
}

/// The list that a wrong name should have come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum See {
    /// All policies, or the settings of one.
    Policies(Option<&'static str>),
    /// All elevators, or the settings of one.
    Elevators(Option<&'static str>),
    /// The built-in workloads, or the settings of one.
    Workloads(Option<&'static str>),
    /// The built-in workloads, and the shipped recordings.
    WorkloadsAndRecordings,
    /// The machines known by name.
    Machines,
    /// The metrics.
    Metrics,
    /// The trace formats, and how each is recorded.
    Formats,
}

impl Refusal {
    /// The caller's fault.
    #[must_use]
    pub fn usage(what: impl Into<String>) -> Refusal {
        Refusal::new(Kind::Usage, what)
    }

    /// A violated rule.
    #[must_use]
    pub fn violated(what: impl Into<String>) -> Refusal {
        Refusal::new(Kind::Violated, what)
    }

    /// The machine's fault.
    #[must_use]
    pub fn failed(what: impl Into<String>) -> Refusal {
        Refusal::new(Kind::Failed, what)
    }

    /// The caller's wish.
    #[must_use]
    pub fn cancelled() -> Refusal {
        Refusal::new(Kind::Cancelled, "it was cancelled")
    }

    fn new(kind: Kind, what: impl Into<String>) -> Refusal {
        Refusal { kind, place: None, what: what.into(), remedy: None, see: None, again: None, option: None }
    }

    /// With the place where it is wrong.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Refusal {
        Refusal { place: Some(place.into().into()), ..self }
    }

    /// With what to do about it.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<String>) -> Refusal {
        Refusal { remedy: Some(remedy.into()), ..self }
    }

    /// With the list of the right names.
    #[must_use]
    pub fn see(self, list: See) -> Refusal {
        Refusal { see: Some(list), ..self }
    }

    /// With the option that is wrong.
    #[must_use]
    pub(crate) fn option(self, option: &'static str) -> Refusal {
        Refusal { option: Some(option), ..self }
    }

    /// With the run that showed it.
    #[must_use]
    pub fn again(self, again: Again) -> Refusal {
        Refusal { again: Some(Box::new(again)), ..self }
    }
}

/// The sentence, without what only a front end can say.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

/// The sentence alone, for those who pass sentences on.
impl From<Refusal> for String {
    fn from(refusal: Refusal) -> String {
        refusal.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_place_fault_and_remedy_and_no_command() {
        let refusal =
            Refusal::usage("there is no task \"b\"").at("x.toml, line 3").remedy("write \"a\"").see(See::Metrics);
        assert_eq!(refusal.to_string(), "x.toml, line 3: there is no task \"b\"; write \"a\"");
        assert_eq!(refusal.kind, Kind::Usage);
    }
}
