//! Elevators as people type them.

use goodness_core::registry::suggest;
use goodness_core::tunable::pairs;
use goodness_core::{ElevatorVisitor, RegisteredElevator, Tunables};

/// Whether `text`, a registered name with or without settings behind a colon, can be made.
///
/// # Errors
/// A sentence: an unknown name or key (the nearest is named), a value of the wrong kind or out of range.
pub fn check(text: &str) -> Result<(), String> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let name = name.trim();
    let settings = pairs(settings).map_err(|why| format!("elevator {name}: {why}"))?;
    crate::with_elevator(name, Check(settings)).unwrap_or_else(|| {
        let names = crate::ALL.iter().map(|about| about.name);
        Err(format!("there is no elevator \"{name}\"; {}", suggest(name, names)))
    })
}

struct Check(Vec<(String, String)>);

impl ElevatorVisitor for Check {
    type Output = Result<(), String>;

    fn visit<E: RegisteredElevator + 'static>(self) -> Self::Output {
        let mut settings = E::Settings::default();
        let mut each = self.0.iter();
        each.try_for_each(|(key, value)| settings.set(key, value).map_err(|why| format!("{}: {why}", E::ABOUT.name)))
    }
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
