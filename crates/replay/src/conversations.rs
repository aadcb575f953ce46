//! Event loops: tasks that communicate with several peers and continue with whichever replies first.
//!
//! The programme of an event loop is split into *turns*. Each turn starts with a reply and contains the loop's reaction
//! to it. In a replay the loop continues with any turn whose reply has arrived (`loop_rounds`). A peer replies
//! by waiting again after the loop has addressed it. Three rules assign work to replies. They assume that the loop
//! serves peers in the order in which they become ready, as with `epoll`:
//!
//! 1. If the loop addresses a peer that has replied, that reply starts a new turn.
//! 2. Exception: the loop slept while that reply was there, or has passed it over twice: it served a later reply, and
//!    after that one a reply which is later still. Then it was not waiting for that reply: it acts by itself (for
//!    example a new request to an idle worker), and its current turn continues. Replies in reverse are no exception,
//!    however many, since only the first of them is later than all before it. A loop that reads messages together
//!    passes nobody over (`read_together`).
//! 3. If the loop slept and a peer woke it, that message starts a new turn, unless rule 1 names another reply for the
//!    loop's next action.
//!
//! Turns of one peer stay in order, because each has its own reply. [`super::answers`] decides which tasks are event
//! loops.

use goodness_core::{TaskId, Time};

/// Number of a message that may start a turn, in order of recovery.
pub type Answer = u32;

/// A turn that began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The event loop.
    pub by: TaskId,
    /// The message that started the turn.
    pub answer: Answer,
    /// Time at which that message was there.
    pub came: Time,
    /// Time of the loop's first action in the turn.
    pub acted: Time,
    /// Time at which the loop last went to sleep.
    pub slept: Time,
    /// True if it was passed over: it starts a turn only if the loop reads messages together
    /// (`read_together`).
    pub is_passed_over: bool,
}

/// State of one task in conversations.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// As a peer: the loop that addressed it last.
    asked_by: Option<TaskId>,
    /// As a peer: its last reply and the time, if the loop has not addressed it since.
    answered: Option<(Answer, Time)>,
    /// As a loop: time of the latest reply it has served.
    served: Time,
    /// As a loop: time of the latest reply it had served when it served that one. Earlier ones served since do not
    /// count.
    before: Time,
    /// As a loop: time it last went to sleep.
    slept: Time,
    /// As a loop: the message that ended its sleep, if it has done nothing since.
    woken_by: Option<(Answer, Time)>,
}

/// The conversations of all event loops, up to the current position in the recording.
#[derive(Clone, Debug)]
pub struct Conversations {
    parts: Vec<Part>,
    answers: Answer,
    begun: Vec<Begun>,
}

impl Conversations {
    /// The initial state for `tasks` tasks, without any message.
    #[must_use]
    pub fn new(tasks: usize) -> Conversations {
        Conversations { parts: vec![Part::default(); tasks], answers: 0, begun: Vec::new() }
    }

    /// The same, with the numbers of messages from `messages` on.
    #[must_use]
    pub fn after(self, messages: Answer) -> Conversations {
        Conversations { answers: messages, ..self }
    }

    /// Registers a message that may start a turn.
    pub fn message(&mut self) -> Answer {
        self.answers += 1;
        self.answers - 1
    }

    /// `peer` goes to sleep. Returns its reply, if a loop had addressed it.
    pub fn rests(&mut self, peer: TaskId, at: Time) -> Option<Answer> {
        self.parts[peer.index()].asked_by?;
        let answer = self.message();
        self.parts[peer.index()].answered = Some((answer, at));
        Some(answer)
    }

    /// The event loop `task` had slept since `since`; `message` woke it at `at`.
    pub fn woken(&mut self, task: TaskId, since: Time, message: Answer, at: Time) {
        let part = &mut self.parts[task.index()];
        part.slept = since;
        part.woken_by = Some((message, at));
    }

    /// `task` slept since `since` and was woken from elsewhere.
    pub fn slept(&mut self, task: TaskId, since: Time) {
        self.parts[task.index()].slept = since;
    }

    /// The event loop `task` addresses `peer` at `acted`. Returns the reply that starts a new turn, if any.
    pub fn speaks(&mut self, task: TaskId, peer: TaskId, acted: Time) -> Option<Answer> {
        let part = &mut self.parts[peer.index()];
        let (asked_by, answered) = (part.asked_by.replace(task), part.answered.take());
        let (answer, came) = answered.filter(|_| asked_by == Some(task))?;
        let part = &mut self.parts[task.index()];
        if came <= part.slept {
            return None;
        }
        let is_passed_over = came < part.served && came <= part.before;
        if came >= part.served {
            (part.served, part.before) = (came, part.served);
        }
        part.woken_by = None;
        self.begun.push(Begun { by: task, answer, came, acted, slept: part.slept, is_passed_over });
        Some(answer)
    }

    /// Handles an action of `task` at `acted`. Returns the message that starts a new turn: the one that woke it, unless
    /// a reply has started one since.
    pub fn acts(&mut self, task: TaskId, acted: Time) -> Option<Answer> {
        let part = &mut self.parts[task.index()];
        let (answer, came) = part.woken_by.take()?;
        self.begun.push(Begun { by: task, answer, came, acted, slept: part.slept, is_passed_over: false });
        Some(answer)
    }

    /// The message that woke `task` starts no turn: something else did.
    pub fn forget_message(&mut self, task: TaskId) {
        self.parts[task.index()].woken_by = None;
    }

    /// The turns that began, in order of time.
    #[must_use]
    pub fn begun(&self) -> &[Begun] {
        &self.begun
    }

    /// Number of replies and messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.answers as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOP: TaskId = TaskId(0);
    const NOW: Time = Time(50);

    /// The loop addresses workers 1 and 2, which reply at 10 and 20.
    fn both_answered() -> (Conversations, Answer, Answer) {
        let mut conversations = Conversations::new(3);
        assert_eq!(conversations.rests(TaskId(1), Time(5)), None, "nobody has spoken to it");
        assert_eq!(
            (conversations.speaks(LOOP, TaskId(1), NOW), conversations.speaks(LOOP, TaskId(2), NOW)),
            (None, None),
            "nothing to reply to"
        );
        let first = conversations.rests(TaskId(1), Time(10)).expect("an answer");
        let second = conversations.rests(TaskId(2), Time(20)).expect("an answer");
        (conversations, first, second)
    }

    #[test]
    fn a_loop_that_speaks_again_to_who_has_answered_begins_a_turn() {
        let (mut conversations, first, second) = both_answered();
        assert_eq!(conversations.speaks(LOOP, TaskId(1), NOW), Some(first));
        assert_eq!(conversations.speaks(LOOP, TaskId(1), NOW), None, "not answered yet");
        assert_eq!(conversations.speaks(LOOP, TaskId(2), NOW), Some(second));
    }

    #[test]
    fn answers_that_were_read_together_begin_turns_in_any_order() {
        let (mut conversations, first, second) = both_answered();
        assert_eq!(conversations.speaks(LOOP, TaskId(2), NOW), Some(second));
        assert_eq!(conversations.speaks(LOOP, TaskId(1), NOW), Some(first));
    }

    #[test]
    fn who_was_passed_over_is_known() {
        let (mut conversations, _, second) = both_answered();
        assert_eq!(conversations.speaks(LOOP, TaskId(2), NOW), Some(second));
        let third = conversations.rests(TaskId(2), Time(30));
        assert_eq!(conversations.speaks(LOOP, TaskId(2), NOW), third);
        assert!(conversations.speaks(LOOP, TaskId(1), NOW).is_some());
        let passed: Vec<bool> = conversations.begun().iter().map(|turn| turn.is_passed_over).collect();
        assert_eq!(passed, [false, false, true], "two later answers were served before");
    }

    #[test]
    fn answers_in_reverse_pass_nobody_over_however_many() {
        let mut conversations = Conversations::new(6);
        for (peer, at) in [(1, 10), (2, 20), (3, 30), (4, 25), (5, 40)] {
            conversations.speaks(LOOP, TaskId(peer), NOW);
            conversations.rests(TaskId(peer), Time(at));
        }
        for peer in [3, 2, 1, 5, 4] {
            assert!(conversations.speaks(LOOP, TaskId(peer), NOW).is_some());
        }
        let passed: Vec<bool> = conversations.begun().iter().map(|turn| turn.is_passed_over).collect();
        assert_eq!(passed[..3], [false; 3], "30, 20, 10");
        assert_eq!(passed[3..], [false, true], "25 was passed over by 30 and 40");
    }

    #[test]
    fn a_loop_that_slept_beside_an_answer_was_not_waiting_for_it() {
        let (mut conversations, ..) = both_answered();
        conversations.slept(LOOP, Time(15));
        assert_eq!(conversations.speaks(LOOP, TaskId(1), NOW), None);
        assert!(conversations.speaks(LOOP, TaskId(2), NOW).is_some(), "that one came while it slept");
    }

    #[test]
    fn the_message_that_woke_the_loop_begins_a_turn_unless_an_answer_does() {
        let (mut conversations, first, _) = both_answered();
        let message = conversations.message();
        conversations.woken(LOOP, Time(7), message, Time(8));
        assert_eq!(conversations.clone().acts(LOOP, NOW), Some(message));
        let mut other = conversations.clone();
        other.forget_message(LOOP);
        assert_eq!((other.acts(LOOP, NOW), other.begun().len()), (None, conversations.begun().len()));
        assert_eq!(conversations.speaks(LOOP, TaskId(1), NOW), Some(first));
        assert_eq!(conversations.acts(LOOP, NOW), None);
    }

    #[test]
    fn the_last_rest_before_the_loop_speaks_again_is_the_answer() {
        let (mut conversations, ..) = both_answered();
        let later = conversations.rests(TaskId(1), Time(30));
        assert_eq!(conversations.speaks(LOOP, TaskId(1), NOW), later);
    }
}
