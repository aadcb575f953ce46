//! Recovery of recorded calls: messages through conduits, and turns that messages begin.

use super::Recovery;
use crate::conversations::Conversations;
use crate::message_turns::MessageTurns;
use crate::messages::Messages;
use crate::pools::Pools;
use crate::program::Instruction;
use crate::task_recovery::Ending;
use goodness_core::{TaskId, Time};
use goodness_trace::Call;

impl Recovery<'_> {
    /// Finds the messages between tasks that are replayed. Event loops of the network stay with their turns.
    pub(super) fn find_messages(&mut self) {
        self.messages = Messages::find(self.history, |task| self.is_kept(task) && !self.windows.has_sender(task));
        self.unknowns.unseen_messages = self.messages.unseen;
        // Conduits belong to tasks, services do not.
        if !self.messages.conduits.is_empty() {
            (self.pools, self.pooled) = (Pools::none(self.history), Vec::new());
        }
        // Services belong to no task, so their messages name no connection.
        if self.pools.all.is_empty() {
            self.turns = MessageTurns::find(self.history, &self.rule, |task| self.is_kept(task));
        }
        self.unknowns.unseen_messages += self.turns.unseen();
        // Requests of matched connections are told apart, and replayed one by one.
        self.requests.at_once.retain(|it| {
            let client = it.kind.client.as_deref().unwrap_or_default();
            self.turns.connections(self.history, client, &it.kind.server) < it.connections
        });
        self.windows.forget(|sender, program| self.turns.is_partner(sender, program));
        self.conversations = Conversations::new(self.history.participants.len()).after(self.turns.len());
    }

    /// `who` begins or ends a call.
    pub(super) fn transfer(&mut self, who: TaskId, call: Call, at: Time) {
        let recovery = &mut self.recoveries[who.index()];
        recovery.account(at);
        recovery.burst = recovery.burst.saturating_sub(self.messages.cost_at(self.record).0);
        recovery.is_in_call = !matches!(call, Call::Returned(_));
        if !recovery.signals_due.is_empty() {
            self.close_burst(who, at);
        }
        if let Some(transfer) = self.messages.at(self.record) {
            self.push(who, transfer, at);
        }
        let due: Vec<Instruction> = self.turns.at(self.record).collect();
        for instruction in due {
            match instruction {
                Instruction::BeginTurn(turn) => self.begin_message_turn(who, turn, at),
                _ => self.push(who, instruction, at),
            }
        }
    }

    /// `who` begins `turn`, unless it has begun it when its message woke it.
    fn begin_message_turn(&mut self, who: TaskId, turn: u32, at: Time) {
        let recovery = &mut self.recoveries[who.index()];
        if recovery.early == Some(Ending::Turn(Some(turn))) {
            recovery.early = None;
        }
        if recovery.turn.replace(turn) != Some(turn) {
            self.push(who, Instruction::BeginTurn(turn), at);
        }
    }

    /// A message has ended the wait of `task`, and `turn` begins, if one does. That it waited is an outcome.
    pub(super) fn woken_by_message(&mut self, task: TaskId, turn: Option<u32>, at: Time) {
        if let Some(turn) = turn {
            self.begin_message_turn(task, turn, at);
        }
        self.recoveries[task.index()].now_runnable(at);
    }
}
