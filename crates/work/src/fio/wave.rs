//! Waves of jobs (`stonewall`): the channels for their start and end, and the outsider that starts the next wave.

use goodness_core::{Channel, Step, StepContext};

/// Channel on which a job of `wave` signals its end.
pub(super) const fn ended(wave: u32) -> Channel {
    Channel(2 * wave)
}

/// Awaited by the jobs of `wave`.
pub(super) const fn begins(wave: u32) -> Channel {
    Channel(2 * wave + 1)
}

/// Starts each wave when all jobs of the previous one have ended. `members` is the number of jobs per wave.
pub(super) fn stonewall(members: Vec<u32>) -> impl FnMut(&mut StepContext) -> Step + Send {
    let (mut wave, mut heard, mut told) = (0, 0, 0);
    move |_| {
        if heard < members[wave] {
            heard += 1;
            return Step::Wait(ended(wave as u32));
        }
        match members.get(wave + 1) {
            None => Step::Exit,
            Some(next) => {
                told += 1;
                let step = Step::Wake(begins(wave as u32 + 1));
                if told == *next {
                    (wave, heard, told) = (wave + 1, 0, 0);
                }
                step
            }
        }
    }
}
