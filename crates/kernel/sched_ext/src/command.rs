//! Commands to the BPF shim.

use goodness_core::Span;
use std::fmt;

/// Kind of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Run the task on the CPU, at most for this slice.
    Grant {
        /// CPU time until the kernel ends the turn; `None` for no limit.
        slice: Option<Span>,
    },
    /// End the turn of the task, which was granted the CPU.
    Preempt,
}

/// An order concerning one task and one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Command.
    pub order: Order,
    /// The shim's number of the task.
    pub key: u32,
    /// Its thread id.
    pub pid: u32,
    /// The task's last known turn at the time of the decision; the shim drops outdated commands.
    pub turn: u32,
    /// The kernel's number of the CPU.
    pub cpu: u16,
}

/// A slice that no tick uses up, as the kernel writes it.
const ENDLESS: u64 = u64::MAX;

impl Command {
    /// Bytes of a command as the shim reads it.
    pub const BYTES: usize = 24;

    /// The command as the shim reads it.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let (kind, slice) = match self.order {
            // The kernel replaces a slice of zero by its default.
            Order::Grant { slice } => (1u16, slice.map_or(ENDLESS, |span| span.0.max(1))),
            Order::Preempt => (2u16, 0),
        };
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&slice.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.key.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.pid.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.turn.to_ne_bytes());
        bytes[20..22].copy_from_slice(&self.cpu.to_ne_bytes());
        bytes[22..].copy_from_slice(&kind.to_ne_bytes());
        bytes
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command { order, pid, turn, cpu, .. } = self;
        match order {
            Order::Grant { slice: Some(span) } => write!(f, "run thread {pid} (turn {turn}) on CPU {cpu} for {span}"),
            Order::Grant { slice: None } => write!(f, "run thread {pid} (turn {turn}) on CPU {cpu}"),
            Order::Preempt => write!(f, "preempt thread {pid} (turn {turn}) on CPU {cpu}"),
        }
    }
}
