//! Parses the fields of scheduling events, in the kernel's `key=value` form and in the `comm:pid [prio]` form of
//! libtraceevent's plugin (trace-cmd, perf). Fields are parsed from the end, because only names may contain spaces,
//! `=`, `:` or brackets, and names come first.

use crate::event::{Call, Context, Wake};
use crate::line::{Content, LineEvent, NamedTask};
use crate::prev_state::PrevState;
use crate::scan::{cpu_number, last_pair, signed, split_last, thread_id};
use crate::tasks::Comm;
use goodness_core::CpuId;

/// Parses the event called `name`. [`Content::Other`] for events unrelated to scheduling; `None` if a scheduling event
/// has unreadable fields. `context` is that of the line.
pub(crate) fn event(name: &[u8], args: &[u8], context: Context) -> Option<Content> {
    let args = args.trim_ascii_end();
    let event = match name {
        b"sched_switch" => switch(args)?,
        b"sched_waking" => return wake(args, context, LineEvent::Waking),
        b"sched_wakeup" => return wake(args, context, LineEvent::Wakeup),
        b"sched_wakeup_new" => return wake(args, context, LineEvent::WakeupNew),
        b"sched_process_fork" => fork(args)?,
        b"sched_process_exec" => exec(args)?,
        b"sched_process_exit" => LineEvent::Exit { task: Fields::read(args)?.task },
        b"sched_migrate_task" => {
            let fields = Fields::read(args)?;
            LineEvent::Migrate { task: fields.task, from: CpuId(fields.orig?), to: CpuId(fields.dest?) }
        }
        b"tracing_mark_write" | b"print" => return Some(Content::Marker(String::from_utf8_lossy(args).into())),
        _ => match call(name, args) {
            Some(call) => LineEvent::Call { by: (), call },
            None => return Some(Content::Other),
        },
    };
    Some(Content::Sched(event))
}

/// The begin or end of a call that carries a message.
fn call(name: &[u8], args: &[u8]) -> Option<Call> {
    let (is_begin, call) = match name.strip_prefix(b"sys_enter_") {
        Some(call) => (true, call),
        None => (false, name.strip_prefix(b"sys_exit_")?),
    };
    let is_send = match call {
        b"write" | b"writev" | b"sendto" | b"sendmsg" => true,
        b"read" | b"readv" | b"recvfrom" | b"recvmsg" => false,
        _ => return None,
    };
    match (is_begin, is_send) {
        (true, true) => Some(Call::Send(call_value(args, "fd")?.try_into().ok()?)),
        (true, false) => Some(Call::Receive(call_value(args, "fd")?.try_into().ok()?)),
        (false, _) => Some(Call::Returned(call_value(args, "ret").or_else(|| call_value(args, ""))? as i32)),
    }
}

/// The number after `key`: `fd=5`, or `fd: 0x00000005, …` and `0x64` as other tools print it.
fn call_value(args: &[u8], key: &str) -> Option<i64> {
    let text = std::str::from_utf8(args).ok()?.strip_prefix(key)?;
    let number = text.trim_start_matches(['=', ':', ' ']).split([',', ' ']).next()?;
    match number.strip_prefix("0x") {
        // A 64-bit register.
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|bits| bits as i64),
        None => number.parse().ok(),
    }
}

/// Fields shared by the events that name one task.
#[derive(Default)]
struct Fields {
    task: NamedTask,
    prio: i16,
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
                    let comm = Comm::new(rest.strip_prefix(b"comm=")?);
                    fields.task = NamedTask { pid: thread_id(value)?, comm };
                    return Some(fields);
                }
                b"prio" => fields.prio = signed(value)?,
                b"target_cpu" => fields.target = Some(cpu_number(value)?),
                b"orig_cpu" => fields.orig = Some(cpu_number(value)?),
                b"dest_cpu" => fields.dest = Some(cpu_number(value)?),
                b"success" => fields.failed = value == b"0",
                _ => {}
            }
        }
    }

    /// Parses `comm:pid [prio] success=1 CPU:000`; the last two are optional.
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
                (fields.task, fields.prio) = task_and_prio(rest)?;
                return Some(fields);
            }
            rest = before.trim_ascii_end();
        }
    }
}

/// `comm:pid [prio]`.
fn task_and_prio(text: &[u8]) -> Option<(NamedTask, i16)> {
    let (front, prio) = split_last(text, b" [")?;
    let (comm, id) = split_last(front, b":")?;
    let task = NamedTask { pid: thread_id(id)?, comm: Comm::new(comm.trim_ascii_start()) };
    Some((task, signed(prio.strip_suffix(b"]")?)?))
}

fn switch(args: &[u8]) -> Option<LineEvent> {
    if !args.starts_with(b"prev_comm=") {
        let (prev, next) = split_last(args, b" ==> ")?;
        let (prev, state) = split_last(prev, b" ")?;
        let prev_state = PrevState::parse(state)?;
        let ((prev, prev_prio), (next, next_prio)) = (task_and_prio(prev)?, task_and_prio(next)?);
        return Some(LineEvent::Switch {
            prev: not_idle(prev),
            next: not_idle(next),
            prev_prio,
            next_prio,
            prev_state,
        });
    }
    let (mut prev, mut next) = split_last(args, b" ==> next_comm=")?;
    let next_prio = signed(expect(&mut next, b"next_prio")?)?;
    let next_pid = thread_id(expect(&mut next, b"next_pid")?)?;
    let prev_state = PrevState::parse(expect(&mut prev, b"prev_state")?)?;
    let prev_prio = signed(expect(&mut prev, b"prev_prio")?)?;
    let prev_pid = thread_id(expect(&mut prev, b"prev_pid")?)?;
    let prev = NamedTask { pid: prev_pid, comm: Comm::new(prev.strip_prefix(b"prev_comm=")?) };
    let next = NamedTask { pid: next_pid, comm: Comm::new(next) };
    Some(LineEvent::Switch { prev: not_idle(prev), next: not_idle(next), prev_prio, next_prio, prev_state })
}

fn not_idle(task: NamedTask) -> Option<NamedTask> {
    (task.pid != 0).then_some(task)
}

/// The last pair's value when its key is `key`.
#[inline]
fn expect<'a>(text: &mut &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = last_pair(text)?;
    (found == key).then_some(value)
}

fn wake(args: &[u8], context: Context, make: fn(Wake<NamedTask, ()>) -> LineEvent) -> Option<Content> {
    let fields = Fields::read(args)?;
    if fields.failed {
        return Some(Content::Other);
    }
    // The idle task is never woken.
    if fields.task.pid == 0 {
        return None;
    }
    let wake = Wake { task: fields.task, current: (), target: CpuId(fields.target?), prio: fields.prio, context };
    Some(Content::Sched(make(wake)))
}

fn fork(args: &[u8]) -> Option<LineEvent> {
    let mut rest = args;
    let (mut key, mut value) = last_pair(&mut rest)?;
    while key != b"child_pid" {
        (key, value) = last_pair(&mut rest)?;
    }
    let child = thread_id(value)?;
    let (mut parent, child_comm) = split_last(rest, b" child_comm=")?;
    let parent_pid = thread_id(expect(&mut parent, b"pid")?)?;
    let parent = NamedTask { pid: parent_pid, comm: Comm::new(parent.strip_prefix(b"comm=")?) };
    let child = NamedTask { pid: child, comm: Comm::new(child_comm) };
    Some(LineEvent::Fork { parent: not_idle(parent), child })
}

fn exec(args: &[u8]) -> Option<LineEvent> {
    let mut rest = args;
    let old_pid = thread_id(expect(&mut rest, b"old_pid")?)?;
    let pid = thread_id(expect(&mut rest, b"pid")?)?;
    let path = rest.strip_prefix(b"filename=")?;
    let name = split_last(path, b"/").map_or(path, |(_, name)| name);
    Some(LineEvent::Exec { task: NamedTask { pid: old_pid, comm: Comm::new(name) }, pid })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &[u8], args: &[u8]) -> Option<Content> {
        super::event(name, args, Context::Unknown)
    }

    fn task(pid: u32, comm: &str) -> NamedTask {
        NamedTask { pid, comm: Comm::new(comm.as_bytes()) }
    }

    fn waking(task: NamedTask, target: u32) -> Content {
        Content::Sched(LineEvent::Waking(Wake {
            task,
            current: (),
            target: CpuId(target),
            prio: 120,
            context: Context::Unknown,
        }))
    }

    #[test]
    fn both_renderings_of_a_switch_say_the_same() {
        let expected = Content::Sched(LineEvent::Switch {
            prev: Some(task(9, "a:b c=1")),
            next: None,
            prev_prio: 120,
            next_prio: 120,
            prev_state: PrevState::UNINTERRUPTIBLE,
        });
        let kernel =
            b"prev_comm=a:b c=1 prev_pid=9 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120";
        assert_eq!(event(b"sched_switch", kernel), Some(expected.clone()));
        assert_eq!(event(b"sched_switch", b"a:b c=1:9 [120] D ==> swapper/0:0 [120]"), Some(expected));
    }

    #[test]
    fn names_may_look_like_fields() {
        let text =
            b"prev_comm=prev_pid=1 prev_pid=9 prev_prio=-1 prev_state=R+ ==> next_comm=x ==> y next_pid=3 next_prio=0";
        let expected = LineEvent::Switch {
            prev: Some(task(9, "prev_pid=1")),
            next: Some(task(3, "x ==> y")),
            prev_prio: -1,
            next_prio: 0,
            prev_state: PrevState::PREEMPTED,
        };
        assert_eq!(event(b"sched_switch", text), Some(Content::Sched(expected)));
        let text = b"comm=pid=4 [x] pid=5 prio=120 target_cpu=001";
        assert_eq!(event(b"sched_waking", text), Some(waking(task(5, "pid=4 [x]"), 1)));
    }

    #[test]
    fn wakings_of_all_ages_are_read() {
        let expected = waking(task(5, "x"), 3);
        for text in [
            "comm=x pid=5 prio=120 target_cpu=003",
            "comm=x pid=5 prio=120 success=1 target_cpu=003",
            "x:5 [120] success=1 CPU:003",
            "x:5 [120] CPU:003",
        ] {
            assert_eq!(event(b"sched_waking", text.as_bytes()), Some(expected.clone()), "{text}");
        }
        assert_eq!(event(b"sched_wakeup", b"x:5 [120] success=0 CPU:003"), Some(Content::Other));
    }

    #[test]
    fn life_events_are_read() {
        let read = |name: &[u8], text: &[u8]| match event(name, text) {
            Some(Content::Sched(event)) => event,
            other => panic!("{}: {other:?}", text.escape_ascii()),
        };
        let fork = LineEvent::Fork { parent: Some(task(1, "init")), child: task(21, "init") };
        assert_eq!(read(b"sched_process_fork", b"comm=init pid=1 child_comm=init child_pid=21"), fork);
        let exec = LineEvent::Exec { task: task(8, "ls"), pid: 7 };
        assert_eq!(read(b"sched_process_exec", b"filename=/usr/bin/ls pid=7 old_pid=8"), exec);
        let exit = LineEvent::Exit { task: task(7, "ls") };
        assert_eq!(read(b"sched_process_exit", b"comm=ls pid=7 prio=120"), exit);
        assert_eq!(read(b"sched_process_exit", b"comm=ls pid=7 prio=120 group_dead=true"), exit);
        let moved = LineEvent::Migrate { task: task(7, "ls"), from: CpuId(0), to: CpuId(1) };
        assert_eq!(read(b"sched_migrate_task", b"comm=ls pid=7 prio=120 orig_cpu=0 dest_cpu=1"), moved);
    }

    #[test]
    fn impossible_numbers_make_an_event_unreadable() {
        for text in ["comm=x pid=99999999 prio=1 target_cpu=0", "comm=x pid=1 prio=1 target_cpu=70000", "comm=x", ""] {
            assert_eq!(event(b"sched_waking", text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn calls_of_either_notation_are_read_and_others_are_not() {
        let read = |name: &str, args: &str| super::event(name.as_bytes(), args.as_bytes(), Context::Task);
        let call = |call| Some(Content::Sched(LineEvent::Call { by: (), call }));
        assert_eq!(read("sys_enter_write", "fd=5"), call(Call::Send(5)));
        let theirs = "fd: 0x0000001f, buf: 0x7ffe, count: 0x00000064";
        assert_eq!(read("sys_enter_recvfrom", theirs), call(Call::Receive(31)));
        assert_eq!(read("sys_exit_read", "ret=-11"), call(Call::Returned(-11)));
        assert_eq!(read("sys_exit_write", "0xfffffffffffffff5"), call(Call::Returned(-11)));
        assert_eq!(read("sys_enter_openat", "dfd: 0x5"), Some(Content::Other));
        assert_eq!(read("sys_exit_openat", "0x5"), Some(Content::Other));
        assert_eq!(read("sys_enter_write", "count=5"), Some(Content::Other));
    }
}
