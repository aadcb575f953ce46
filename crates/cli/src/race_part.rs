//! `goodness race-part`: what a race runs of this program itself, under an arm like any other process.

use crate::failure::Failure;
use clap::Args;

/// A part of a race.
#[derive(Args)]
pub struct RacePart {
    /// The part and its settings.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl RacePart {
    /// Runs the part.
    pub fn run(&self) -> Result<u8, Failure> {
        let code = goodness_race::part::main(self.words.iter().cloned());
        Ok(u8::from(code != std::process::ExitCode::SUCCESS))
    }
}
