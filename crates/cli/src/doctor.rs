//! `goodness doctor`: checks what works on this machine, with remedies.

use crate::failure::{Failure, exit};
use crate::output;
use clap::Args;
use goodness_race::examination::Examination;

/// Check what works on this machine, what to install, and what killed commands have left behind.
///
/// One line per requirement of a command. Changes nothing, except with --restore.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness doctor                   one line for each thing, with the remedy where it does not work
  sudo goodness doctor --restore    undo what killed commands have left

Exit codes: 0 nothing is left behind, 1 something could not be undone, or is left and --restore was not given.")]
pub struct Doctor {
    /// Undo leftovers of killed commands of this user, also from before a reboot.
    #[arg(long)]
    restore: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Doctor {
    /// Checks, and undoes leftovers on request.
    ///
    /// # Errors
    /// Something could not be undone.
    pub fn run(&self) -> Result<u8, Failure> {
        let looked = Examination::new(self.restore);
        match self.json {
            true => say!("{:#}", looked.json()),
            false => say!("{}", looked.text(output::columns()).trim_end()),
        }
        Ok(if looked.is_clean() { exit::OK } else { exit::FAILURE })
    }
}
