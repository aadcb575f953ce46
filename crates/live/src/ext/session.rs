//! One policy at work: the adapter, what it amounts to, and the log.

use super::command::Command;
use super::error::LiveError;
use super::event::{Input, KernelEvent};
use super::host::{Host, Setting};
use super::tally::Tally;
use goodness_core::{Registered, Time};

/// A policy at work.
pub struct Session<P> {
    host: Host<P>,
    tally: Tally,
}

impl<P: Registered> Session<P> {
    /// Begins with a fresh policy.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn begin(setting: Setting, settings: P::Settings) -> Result<Session<P>, LiveError> {
        Ok(Session { host: Host::new(setting, settings), tally: Tally::default() })
    }

    /// What the kernel is to do about an event.
    ///
    /// # Errors
    /// When the policy's answer cannot be.
    pub fn happened(&mut self, event: &KernelEvent) -> Result<&[Command], LiveError> {
        self.tally.count(event);
        self.host.take(&Input::Kernel(*event), &mut ()).map_err(LiveError::Fault)
    }

    /// What the kernel is to do now that the policy's time has come.
    ///
    /// # Errors
    /// As [`Session::happened`].
    pub fn timer(&mut self, now: Time) -> Result<&[Command], LiveError> {
        self.host.take(&Input::Timer(now), &mut ()).map_err(LiveError::Fault)
    }

    /// When the policy wants [`Session::timer`].
    pub fn next_timer(&self) -> Option<Time> {
        self.host.next_timer()
    }

    /// The adapter.
    pub fn host(&self) -> &Host<P> {
        &self.host
    }

    /// What it amounts to.
    pub fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }
}
