//! The arms of one input that are compared.

use crate::contender::Contender;
use crate::refusal::Refusal;
use crate::work::Work;

/// Arms as typed.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Policies.
    pub policies: Vec<String>,
    /// Changes of the unchanged work; a single one is compared with that.
    pub arms: Vec<String>,
    /// Elevators.
    pub elevators: Vec<String>,
    /// True if a saved result is the other side.
    pub is_beside_saved: bool,
}

impl Asked {
    /// The arms, however many there are.
    ///
    /// # Errors
    /// An unknown name, setting or edit.
    pub fn contenders(&self, work: &Work) -> Result<Vec<Contender>, Refusal> {
        let standard = work.standard_policy()?;
        if !self.arms.is_empty() {
            let arms: Vec<Contender> = match &self.arms[..] {
                [one] if self.is_beside_saved => vec![Contender::arm(one, &standard)?],
                [_] => Contender::arms(&self.arms, &standard)?,
                several => several.iter().map(|it| Contender::arm(it, &standard)).collect::<Result<_, _>>()?,
            };
            return work.behind_elevators(arms);
        }
        let policies = if self.policies.is_empty() { vec![standard.to_string()] } else { self.policies.clone() };
        let elevators = work.elevators(&self.elevators)?;
        let elevators: Vec<String> = match self.elevators.is_empty() {
            true => elevators.first().map(ToString::to_string).into_iter().collect(),
            false => self.elevators.clone(),
        };
        work.contenders(&policies, &elevators, None)
    }
}
