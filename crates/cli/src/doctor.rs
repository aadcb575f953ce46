//! `goodness doctor`: checks what works on this machine, with remedies.

use crate::failure::{Failure, exit};
use crate::json_option::Json;
use clap::Args;
use goodness_race::examination::Examination;

/// Check what works on this machine, and undo leftovers of killed commands.
///
/// Prints a line per requirement, with what to install, and lists leftovers. Changes nothing, except with --restore.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness doctor                   check every requirement
  sudo goodness doctor --restore    undo leftovers of killed commands

Exit codes: 0 no leftovers, 1 leftovers that could not be undone, or without --restore.")]
pub struct Doctor {
    /// Undo leftovers of killed commands of this user, also from before a reboot.
    #[arg(long)]
    restore: bool,
    #[command(flatten)]
    json: Json,
}

impl Doctor {
    /// Checks, and undoes leftovers on request.
    ///
    /// # Errors
    /// Something could not be undone.
    pub fn run(&self) -> Result<u8, Failure> {
        self.json.check("")?;
        let looked = Examination::new(self.restore);
        self.json.show(&looked.document(), |width| looked.text(width))?;
        Ok(if looked.is_clean() { exit::OK } else { exit::FAILURE })
    }
}
