//! Parses elevators: `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.

use goodness_core::ElevatorEntry;
use goodness_core::spelling::suggest;
use goodness_core::tunable::pairs;

/// An elevator's line in the registry, and its settings as typed.
pub type Parsed = (&'static ElevatorEntry, Vec<(String, String)>);

/// The registered elevator named by `text`, and the settings after its colon, unchecked.
///
/// # Errors
/// An unknown name (the nearest is named), or settings that are not pairs, as a sentence.
pub fn parse(text: &str) -> Result<Parsed, String> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let name = name.trim();
    let settings = pairs(settings).map_err(|why| format!("elevator {name}: {why}"))?;
    let unknown = || {
        let names = crate::ALL.iter().map(|about| about.name);
        format!("there is no elevator \"{name}\"; {}", suggest(name, names))
    };
    Ok((crate::entry(name).ok_or_else(unknown)?, settings))
}

/// Checks that the elevator `text` can be made.
///
/// # Errors
/// As [`parse`]; an unknown key (the nearest is named), or a value of the wrong kind or out of range; a
/// sentence.
pub fn check(text: &str) -> Result<(), String> {
    let (entry, settings) = parse(text)?;
    (entry.values)(&settings).map(|_| ()).map_err(|why| format!("{}: {why}", entry.about.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_made_is_one_sentence_with_the_nearest() {
        assert_eq!(check("cfq"), Ok(()));
        assert_eq!(check("cfq:quantum=8"), Ok(()));
        assert!(check("cfqq").unwrap_err().contains("the nearest is \"cfq\""));
        assert!(check("cfq:quantumm=8").unwrap_err().contains("the nearest is \"quantum\""));
        assert!(check("cfq:quantum=0").unwrap_err().contains("outside 1"));
        assert!(check("cfq:quantum").unwrap_err().contains("KEY=VALUE"));
    }
}
