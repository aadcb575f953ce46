//! The end of a recovery: decides which tasks continue after the recording, and how.

use super::{Arrivals, Ends, Others, Recovery};
use crate::clock::TickGrid;
use crate::draft::Draft;
use crate::message_turns::by_turn;
use crate::paced::let_go_on;
use crate::participants::Participant;
use crate::program::{Instruction, Op};
use crate::read_together::divide_turns;
use crate::recovered::{Found, Recovered};
use crate::task_recovery::{Activity, TaskRecovery};
use goodness_core::{Span, Start, TaskId, Time};
use std::collections::BTreeSet;

impl Recovery<'_> {
    /// Ends the recovery: tasks that the end of the recording cut off start over, unless all tasks recorded on purpose
    /// have ended.
    pub(super) fn finish(mut self, grid: Option<TickGrid>) -> Recovered {
        let is_over = self.ends == Ends::Recorded || self.is_over();
        let mut stopped = BTreeSet::new();
        for index in 0..self.recoveries.len() {
            let who = TaskId(index as u32);
            match self.recoveries[index].activity {
                Activity::Unseen => {}
                Activity::Gone if is_over || !self.lasted(who) => {}
                Activity::Gone => self.take_back_end(who, &mut stopped),
                Activity::Blocked(since, _) => {
                    self.unknowns.waits_cut_by_end += 1;
                    self.cut(who, self.history.end.since(since), is_over);
                }
                _ => self.cut(who, Span::ZERO, is_over),
            }
        }
        self.let_clock_stop(&stopped);
        self.keep_free_locks();
        let kept = self.history.participants.iter().map(|c| self.others == Others::Compete || c.judged);
        let drafts = self.recoveries.into_iter().zip(0..).zip(kept);
        let mut drafts: Vec<Draft> = drafts.filter_map(|((it, task), kept)| draft(TaskId(task), it, kept)).collect();
        if !is_over {
            let_go_on(&mut drafts, &self.history.participants, &self.waits, self.history.length());
        }
        for draft in drafts.iter_mut().filter(|_| !self.turns.is_empty()) {
            draft.ops = by_turn(&draft.ops);
        }
        let passed_over = divide_turns(&mut drafts, self.conversations.begun());
        self.unknowns.inferred_answers = self.unknowns.inferred_answers.saturating_sub(passed_over);
        let found = Found {
            drafts,
            waits: self.waits,
            holders: self.handoffs.holders,
            answers: self.conversations.len(),
            messages: self.turns.len(),
            affinities: self.changes.affinities,
            groups: self.history.groups.clone(),
            transfer_costs: self.messages.costs,
            conduits: self.messages.conduits,
            is_over,
            taken: self.pooled.into_iter().map(|pooled| pooled.taken).collect(),
            pools: self.pools,
            requests: self.requests,
            unknowns: self.unknowns,
            grid,
            lap: self.history.end.since(self.laps_begin.unwrap_or(self.begin)),
        };
        found.finish(self.history)
    }

    /// True if the work ended before the recording: every task that was recorded on purpose has ended by itself. Tasks
    /// that lasted as long as the recording were stopped by a clock as a rule, like benchmarks that run for ten
    /// seconds. If most of the CPU time is theirs, the work has no end of its own.
    fn is_over(&self) -> bool {
        let seen = |(recovery, it): &(&TaskRecovery, &Participant)| it.judged && recovery.start.is_some();
        let (mut all, mut lasting, mut alive) = (0, 0, 0);
        for (index, (recovery, _)) in
            self.recoveries.iter().zip(&self.history.participants).enumerate().filter(|(_, it)| seen(it))
        {
            let time = recovery.cpu_time();
            all += time;
            lasting += if self.lasted(TaskId(index as u32)) { time } else { 0 };
            alive += u32::from(recovery.activity != Activity::Gone);
        }
        all > 0 && alive == 0 && lasting * 2 <= all
    }

    /// True if `who` lived from the first twentieth of the recording to its last.
    fn lasted(&self, who: TaskId) -> bool {
        let recovery = &self.recoveries[who.index()];
        let margin = Span(self.history.length().0 / 20);
        let ended = recovery.ended.unwrap_or(self.history.end);
        recovery.born.since(self.begin) <= margin && self.history.end.since(ended) <= margin
    }

    /// A clock stopped `who` at the end of the recording, so it continues. `stopped` collects the edges by which its
    /// end woke other tasks.
    fn take_back_end(&mut self, who: TaskId, stopped: &mut BTreeSet<u32>) {
        let recovery = &mut self.recoveries[who.index()];
        let ending = recovery.ops.split_off(recovery.ends_from.min(recovery.ops.len() - 1));
        for op in ending {
            match op.instruction() {
                Instruction::Post(edge) => drop(stopped.insert(edge)),
                Instruction::Exit => recovery.push(Instruction::Cut),
                instruction => recovery.push(instruction),
            }
        }
    }

    /// Keeps what concerns locks that are mostly free: waits for their holders, and cycles of these.
    fn keep_free_locks(&mut self) {
        let program_of: Vec<u32> = self.history.participants.iter().map(|it| it.program).collect();
        self.handoffs.keep_free_locks(&program_of);
        let known = &self.handoffs.holders;
        let holders: BTreeSet<TaskId> = known.values().map(|holder| holder.task).collect();
        for (recovery, task) in self.recoveries.iter_mut().zip(0..) {
            for op in &mut recovery.ops {
                if let Instruction::WaitHeld(edge) = op.instruction()
                    && !known.contains_key(&edge)
                {
                    *op = Op::new(Instruction::Wait(edge));
                }
            }
            if !holders.contains(&TaskId(task)) {
                recovery.ops.retain(|op| !matches!(op.instruction(), Instruction::Cycle(_)));
            }
        }
    }

    /// A task that waited for the end of a task stopped by a clock waits as long as in the recording.
    fn let_clock_stop(&mut self, stopped: &BTreeSet<u32>) {
        for op in self.recoveries.iter_mut().flat_map(|recovery| &mut recovery.ops) {
            use Instruction::{Wait, WaitHeld, WaitUninterruptible};
            if let Wait(edge) | WaitHeld(edge) | WaitUninterruptible(edge) = op.instruction()
                && stopped.contains(&edge)
            {
                *op = Op::new(Instruction::Sleep(self.waits[edge as usize]));
            }
        }
    }

    /// The end of the recording cuts `who` off, after a wait of `waited` so far.
    fn cut(&mut self, who: TaskId, waited: Span, is_over: bool) {
        if !is_over && self.pools.of(who).is_none() {
            self.rest_before_next_lap(who, waited);
        }
        self.push(who, Instruction::Cut, self.history.end);
    }

    /// `who` continues with its next lap, after a sleep: the part of its last wait that the recording shows (`cut`),
    /// plus the time from the beginning of a lap until it was first runnable. If its lap begins in a wait, the earlier
    /// part of that wait is subtracted.
    fn rest_before_next_lap(&mut self, who: TaskId, cut: Span) {
        let recovery = &self.recoveries[who.index()];
        let begin = self.laps_begin.unwrap_or(self.begin);
        let first = match (recovery.lap_begins, recovery.start) {
            (Some(_), _) => Span::ZERO,
            (None, Some(Start::WokenAt(at))) => (self.begin + Span(at.0)).since(begin),
            (None, _) if self.lasted(who) => Span::ZERO,
            (None, _) => recovery.born.since(begin),
        };
        let cut = Span(cut.0.saturating_sub(recovery.lap_begins.unwrap_or_default().0));
        let rest = match self.arrivals {
            Arrivals::Delays => Instruction::Sleep(cut + first),
            Arrivals::Recorded => Instruction::SleepUntil(Time::ZERO + self.history.length() + first),
        };
        if cut + first > Span::ZERO {
            self.push(who, rest, self.history.end);
        }
    }
}

/// The draft of a task that is kept, if it was seen.
fn draft(recorded: TaskId, recovery: TaskRecovery, is_kept: bool) -> Option<Draft> {
    let start = recovery.start.filter(|_| is_kept)?;
    Some(Draft { recorded, start, cpu: recovery.cpu, ops: recovery.ops, timed: recovery.timed })
}
