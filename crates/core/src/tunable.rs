//! Tunables as records. One declaration yields the typed struct, its defaults, a parser with helpful errors, and the
//! list for help, docs, JSON and sweeps.

use crate::spelling::suggest;
use crate::time::Span;
use std::fmt;

/// Description of one tunable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Name, without a unit.
    pub name: &'static str,
    /// Summary in one sentence.
    pub doc: &'static str,
    /// `span`, `integer`, `switch` or `choice`.
    pub kind: &'static str,
    /// Unit of the value; empty for none.
    pub unit: &'static str,
    /// Default, as typed; `auto` if it depends on the version.
    pub default: String,
    /// Allowed values in words: `100us ..= 10ms`, or the choices.
    pub range: String,
}

/// Tunables and their values, as they would be typed.
pub type Values = Vec<(&'static str, String)>;

/// Settings of a policy: a struct made by [`tunables!`](crate::tunables).
pub trait Tunables: Clone + Default + fmt::Debug {
    /// The tunables in order of declaration; the version first.
    fn spec() -> &'static [Tunable];
    /// Sets one tunable from text.
    ///
    /// # Errors
    /// Unknown name (the nearest is named), wrong kind, or out of range.
    fn set(&mut self, name: &str, value: &str) -> Result<(), TunableError>;
    /// The current values by name, as they would be typed.
    fn values(&self) -> Vec<(&'static str, String)>;
    /// The defaults overridden by `typed`, pairs of name and value.
    ///
    /// # Errors
    /// The first invalid setting.
    fn made(typed: &[(String, String)]) -> Result<Self, TunableError> {
        let mut settings = Self::default();
        typed.iter().try_for_each(|(key, value)| settings.set(key, value))?;
        Ok(settings)
    }
}

/// An invalid setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunableError(pub String);

impl fmt::Display for TunableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TunableError {}

/// The sentence for a name that is not a tunable.
#[must_use]
pub fn unknown(name: &str, spec: &[Tunable]) -> TunableError {
    let names = spec.iter().map(|t| t.name);
    TunableError(format!("there is no tunable \"{name}\"; {}", suggest(name, names)))
}

/// Parses settings as typed after a name: `key=value,key=value`. Blanks around keys, values and commas are ignored.
///
/// # Errors
/// A word that is not a setting, or a duplicate key, as a sentence.
pub fn pairs(text: &str) -> Result<Vec<(String, String)>, TunableError> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let Some((key, value)) = item.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            return Err(TunableError(format!("\"{item}\" is no setting; write KEY=VALUE,KEY=VALUE")));
        };
        if let Some((_, before)) = pairs.iter().find(|(known, _)| known == key) {
            return Err(TunableError(format!(
                "\"{key}\" is given twice, as {before} and as {value}; keep one of them"
            )));
        }
        pairs.push((key.into(), value.into()));
    }
    Ok(pairs)
}

/// A type that a tunable may have.
pub trait TunableValue: Sized + Clone {
    /// `span`, `integer`, `switch` or `choice`.
    const KIND: &'static str;
    /// Unit; empty for none.
    const UNIT: &'static str;
    /// Parses the value as typed.
    ///
    /// # Errors
    /// The expected value, as a sentence.
    fn read(text: &str) -> Result<Self, String>;
    /// The value as typed.
    fn show(&self) -> String;
    /// Allowed values, for tunables without a range.
    fn allowed() -> String {
        "any".into()
    }
}

impl TunableValue for Span {
    const KIND: &'static str = "span";
    const UNIT: &'static str = "time";
    fn read(text: &str) -> Result<Self, String> {
        Span::parse(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl TunableValue for u64 {
    const KIND: &'static str = "integer";
    const UNIT: &'static str = "";
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("\"{text}\" is not a whole number of 0 or more"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl TunableValue for bool {
    const KIND: &'static str = "switch";
    const UNIT: &'static str = "";
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "on" | "1" | "true" | "yes" => Ok(true),
            "off" | "0" | "false" | "no" => Ok(false),
            _ => Err(format!("\"{text}\" is neither on nor off")),
        }
    }
    fn show(&self) -> String {
        if *self { "on" } else { "off" }.into()
    }
    fn allowed() -> String {
        "on | off".into()
    }
}

/// `None` means that the version profile decides; typed `auto`.
impl<T: TunableValue> TunableValue for Option<T> {
    const KIND: &'static str = T::KIND;
    const UNIT: &'static str = T::UNIT;
    fn read(text: &str) -> Result<Self, String> {
        if text == "auto" { Ok(None) } else { T::read(text).map(Some) }
    }
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "auto".into(), T::show)
    }
    fn allowed() -> String {
        T::allowed()
    }
}

/// Range check used by [`tunables!`](crate::tunables).
pub trait WithinRange<B> {
    /// True if the value is in `low..=high`.
    fn within(&self, low: &B, high: &B) -> bool;
}

impl<B: PartialOrd> WithinRange<B> for B {
    fn within(&self, low: &B, high: &B) -> bool {
        self >= low && self <= high
    }
}

impl<B: PartialOrd> WithinRange<B> for Option<B> {
    fn within(&self, low: &B, high: &B) -> bool {
        self.as_ref().is_none_or(|v| v >= low && v <= high)
    }
}

/// Declares the settings of a policy.
///
/// ```
/// use goodness_core::{Span, Tunables};
/// goodness_core::tunables! {
///     pub struct Settings {
///         /// Time a task runs before the next one has its turn.
///         timeslice: Span = Span::from_ms(10), in Span::from_us(100) => Span::from_s(10);
///     }
/// }
/// let mut settings = Settings::default();
/// settings.set("timeslice", "2ms").unwrap();
/// assert_eq!(settings.timeslice, Span::from_ms(2));
/// assert!(settings.set("timeslise", "2ms").unwrap_err().0.contains("timeslice"));
/// ```
#[macro_export]
macro_rules! tunables {
    ($(#[$outer:meta])* pub struct $Settings:ident {
        $($(#[doc = $doc:expr])+ $name:ident : $Type:ty = $default:expr $(, in $low:expr => $high:expr)? ;)*
    }) => {
        $(#[$outer])*
        #[doc = "Tunables of this policy."]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $Settings { $($(#[doc = $doc])+ pub $name: $Type,)* }

        impl Default for $Settings {
            fn default() -> Self { $Settings { $($name: $default,)* } }
        }

        impl $crate::Tunables for $Settings {
            fn spec() -> &'static [$crate::Tunable] {
                static SPEC: std::sync::OnceLock<Vec<$crate::Tunable>> = std::sync::OnceLock::new();
                SPEC.get_or_init(|| {
                    #[allow(unused_imports)]
                    use $crate::tunable::TunableValue as _;
                    let default = $Settings::default();
                    let _ = &default;
                    vec![$($crate::Tunable {
                        name: stringify!($name),
                        doc: concat!($($doc),+).trim(),
                        kind: <$Type as $crate::tunable::TunableValue>::KIND,
                        unit: <$Type as $crate::tunable::TunableValue>::UNIT,
                        default: default.$name.show(),
                        range: {
                            #[allow(unused_mut, unused_assignments)]
                            let mut range = <$Type as $crate::tunable::TunableValue>::allowed();
                            $(range = format!("{} ..= {}", $low.show(), $high.show());)?
                            range
                        },
                    },)*]
                })
            }

            #[allow(unused_variables)]
            fn set(&mut self, name: &str, value: &str) -> Result<(), $crate::TunableError> {
                #[allow(unused_imports)]
                use $crate::tunable::{TunableValue as _, WithinRange as _};
                match name {
                    $(stringify!($name) => {
                        let read = <$Type as $crate::tunable::TunableValue>::read(value)
                            .map_err(|e| $crate::TunableError(format!("{name} = {value}: {e}")))?;
                        $(if !read.within(&$low, &$high) {
                            return Err($crate::TunableError(format!(
                                "{name} = {} is outside {} ..= {}", read.show(), $low.show(), $high.show())));
                        })?
                        self.$name = read;
                        Ok(())
                    })*
                    _ => Err($crate::tunable::unknown(name, Self::spec())),
                }
            }

            fn values(&self) -> Vec<(&'static str, String)> {
                #[allow(unused_imports)]
                use $crate::tunable::TunableValue as _;
                vec![$((stringify!($name), self.$name.show()),)*]
            }
        }
    };
}

/// Declares an enum whose values are typed by name, for version profiles and modes.
///
/// ```
/// goodness_core::choices! {
///     /// Kernel whose fair class is modelled.
///     pub enum Kernel { V6_6 = "6.6", V6_12 = "6.12" }
/// }
/// ```
#[macro_export]
macro_rules! choices {
    ($(#[$outer:meta])* pub enum $Name:ident { $($Variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $Name { $(#[doc = concat!("Typed `", $text, "`.")] $Variant),+ }

        impl $crate::tunable::TunableValue for $Name {
            const KIND: &'static str = "choice";
            const UNIT: &'static str = "";
            fn read(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok($Name::$Variant),)+
                    _ => {
                        let names = [$($text),+];
                        let near = $crate::spelling::nearest(text, names);
                        let near = near.map_or_else(String::new, |near| format!("; the nearest is \"{near}\""));
                        Err(format!("\"{text}\" is not one of {}{near}", names.join(", ")))
                    }
                }
            }
            fn show(&self) -> String {
                match self { $($Name::$Variant => $text,)+ }.into()
            }
            fn allowed() -> String {
                [$($text),+].join(" | ")
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    choices! {
        /// A choice.
        pub enum Version { Old = "2.4", New = "6.12" }
    }

    tunables! {
        pub struct Settings {
            /// Kernel modelled.
            kernel: Version = Version::New;
            /// Shortest timeslice.
            min_granularity: Option<Span> = None, in Span::from_us(100) => Span::from_ms(10);
            /// Runnable tasks beyond which the period stretches.
            nr_latency: u64 = 8, in 1 => 64;
            /// Run children first.
            child_runs_first: bool = false;
        }
    }

    #[test]
    fn a_declaration_is_listed_with_kind_default_and_range() {
        let spec = Settings::spec();
        assert_eq!(
            spec.iter().map(|t| t.name).collect::<Vec<_>>(),
            ["kernel", "min_granularity", "nr_latency", "child_runs_first"]
        );
        assert_eq!((spec[0].kind, spec[0].default.as_str(), spec[0].range.as_str()), ("choice", "6.12", "2.4 | 6.12"));
        assert_eq!((spec[1].default.as_str(), spec[1].range.as_str()), ("auto", "100us ..= 10ms"));
        assert_eq!(spec[2].doc, "Runnable tasks beyond which the period stretches.");
    }

    #[test]
    fn pairs_are_taken_apart_and_a_key_given_twice_is_refused() {
        assert_eq!(pairs(" a = 1,,b=2=3,").unwrap(), [("a".into(), "1".into()), ("b".into(), "2=3".into())]);
        assert_eq!(pairs("").unwrap(), []);
        assert!(pairs("a=1,b=2,a=3").unwrap_err().0.contains("\"a\" is given twice, as 1 and as 3"));
        assert!(pairs("a").unwrap_err().0.contains("KEY=VALUE"));
    }

    #[test]
    fn settings_are_read_checked_and_shown() {
        let mut s = Settings::default();
        s.set("min_granularity", "2ms").unwrap();
        s.set("kernel", "2.4").unwrap();
        assert_eq!(s.min_granularity, Some(Span::from_ms(2)));
        assert_eq!(s.values()[1], ("min_granularity", "2ms".into()));
        assert!(s.set("min_granularity", "2 sec").unwrap_err().0.contains("not a unit"));
        assert!(s.set("min_granularity", "2s").unwrap_err().0.contains("outside 100us ..= 10ms"));
        assert!(s.set("min_granularty", "2ms").unwrap_err().0.contains("nearest is \"min_granularity\""));
        assert!(s.set("kernel", "6.13").unwrap_err().0.contains("nearest is \"6.12\""));
        assert!(s.set("nr_latency", "-1").is_err());
        assert!(s.set("child_runs_first", "maybe").is_err());
    }
}
