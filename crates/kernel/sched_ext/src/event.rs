//! Events from the BPF shim, one per change of one of our tasks.

use goodness_core::Time;

/// Kind of event, with the shim's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A task came under the policy: it was forked, or switched to the class.
    Created = 1,
    /// It became runnable, or is runnable again after a change.
    Ready = 2,
    /// The task started to execute: the first time since its grant, or again after another class had the CPU.
    Running = 3,
    /// The task stopped executing and is still runnable.
    Stopping = 4,
    /// Its turn is over and it waits for another grant.
    TurnEnded = 5,
    /// The task is no longer runnable, or was dequeued for a change.
    Left = 6,
    /// The timer interrupt, while it runs.
    Tick = 7,
    /// The task left the policy.
    Gone = 8,
    /// The task became runnable with CPUs outside the policy in its affinity; the kernel runs it.
    Away = 9,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Kind; 9] = [
        Kind::Created,
        Kind::Ready,
        Kind::Running,
        Kind::Stopping,
        Kind::TurnEnded,
        Kind::Left,
        Kind::Tick,
        Kind::Gone,
        Kind::Away,
    ];

    /// The kind with this number.
    #[must_use]
    pub fn numbered(number: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Its name in logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Created => "created",
            Kind::Ready => "ready",
            Kind::Running => "running",
            Kind::Stopping => "stopping",
            Kind::TurnEnded => "turn-ended",
            Kind::Left => "left",
            Kind::Tick => "tick",
            Kind::Gone => "gone",
            Kind::Away => "away",
        }
    }
}

/// Bits of [`KernelEvent::flags`].
pub mod flag {
    /// `Ready`: woken from sleep.
    pub const WAKEUP: u16 = 1;
    /// `Ready`: the waker is about to sleep.
    pub const SYNC: u16 = 2;
    /// `Ready`: woken by an interrupt.
    pub const BY_INTERRUPT: u16 = 4;
    /// `Stopping`, `TurnEnded`: it yielded.
    pub const YIELDED: u16 = 8;
    /// `Left`: the task was executing.
    pub const WAS_RUNNING: u16 = 16;
    /// `Left`: it sleeps; otherwise its attributes change.
    pub const TO_SLEEP: u16 = 32;
    /// `Left`: the task ended.
    pub const DEAD: u16 = 64;
    /// `Left`: the sleep is uninterruptible.
    pub const UNINTERRUPTIBLE: u16 = 128;
}

/// One event. CPU numbers are the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelEvent {
    /// Kind.
    pub kind: Kind,
    /// Time on the kernel's monotonic clock.
    pub at: Time,
    /// CPU time of the task so far, in ns.
    pub ran: u64,
    /// CPUs it may use, of the first 64.
    pub mask: u64,
    /// The shim's number for the task; a new one each time the task joins the policy.
    pub key: u32,
    /// Thread id.
    pub pid: u32,
    /// Process id.
    pub tgid: u32,
    /// Number of events about the task so far; commands repeat it.
    pub turn: u32,
    /// `Created`: the parent's key plus one; `Ready`: the waker's; 0 if it is none of our tasks.
    pub other: u32,
    /// The CPU of the task.
    pub cpu: u16,
    /// The CPU on which it happened.
    pub on: u16,
    /// See [`flag`].
    pub flags: u16,
    /// Nice.
    pub nice: i8,
    /// The name of the thread, padded with zeroes.
    pub comm: [u8; 16],
}

/// Bytes of an event as the shim writes it.
pub const EVENT_BYTES: usize = 72;

impl KernelEvent {
    /// The event in `bytes`; `None` when it is none of this shim's.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<KernelEvent> {
        let bytes: &[u8; EVENT_BYTES] = bytes.get(..EVENT_BYTES)?.try_into().ok()?;
        let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let short = |at: usize| u16::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        Some(KernelEvent {
            kind: Kind::numbered(bytes[50])?,
            at: Time(long(0)),
            ran: long(8),
            mask: long(16),
            key: word(24),
            pid: word(28),
            tgid: word(32),
            turn: word(36),
            other: word(40),
            cpu: short(44),
            on: short(46),
            flags: short(48),
            nice: bytes[51] as i8,
            comm: std::array::from_fn(|i| bytes[56 + i]),
        })
    }

    /// True if all bits of `flags` are set.
    #[must_use]
    pub const fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    /// The name of the thread.
    #[must_use]
    pub fn name(&self) -> String {
        let length = self.comm.iter().position(|byte| *byte == 0).unwrap_or(self.comm.len());
        String::from_utf8_lossy(&self.comm[..length]).into_owned()
    }
}

/// Input of the adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Something happened in the kernel.
    Kernel(KernelEvent),
    /// The policy's timer is due.
    Timer(Time),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_from_the_places_where_the_shim_writes_it() {
        let mut bytes = [0u8; EVENT_BYTES];
        bytes[..8].copy_from_slice(&7u64.to_ne_bytes());
        bytes[24..28].copy_from_slice(&3u32.to_ne_bytes());
        bytes[44..46].copy_from_slice(&1u16.to_ne_bytes());
        bytes[48..50].copy_from_slice(&(flag::WAKEUP | flag::SYNC).to_ne_bytes());
        bytes[50] = Kind::Ready as u8;
        bytes[51] = (-5i8) as u8;
        bytes[56..59].copy_from_slice(b"hog");
        let event = KernelEvent::decode(&bytes).expect("an event");
        assert_eq!((event.at, event.key, event.cpu, event.nice), (Time(7), 3, 1, -5));
        assert!(event.has(flag::SYNC) && !event.has(flag::DEAD));
        assert_eq!((event.kind, event.name().as_str()), (Kind::Ready, "hog"));
    }

    #[test]
    fn a_short_event_and_an_unknown_kind_are_none() {
        assert_eq!(KernelEvent::decode(&[0; 10]), None);
        assert_eq!(KernelEvent::decode(&[0; EVENT_BYTES]), None);
        assert!(Kind::ALL.iter().all(|kind| Kind::numbered(*kind as u8) == Some(*kind)));
    }
}
