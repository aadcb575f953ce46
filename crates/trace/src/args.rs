//! The fields of scheduling events, in the kernel's `key=value` rendering and in the `comm:pid [prio]` rendering
//! of libtraceevent's plugin (trace-cmd, perf). Fields are taken from the end, since only names may hold spaces,
//! `=`, `:` or brackets, and names come first.

use crate::left::Left;
use crate::raw::{Party, RawWhat};
use crate::scan::{cpu_number, last_pair, signed, split_last, thread_id};
use crate::tasks::Comm;

/// What the event called `name` says; `Some(RawWhat::Other)` for events that are not about scheduling, `None` when
/// a scheduling event's fields cannot be read.
pub(crate) fn event(name: &[u8], args: &[u8]) -> Option<RawWhat> {
    let args = args.trim_ascii_end();
    match name {
        b"sched_switch" => switch(args),
        b"sched_waking" => wake(args, |who, target| RawWhat::Waking { who, target }),
        b"sched_wakeup" => wake(args, |who, target| RawWhat::Wakeup { who, target }),
        b"sched_wakeup_new" => wake(args, |who, target| RawWhat::WakeupNew { who, target }),
        b"sched_process_fork" => fork(args),
        b"sched_process_exec" => exec(args),
        b"sched_process_exit" => Fields::read(args).map(|f| RawWhat::Exit { who: f.who }),
        b"sched_migrate_task" => {
            let fields = Fields::read(args)?;
            Some(RawWhat::Migrate { who: fields.who, from: fields.orig?, to: fields.dest? })
        }
        b"tracing_mark_write" | b"print" => Some(RawWhat::Marker(String::from_utf8_lossy(args).into())),
        _ => Some(RawWhat::Other),
    }
}

/// Fields shared by the events that name one task.
#[derive(Default)]
struct Fields {
    who: Party,
    target: Option<u32>,
    orig: Option<u32>,
    dest: Option<u32>,
    failed: bool,
}

impl Fields {
    fn read(args: &[u8]) -> Option<Fields> {
        if !args.starts_with(b"comm=") {
            return Fields::pretty(args);
        }
        let mut fields = Fields::default();
        let mut rest = args;
        loop {
            let (key, value) = last_pair(&mut rest)?;
            match key {
                b"pid" => {
                    fields.who.pid = thread_id(value)?;
                    fields.who.comm = Comm::new(rest.strip_prefix(b"comm=")?);
                    return Some(fields);
                }
                b"prio" => fields.who.prio = signed(value)?,
                b"target_cpu" => fields.target = Some(cpu_number(value)?),
                b"orig_cpu" => fields.orig = Some(cpu_number(value)?),
                b"dest_cpu" => fields.dest = Some(cpu_number(value)?),
                b"success" => fields.failed = value == b"0",
                _ => {}
            }
        }
    }

    /// `comm:pid [prio] success=1 CPU:000`, the last two optional.
    fn pretty(args: &[u8]) -> Option<Fields> {
        let mut fields = Fields::default();
        let mut rest = args;
        loop {
            let (before, token) = split_last(rest, b" ")?;
            if let Some(number) = token.strip_prefix(b"CPU:") {
                fields.target = Some(cpu_number(number)?);
            } else if let Some(value) = token.strip_prefix(b"success=") {
                fields.failed = value == b"0";
            } else {
                fields.who = party(rest)?;
                return Some(fields);
            }
            rest = before.trim_ascii_end();
        }
    }
}

/// `comm:pid [prio]`.
fn party(text: &[u8]) -> Option<Party> {
    let (front, prio) = split_last(text, b" [")?;
    let (comm, id) = split_last(front, b":")?;
    Some(Party {
        pid: thread_id(id)?,
        prio: signed(prio.strip_suffix(b"]")?)?,
        comm: Comm::new(comm.trim_ascii_start()),
    })
}

fn switch(args: &[u8]) -> Option<RawWhat> {
    if !args.starts_with(b"prev_comm=") {
        let (prev, next) = split_last(args, b" ==> ")?;
        let (prev, state) = split_last(prev, b" ")?;
        return Some(RawWhat::Switch { prev: party(prev)?, next: party(next)?, left: Left::parse(state)? });
    }
    let (prev, next) = split_last(args, b" ==> next_comm=")?;
    let (mut prev, mut next) = (prev, next);
    let to_prio = signed(expect(&mut next, b"next_prio")?)?;
    let to_pid = thread_id(expect(&mut next, b"next_pid")?)?;
    let to = Party { pid: to_pid, prio: to_prio, comm: Comm::new(next) };
    let left = Left::parse(expect(&mut prev, b"prev_state")?)?;
    let from_prio = signed(expect(&mut prev, b"prev_prio")?)?;
    let from_pid = thread_id(expect(&mut prev, b"prev_pid")?)?;
    let from = Party { pid: from_pid, prio: from_prio, comm: Comm::new(prev.strip_prefix(b"prev_comm=")?) };
    Some(RawWhat::Switch { prev: from, next: to, left })
}

/// The last pair's value when its key is `key`.
#[inline]
fn expect<'a>(text: &mut &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = last_pair(text)?;
    (found == key).then_some(value)
}

fn wake(args: &[u8], make: fn(Party, u32) -> RawWhat) -> Option<RawWhat> {
    let fields = Fields::read(args)?;
    if fields.failed {
        return Some(RawWhat::Other);
    }
    // The idle task is never woken.
    if fields.who.pid == 0 {
        return None;
    }
    Some(make(fields.who, fields.target?))
}

fn fork(args: &[u8]) -> Option<RawWhat> {
    let mut rest = args;
    let (mut key, mut value) = last_pair(&mut rest)?;
    while key != b"child_pid" {
        (key, value) = last_pair(&mut rest)?;
    }
    let child = thread_id(value)?;
    let (parent, child_comm) = split_last(rest, b" child_comm=")?;
    let mut parent_text = parent;
    let parent = thread_id(expect(&mut parent_text, b"pid")?)?;
    let parent_comm = Comm::new(parent_text.strip_prefix(b"comm=")?);
    Some(RawWhat::Fork { parent, parent_comm, child, child_comm: Comm::new(child_comm) })
}

fn exec(args: &[u8]) -> Option<RawWhat> {
    let mut rest = args;
    let old_pid = thread_id(expect(&mut rest, b"old_pid")?)?;
    let new_pid = thread_id(expect(&mut rest, b"pid")?)?;
    let path = rest.strip_prefix(b"filename=")?;
    let name = split_last(path, b"/").map_or(path, |(_, name)| name);
    Some(RawWhat::Exec { pid: new_pid, old_pid, comm: Comm::new(name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(pid: u32, prio: i16, comm: &str) -> Party {
        Party { pid, prio, comm: Comm::new(comm.as_bytes()) }
    }

    #[test]
    fn both_renderings_of_a_switch_say_the_same() {
        let expected = RawWhat::Switch {
            prev: who(9, 120, "a:b c=1"),
            next: who(0, 120, "swapper/0"),
            left: Left::UNINTERRUPTIBLE,
        };
        let kernel =
            b"prev_comm=a:b c=1 prev_pid=9 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120";
        assert_eq!(event(b"sched_switch", kernel), Some(expected.clone()));
        assert_eq!(event(b"sched_switch", b"a:b c=1:9 [120] D ==> swapper/0:0 [120]"), Some(expected));
    }

    #[test]
    fn names_may_look_like_fields() {
        let text =
            b"prev_comm=prev_pid=1 prev_pid=9 prev_prio=-1 prev_state=R+ ==> next_comm=x ==> y next_pid=3 next_prio=0";
        let expected =
            RawWhat::Switch { prev: who(9, -1, "prev_pid=1"), next: who(3, 0, "x ==> y"), left: Left::PREEMPTED };
        assert_eq!(event(b"sched_switch", text), Some(expected));
        let text = b"comm=pid=4 [x] pid=5 prio=120 target_cpu=001";
        let expected = RawWhat::Waking { who: who(5, 120, "pid=4 [x]"), target: 1 };
        assert_eq!(event(b"sched_waking", text), Some(expected));
    }

    #[test]
    fn wakings_of_all_ages_are_read() {
        let expected = RawWhat::Wakeup { who: who(5, 120, "x"), target: 3 };
        for text in [
            "comm=x pid=5 prio=120 target_cpu=003",
            "comm=x pid=5 prio=120 success=1 target_cpu=003",
            "x:5 [120] success=1 CPU:003",
            "x:5 [120] CPU:003",
        ] {
            assert_eq!(event(b"sched_wakeup", text.as_bytes()), Some(expected.clone()), "{text}");
        }
        assert_eq!(event(b"sched_wakeup", b"x:5 [120] success=0 CPU:003"), Some(RawWhat::Other));
    }

    #[test]
    fn life_events_are_read() {
        let fork =
            RawWhat::Fork { parent: 1, parent_comm: Comm::new(b"init"), child: 21, child_comm: Comm::new(b"init") };
        assert_eq!(event(b"sched_process_fork", b"comm=init pid=1 child_comm=init child_pid=21"), Some(fork));
        let exec = RawWhat::Exec { pid: 7, old_pid: 8, comm: Comm::new(b"ls") };
        assert_eq!(event(b"sched_process_exec", b"filename=/usr/bin/ls pid=7 old_pid=8"), Some(exec));
        let exit = RawWhat::Exit { who: who(7, 120, "ls") };
        assert_eq!(event(b"sched_process_exit", b"comm=ls pid=7 prio=120"), Some(exit.clone()));
        assert_eq!(event(b"sched_process_exit", b"comm=ls pid=7 prio=120 group_dead=true"), Some(exit));
        let moved = RawWhat::Migrate { who: who(7, 120, "ls"), from: 0, to: 1 };
        assert_eq!(event(b"sched_migrate_task", b"comm=ls pid=7 prio=120 orig_cpu=0 dest_cpu=1"), Some(moved));
    }

    #[test]
    fn impossible_numbers_make_an_event_unreadable() {
        for text in ["comm=x pid=99999999 prio=1 target_cpu=0", "comm=x pid=1 prio=1 target_cpu=70000", "comm=x", ""] {
            assert_eq!(event(b"sched_waking", text.as_bytes()), None, "{text}");
        }
    }
}
