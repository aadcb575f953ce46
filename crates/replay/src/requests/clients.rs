//! Finds the clients and servers of a recording.
//!
//! Two user programs exchange messages if soft-interrupt edges ([`crate::causes`]) go from each to the other, or from a
//! task of the one whose answers are invisible ([`crate::answers`]). Wakings in task context do not count: in a
//! pipeline, both sides wake each other, too, without requests. The client is decided by the first rule that applies:
//!
//! 1. the recorded command, if the other is a server that was selected for the recording;
//! 2. the one with an event loop whose answers are invisible;
//! 3. the one that started during the recording, if the other did not;
//! 4. if both ran before the recording, the one with the higher thread id: clients start after their servers;
//! 5. the one that sent the first message.
//!
//! A selected server that exchanges messages with no program on this machine may have clients on other machines.
//!
//! A request that a server makes for its own client is part of that client's request.

use super::Kind;
use crate::answers::Windows;
use crate::causes::{Cause, Kinds, RECURRING, Rule};
use crate::history::History;
use crate::participants::{Participant, Role};
use goodness_core::TaskId;
use goodness_trace::Context;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest wakings from other machines for a decision. A choice.
const TELLING: u32 = 32;

/// Traffic between two programs, of which the first has the smaller number.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    from_first: u32,
    from_second: u32,
    first_spoke_first: bool,
}

/// The clients and their servers, by program.
#[derive(Debug)]
pub struct Clients {
    /// Kinds of requests by client and server.
    kinds: BTreeMap<(u32, u32), u32>,
    /// Kinds of requests from other machines, by server.
    elsewhere: BTreeMap<u32, u32>,
}

impl Clients {
    /// Finds them.
    #[must_use]
    pub fn find(history: &History, rule: &Rule, windows: &Windows) -> Clients {
        let program = |task: TaskId| history.participant(task).program;
        let mut traffic = BTreeMap::<(u32, u32), Traffic>::new();
        let mut held = BTreeSet::new();
        for (by, task) in messages(history, rule) {
            let (from, to) = (program(by), program(task));
            let is_first = from < to;
            let new = Traffic { from_first: 0, from_second: 0, first_spoke_first: is_first };
            let it = traffic.entry((from.min(to), from.max(to))).or_insert(new);
            *(if is_first { &mut it.from_first } else { &mut it.from_second }) += 1;
            if windows.of(by, to).is_some() {
                held.insert((from, to));
            }
        }
        let facts = Facts { programs: facts_of(history), held };
        let pairs: BTreeSet<(u32, u32)> = traffic.into_iter().filter_map(|(pair, it)| facts.client(pair, it)).collect();
        let is_server = |program: u32| pairs.iter().any(|(_, server)| *server == program);
        let outermost = pairs.iter().filter(|(client, _)| !is_server(*client));
        let kinds: BTreeMap<(u32, u32), u32> = outermost.zip(0..).map(|(pair, kind)| (*pair, kind)).collect();
        let is_local = |program: &u32| pairs.iter().any(|(client, server)| client == program || server == program);
        let elsewhere = served_from_elsewhere(history, rule, &facts).into_iter().filter(|it| !is_local(it));
        let elsewhere = elsewhere.zip(kinds.len() as u32..).collect();
        Clients { kinds, elsewhere }
    }

    /// The kind of requests from the one program to the other, if there are any.
    #[must_use]
    pub fn kind(&self, client: u32, server: u32) -> Option<u32> {
        self.kinds.get(&(client, server)).copied()
    }

    /// Client and server of the kinds on this machine, by program, with the kind.
    pub fn local(&self) -> impl Iterator<Item = ((u32, u32), u32)> {
        self.kinds.iter().map(|(pair, kind)| (*pair, *kind))
    }

    /// The kind of requests from other machines to this program, if there are any.
    #[must_use]
    pub fn kind_from_elsewhere(&self, server: u32) -> Option<u32> {
        self.elsewhere.get(&server).copied()
    }

    /// Number of kinds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kinds.len() + self.elsewhere.len()
    }

    /// True if there are no requests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The kinds by name.
    #[must_use]
    pub fn kinds(&self, history: &History) -> Vec<Kind> {
        let name = |program: u32| {
            let first = history.participants.iter().find(|it| it.program == program);
            first.map_or_else(String::new, |it| it.name.clone())
        };
        let local = self.kinds.keys().map(|(client, server)| (Some(name(*client)), *server));
        let all = local.chain(self.elsewhere.keys().map(|server| (None, *server)));
        all.map(|(client, server)| Kind { client, server: name(server) }).collect()
    }
}

/// The soft-interrupt edges between tasks of different programs: waker and woken task.
pub fn messages<'a>(history: &'a History, rule: &'a Rule) -> impl Iterator<Item = (TaskId, TaskId)> + 'a {
    history.records.iter().filter_map(|record| {
        let wake = history.waking(record).filter(|wake| wake.context == Context::SoftIrq)?;
        let Cause::Edge(by) = rule.judge(&wake, &mut Kinds::default()) else { return None };
        (history.participant(by).program != history.participant(wake.task).program).then_some((by, wake.task))
    })
}

/// Selected servers with clients on other machines: at least half of the wakings of their tasks are soft interrupts
/// that no task caused, at least [`TELLING`] of them, and fewer than half of those come with the tick.
fn served_from_elsewhere(history: &History, rule: &Rule, facts: &Facts) -> Vec<u32> {
    let mut wakings = BTreeMap::<u32, [u32; 3]>::new();
    for record in history.records {
        let Some(wake) = history.waking(record) else { continue };
        let program = history.participant(wake.task).program;
        if facts.programs[&program].role != Role::Selected {
            continue;
        }
        let [all, outside, on_tick] = wakings.entry(program).or_default();
        *all += 1;
        if rule.is_arrival(&wake) {
            *outside += 1;
            *on_tick += u32::from(rule.is_on_tick(record.at));
        }
    }
    let waits = wakings
        .into_iter()
        .filter(|(_, [all, outside, on_tick])| *outside >= TELLING && outside * 2 >= *all && on_tick * 2 < *outside);
    waits.map(|(program, _)| program).collect()
}

/// Facts about a program.
#[derive(Clone, Copy, Debug, Default)]
struct Program {
    role: Role,
    /// True if one of its tasks ran before the recording.
    is_old: bool,
    /// The lowest id of its threads.
    first_pid: Option<u32>,
}

/// Facts that tell clients from servers.
struct Facts {
    programs: BTreeMap<u32, Program>,
    /// Programs with an event loop that the answers of another do not wake.
    held: BTreeSet<(u32, u32)>,
}

fn facts_of(history: &History) -> BTreeMap<u32, Program> {
    let mut programs = BTreeMap::<u32, Program>::new();
    for Participant { program, role, parent, pid, .. } in &history.participants {
        let it = programs.entry(*program).or_default();
        it.is_old |= parent.is_none();
        it.first_pid = Some(it.first_pid.map_or(*pid, |first| first.min(*pid)));
        if *role != Role::Other {
            it.role = *role;
        }
    }
    programs
}

impl Facts {
    /// Client and server of two programs with this traffic, if they exchange messages.
    fn client(&self, (first, second): (u32, u32), traffic: Traffic) -> Option<(u32, u32)> {
        let is_held = |from, to| self.held.contains(&(from, to));
        let held = (is_held(first, second), is_held(second, first));
        if traffic.from_first.min(traffic.from_second) < RECURRING && held == (false, false) {
            return None;
        }
        let (one, other) = (self.programs[&first], self.programs[&second]);
        let first_asks = match ((one.role, other.role), held, (one.is_old, other.is_old)) {
            ((Role::Command, Role::Selected), _, _) => true,
            ((Role::Selected, Role::Command), _, _) => false,
            (_, (true, false), _) => true,
            (_, (false, true), _) => false,
            (_, _, (false, true)) => true,
            (_, _, (true, false)) => false,
            (_, _, (true, true)) if one.first_pid != other.first_pid => one.first_pid > other.first_pid,
            _ => traffic.first_spoke_first,
        };
        Some(if first_asks { (first, second) } else { (second, first) })
    }
}
