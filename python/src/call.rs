//! Calls as they are typed, by which a page says how it is made again.

use goodness::OpenOptions;
use std::fmt::Debug;

/// A call of a function of the package.
pub struct Call(String);

impl Call {
    /// `function` of the values `given`, which are expressions.
    pub fn of(function: &str, given: &[&str]) -> Call {
        Call(format!("goodness.{function}({}", given.join(", ")))
    }

    /// With a keyword, unless its value is the usual one.
    pub fn with<T: Debug + PartialEq>(self, key: &str, value: T, usual: T) -> Call {
        let is_usual = value == usual;
        self.with_some(key, (!is_usual).then_some(value))
    }

    /// With a keyword, if it has a value.
    pub fn with_some(self, key: &str, value: Option<impl Debug>) -> Call {
        match value {
            Some(value) => Call(format!("{}, {key}={value:?}", self.0)),
            None => self,
        }
    }

    /// With a keyword for names, if there are any.
    pub fn with_all(self, key: &str, names: &[String]) -> Call {
        self.with_some(key, (!names.is_empty()).then_some(names))
    }

    /// With a keyword that is true or false, unless it is so by itself.
    pub fn with_flag(self, key: &str, value: bool, usual: bool) -> Call {
        match value {
            it if it == usual => self,
            true => Call(format!("{}, {key}=True", self.0)),
            false => Call(format!("{}, {key}=False", self.0)),
        }
    }

    /// With the options of `work` that is opened in the call; what another call opened has them already.
    pub fn with_options(self, work: &str, options: &OpenOptions) -> Call {
        if work.starts_with("goodness.") {
            return self;
        }
        self.with_some("machine", options.machine.as_ref()).with_all("judge", &options.judge)
    }

    /// The expression.
    pub fn finish(self) -> String {
        self.0 + ")"
    }
}
