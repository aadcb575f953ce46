//! A running policy: adapter, totals and log.

use super::command::Command;
use super::error::LiveError;
use super::event::{Input, KernelEvent};
use super::host::{Host, Setting};
use super::log::LogWriter;
use super::tally::Tally;
use goodness_core::{MadePolicy, Time};

/// A policy at work.
pub struct Session {
    host: Host,
    tally: Tally,
    log: Option<LogWriter>,
}

impl Session {
    /// Starts with a fresh policy.
    pub fn begin(setting: Setting, policy: MadePolicy, log: Option<LogWriter>) -> Session {
        Session { host: Host::new(setting, policy), tally: Tally::default(), log }
    }

    /// Handles an event and returns the commands for the kernel.
    ///
    /// # Errors
    /// An invalid answer of the policy, or a log that cannot be written.
    pub fn happened(&mut self, event: &KernelEvent) -> Result<&[Command], LiveError> {
        self.tally.count(event);
        self.take(Input::Kernel(*event))
    }

    /// Calls the policy's timer and returns the commands for the kernel.
    ///
    /// # Errors
    /// As [`Session::happened`].
    pub fn timer(&mut self, now: Time) -> Result<&[Command], LiveError> {
        self.take(Input::Timer(now))
    }

    fn take(&mut self, input: Input) -> Result<&[Command], LiveError> {
        let commands = self.host.take(&input, &mut ()).map_err(LiveError::Answer)?;
        if let Some(log) = &mut self.log {
            log.add(&input, commands)?;
        }
        Ok(commands)
    }

    /// Writes the remaining log.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn finish(&mut self) -> Result<(), LiveError> {
        self.log.take().map_or(Ok(()), LogWriter::finish)
    }

    /// Time at which the policy wants [`Session::timer`].
    pub fn next_timer(&self) -> Option<Time> {
        self.host.next_timer()
    }

    /// The adapter.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Totals.
    pub fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }
}
