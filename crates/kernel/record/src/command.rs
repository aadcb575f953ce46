//! Starts the recorded command.

use std::process::Command;

use goodness_sys::Running;

use super::Options;
use super::error::RecordError;

/// Starts the command of `options`.
///
/// # Errors
/// [`RecordError::Command`] when it cannot be started.
pub fn start(options: &Options) -> Result<Running, RecordError> {
    let mut command = Command::new(&options.command[0]);
    command.args(&options.command[1..]);
    if let Some(cpus) = &options.confine_to {
        goodness_sys::confine(&mut command, cpus);
    }
    let name = options.command[0].to_string_lossy().into_owned();
    command.spawn().map(Running::of).map_err(|source| RecordError::Command { name, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_command_is_named() {
        let command = vec!["no-such-program".into()];
        let error = start(&Options { command, ..Options::default() }).expect_err("not there");
        assert!(error.to_string().starts_with("cannot start `no-such-program`"), "{error}");
    }
}
