//! The library's error: what is wrong, where, and the remedy.

use crate::again::Again;
use std::fmt;

/// Error of the library. A caller matches on [`Refusal::kind`] and displays the rest.
///
/// The sentences mention no command and no option, because those belong to the front end. [`Refusal::see`] and
/// [`Refusal::again`] let the front end add them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Party at fault.
    pub kind: Kind,
    /// File and line, task, or policy; `None` if the sentence names it.
    pub place: Option<Box<str>>,
    /// The problem: a sentence, or its start if a remedy follows.
    pub what: String,
    /// Remedy.
    pub remedy: Option<String>,
    /// List that contains the right name, if a name was wrong.
    pub see: Option<See>,
    /// The run that showed it, where there was one.
    pub again: Option<Box<Again>>,
    /// The wrong field of [`crate::OpenOptions`]; the sentence starts with its name.
    pub option: Option<&'static str>,
}

/// Party at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The caller: an invalid name, file or setting, or work that no policy can do.
    Usage,
    /// The policy: it broke a rule, or a checker found an impossible run.
    Violated,
    /// The machine: a system call or file operation failed.
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
    /// Named machines.
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

/// The sentence, without the parts a front end adds.
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

/// The sentence alone.
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
