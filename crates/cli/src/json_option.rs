//! `--json [FILE]`, the same in every command.

use crate::failure::Failure;
use crate::output;
use goodness_report::json;
use serde::Serialize;
use std::path::PathBuf;

/// Results as JSON.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Json {
    /// Write the results as JSON; without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

impl Json {
    /// True if JSON is asked for.
    #[cfg(feature = "live")]
    pub const fn is_asked(&self) -> bool {
        self.json.is_some()
    }

    /// True if standard output is for JSON and nothing else.
    pub fn is_stdout(&self) -> bool {
        output::is_stdout(&self.json)
    }

    /// Refuses a file that cannot be written or is `input`, before any work is done.
    ///
    /// # Errors
    /// A sentence naming the file.
    pub fn check(&self, input: &str) -> Result<(), Failure> {
        output::check(input, &[(&self.json, "--json")])
    }

    /// Prints `value` as JSON, or writes it where asked and prints it as text for so many columns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn show(&self, value: &impl Serialize, text: impl FnOnce(u16) -> String) -> Result<(), Failure> {
        if self.is_stdout() {
            output::say_json(value);
            return Ok(());
        }
        say!("{}", text(output::columns()).trim_end());
        let written = output::write(output::file(&self.json), || json::text(value))?;
        output::say_written(written.as_slice());
        Ok(())
    }
}
