//! Waves of jobs (`stonewall`): the channels on which they begin and end, and the outsider that starts the next wave.

use goodness_core::{Channel, Step, StepContext};

/// Told by a job of `wave` that ends.
pub(super) const fn ended(wave: u32) -> Channel {
    Channel(2 * wave)
}

/// Awaited by the jobs of `wave`.
pub(super) const fn begins(wave: u32) -> Channel {
    Channel(2 * wave + 1)
}

/// Lets a wave begin when all of the one before have ended; `members` are the jobs of each.
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
