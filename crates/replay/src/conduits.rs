//! Conduits: pipes and sockets of a replay, whose buffers hold what was sent and not yet received.
//!
//! A receiver waits until what it received in the recording is there, whoever sent it. A sender waits while the buffer
//! is full. Kernels let it go on not with the first free byte but later: a socket wakes all its senders once a quarter
//! is left, a pipe one sender once a page is free, which then wakes the next. This decides how often such work
//! switches: if every free byte woke a sender, sender and receiver would take turns at each message.
//!
//! **A full buffer cannot deadlock a replay.** A sender waits for room only if the receiver, or the receiver of the
//! conduit that this one waits for in turn, and so on, is neither waiting for anything else nor at its end. A receiver
//! that begins such a wait lets its senders go on. So in a replay that stands still nobody waits for room, and
//! [`super::recover`](mod@crate::recover) proves the rest: the first incomplete instruction in recorded order can
//! proceed, because all that its receiver needs was sent before.

use goodness_core::{Channel, Span, Start, Step, TaskId};
use std::sync::{Arc, Mutex, PoisonError};

/// CPU time that calls take beyond those that neither wake nor wait: medians of the recording, taken out of its bursts.
/// A replay charges them where it wakes and waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Of a call that wakes another task.
    pub wake: Span,
    /// Of a call that waits.
    pub wait: Span,
}

/// A conduit as the recording shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conduit {
    /// The task that receives, by its place in the workload.
    pub receiver: TaskId,
    /// Bytes from which on senders wait; `u64::MAX` if none ever waited.
    pub capacity: u64,
    /// Bytes left at which waiting senders are woken.
    pub low: u64,
    /// True if all of them are woken at once.
    pub wakes_all: bool,
    /// True if senders may end for good while the receiver continues: later laps do not wait for them.
    pub is_cut_off: bool,
}

/// State of a conduit.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    held: u64,
    /// Bytes that the receiver waits for; 0 if it does not.
    need: u64,
    /// True from a wait of the receiver until it has received.
    has_waited: bool,
    /// Senders that wait for room.
    waiting: u32,
    /// Senders that were woken and have not gone on yet.
    woken: u32,
}

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// It runs, waits for a CPU, or sleeps until a time.
    Works,
    /// It waits for room in this conduit.
    AwaitsRoom(u32),
    /// It waits for a message, or for something else on this channel.
    Waits(Channel),
    /// It has not begun, or has ended.
    IsAway,
}

#[derive(Debug)]
struct State {
    buffers: Vec<Buffer>,
    doing: Vec<Doing>,
    /// The task that waited last on each channel.
    waiter: Vec<TaskId>,
}

/// The conduits of a run.
#[derive(Debug)]
pub struct Conduits {
    specs: Arc<[Conduit]>,
    costs: Costs,
    /// The first of two channels for each conduit: on one its receiver waits, on the other its senders.
    channels: Channel,
    /// Locked because behaviours may move between threads. A run is one thread, so the lock is never contended.
    state: Mutex<State>,
}

impl Conduits {
    /// Empty conduits, with channels from `channels` on; `starts` says how each task starts.
    #[must_use]
    pub fn new(
        (specs, costs): (Arc<[Conduit]>, Costs),
        channels: Channel,
        starts: impl Iterator<Item = Start>,
    ) -> Conduits {
        let begun = |start| if start == Start::Forked { Doing::IsAway } else { Doing::Works };
        let waiter = vec![TaskId(u32::MAX); if specs.is_empty() { 0 } else { channels.0 as usize }];
        let (buffers, doing) = (vec![Buffer::default(); specs.len()], starts.map(begun).collect());
        Conduits { specs, costs, channels, state: Mutex::new(State { buffers, doing, waiter }) }
    }

    /// Number of channels that conduits use.
    #[must_use]
    pub fn channels(specs: &[Conduit]) -> usize {
        2 * specs.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// True if the receiver of `conduit` need not wait in later laps.
    #[must_use]
    pub fn is_cut_off(&self, conduit: u32) -> bool {
        self.specs[conduit as usize].is_cut_off
    }

    fn letters(&self, conduit: u32) -> Channel {
        Channel(self.channels.0 + 2 * conduit)
    }

    fn room(&self, conduit: u32) -> Channel {
        Channel(self.channels.0 + 2 * conduit + 1)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `task` continues.
    pub fn works(&self, task: TaskId) {
        let doing = &mut self.state().doing[task.index()];
        if !matches!(doing, Doing::AwaitsRoom(_)) {
            *doing = Doing::Works;
        }
    }

    /// `task` is about to take `step`, which concerns no conduit. Adds to `steps` what it does before.
    pub fn announce(&self, task: TaskId, step: &Step, steps: &mut Vec<Step>) {
        let state = &mut *self.state();
        match step {
            Step::Wait(channel) | Step::WaitUninterruptible(channel) => {
                self.let_senders_go_on(state, task, None, steps);
                state.doing[task.index()] = Doing::Waits(*channel);
                state.waiter[channel.0 as usize] = task;
            }
            Step::Exit => {
                self.let_senders_go_on(state, task, None, steps);
                state.doing[task.index()] = Doing::IsAway;
            }
            Step::Wake(channel) => {
                let waiter = state.waiter[channel.0 as usize];
                if let Some(doing) = state.doing.get_mut(waiter.index()).filter(|it| **it == Doing::Waits(*channel)) {
                    *doing = Doing::Works;
                }
            }
            Step::Fork(child) => state.doing[child.0 as usize] = Doing::Works,
            _ => {}
        }
    }

    /// `task` sends `bytes`. Returns false if it waits first and has to try again then. Adds to `steps` what it does
    /// before.
    #[must_use]
    pub fn send(&self, task: TaskId, conduit: u32, bytes: u64, steps: &mut Vec<Step>) -> bool {
        let (state, spec) = (&mut *self.state(), self.specs[conduit as usize]);
        let before = std::mem::replace(&mut state.doing[task.index()], Doing::Works);
        let has_waited = before == Doing::AwaitsRoom(conduit);
        state.buffers[conduit as usize].woken -= u32::from(has_waited);
        if state.buffers[conduit as usize].held >= spec.capacity && self.may_wait_for_room(state, task, conduit) {
            state.doing[task.index()] = Doing::AwaitsRoom(conduit);
            state.buffers[conduit as usize].waiting += 1;
            steps.push(Step::Wait(self.room(conduit)));
            return false;
        }
        let buffer = &mut state.buffers[conduit as usize];
        buffer.held += bytes;
        if has_waited {
            charge(self.costs.wait, steps);
        }
        if buffer.need > 0 && buffer.held >= buffer.need {
            buffer.need = 0;
            state.doing[spec.receiver.index()] = Doing::Works;
            charge(self.costs.wake, steps);
            steps.push(Step::WakeSync(self.letters(conduit)));
        }
        if has_waited && !spec.wakes_all && buffer.held < spec.capacity {
            self.wake_senders(buffer, conduit, 1, steps);
        }
        true
    }

    /// `task` receives `bytes`. Returns false if it waits first and has to try again then. Adds to `steps` what it
    /// does before.
    #[must_use]
    pub fn receive(&self, task: TaskId, conduit: u32, bytes: u64, steps: &mut Vec<Step>) -> bool {
        let (state, spec) = (&mut *self.state(), self.specs[conduit as usize]);
        let buffer = &mut state.buffers[conduit as usize];
        if buffer.held < bytes {
            (buffer.need, buffer.has_waited) = (bytes, true);
            self.let_senders_go_on(state, task, Some(conduit), steps);
            state.doing[task.index()] = Doing::Waits(self.letters(conduit));
            steps.push(Step::Wait(self.letters(conduit)));
            return false;
        }
        buffer.held -= bytes;
        if std::mem::take(&mut buffer.has_waited) {
            charge(self.costs.wait, steps);
        }
        // While one is on its way, it wakes the next.
        if buffer.held <= spec.low && (spec.wakes_all || buffer.woken == 0) {
            self.wake_senders(buffer, conduit, if spec.wakes_all { u32::MAX } else { 1 }, steps);
        }
        true
    }

    fn wake_senders(&self, buffer: &mut Buffer, conduit: u32, most: u32, steps: &mut Vec<Step>) {
        let count = buffer.waiting.min(most);
        buffer.waiting -= count;
        buffer.woken += count;
        charge(self.costs.wake * u64::from(count), steps);
        steps.extend((0..count).map(|_| Step::WakeSync(self.room(conduit))));
    }

    /// `task` is about to wait, for `conduit` or something else: nobody may wait for room that it would have to make.
    fn let_senders_go_on(&self, state: &mut State, task: TaskId, conduit: Option<u32>, steps: &mut Vec<Step>) {
        for (it, spec) in (0..).zip(self.specs.iter()).filter(|(_, spec)| spec.receiver == task) {
            let buffer = &mut state.buffers[it as usize];
            // A sender on its way will send what the receiver waits for.
            if conduit != Some(it) || buffer.woken == 0 {
                self.wake_senders(buffer, it, if spec.wakes_all || conduit != Some(it) { u32::MAX } else { 1 }, steps);
            }
        }
    }

    /// True if somebody will make room in `conduit` whatever `task` does.
    fn may_wait_for_room(&self, state: &State, task: TaskId, conduit: u32) -> bool {
        let mut full = conduit;
        for _ in 0..=self.specs.len() {
            let receiver = self.specs[full as usize].receiver;
            match state.doing.get(receiver.index()) {
                _ if receiver == task => return false,
                Some(Doing::Works) => return true,
                Some(Doing::AwaitsRoom(next)) => full = *next,
                Some(Doing::Waits(_) | Doing::IsAway) | None => return false,
            }
        }
        false
    }
}

fn charge(cost: Span, steps: &mut Vec<Step>) {
    if cost > Span::ZERO {
        steps.push(Step::Compute(cost));
    }
}
