//! `goodness race-subprocess`: a subprocess of a race, run under an arm like any other program.

use crate::failure::Failure;
use clap::Args;

/// A subprocess of a race.
#[derive(Args)]
pub struct RaceSubprocess {
    /// The subprocess and its settings.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl RaceSubprocess {
    /// Runs the subprocess.
    pub fn run(&self) -> Result<u8, Failure> {
        let code = goodness_race::subprocess::main(self.words.iter().cloned());
        Ok(u8::from(code != std::process::ExitCode::SUCCESS))
    }
}
