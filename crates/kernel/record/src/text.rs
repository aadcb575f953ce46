//! Writes events as ftrace text in the kernel's format, with times in nanoseconds.

use std::io::Write;

use super::event::{Block, BlockRequest, Event, TaskRef, Wake, What, call_field};
use super::format::StateLetters;
use super::pages::Lost;

/// Bits of `common_flags`, from `include/linux/trace_events.h`.
const IRQS_OFF: u8 = 0x01;
const RESCHED_LAZY: u8 = 0x02;
const RESCHED: u8 = 0x04;
const HARD_IRQ: u8 = 0x08;
const SOFT_IRQ: u8 = 0x10;
const PREEMPT_RESCHED: u8 = 0x20;
const NMI: u8 = 0x40;
const SOFT_IRQ_OFF: u8 = 0x80;

/// The legend of columns that ftrace prints above its events.
pub const LEGEND: &str = "\
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
";

/// Source of every task name the writer prints, so that names can be replaced by aliases.
pub trait Names {
    /// The name to print for task `pid`, recorded as `comm`.
    fn shown<'a>(&'a self, pid: i32, comm: &'a [u8]) -> &'a [u8];
    /// The last known name of `pid`, ready to print.
    fn current(&self, pid: i32) -> &[u8];
}

/// CPU and time of an event.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Nanoseconds on the trace clock.
    pub time_ns: u64,
    /// CPU that logged it.
    pub cpu: u32,
}

/// Appends the line for lost events on `cpu`.
pub fn write_lost(cpu: u32, lost: Lost, out: &mut Vec<u8>) {
    match lost {
        Lost::Known(number) => print(out, format_args!("CPU:{cpu} [LOST {number} EVENTS]\n")),
        Lost::Unknown => print(out, format_args!("CPU:{cpu} [LOST EVENTS]\n")),
    }
}

/// Appends one event as a line.
pub fn write_event(place: Place, event: &Event, states: &StateLetters, names: &dyn Names, out: &mut Vec<u8>) {
    let comm = names.current(event.pid);
    out.extend(std::iter::repeat_n(b' ', 16usize.saturating_sub(comm.len())));
    write_name(comm, out);
    let (seconds, nanoseconds) = (place.time_ns / 1_000_000_000, place.time_ns % 1_000_000_000);
    let columns = flag_columns(event.flags, event.depth);
    let columns = std::str::from_utf8(&columns).expect("ASCII");
    let (pid, cpu) = (event.pid, place.cpu);
    print(out, format_args!("-{pid:<7} [{cpu:03}] {columns} {seconds:5}.{nanoseconds:09}: "));
    write_what(event, states, names, out);
    out.push(b'\n');
}

fn write_what(event: &Event, states: &StateLetters, names: &dyn Names, out: &mut Vec<u8>) {
    match &event.what {
        What::Switch { prev, state, next } => {
            out.extend(b"sched_switch: ");
            write_task("prev_", prev, names, out);
            print(out, format_args!(" prev_prio={} prev_state=", prev.prio));
            states.write(*state, out);
            out.extend(b" ==> ");
            write_task("next_", next, names, out);
            print(out, format_args!(" next_prio={}", next.prio));
        }
        What::Wake { stage, task, target_cpu } => {
            out.extend(match stage {
                Wake::Waking => b"sched_waking: ".as_slice(),
                Wake::Wakeup => b"sched_wakeup: ",
                Wake::New => b"sched_wakeup_new: ",
            });
            write_task("", task, names, out);
            print(out, format_args!(" prio={} target_cpu={target_cpu:03}", task.prio));
        }
        What::Fork { parent, child } => {
            out.extend(b"sched_process_fork: ");
            write_task("", parent, names, out);
            out.push(b' ');
            write_task("child_", child, names, out);
        }
        What::Exec { file, pid, old_pid } => {
            let base = file.rsplit(|&byte| byte == b'/').next().unwrap_or(file);
            out.extend(b"sched_process_exec: filename=");
            write_name(names.shown(*pid, base), out);
            print(out, format_args!(" pid={pid} old_pid={old_pid}"));
        }
        What::Exit { task, group_dead } => {
            out.extend(b"sched_process_exit: ");
            write_task("", task, names, out);
            print(out, format_args!(" prio={}", task.prio));
            if let Some(dead) = group_dead {
                print(out, format_args!(" group_dead={dead}"));
            }
        }
        What::Migrate { task, from, to } => {
            out.extend(b"sched_migrate_task: ");
            write_task("", task, names, out);
            print(out, format_args!(" prio={} orig_cpu={from} dest_cpu={to}", task.prio));
        }
        What::Call { name, value } => print(out, format_args!("{name}: {}={}", call_field(name), *value as i32)),
        What::Block { stage, request } => write_block(*stage, request, event.pid, names, out),
    }
}

fn write_task(prefix: &str, task: &TaskRef, names: &dyn Names, out: &mut Vec<u8>) {
    print(out, format_args!("{prefix}comm="));
    // The kernel calls the idle task swapper/N in fields and <idle> in the first column.
    let shown = if task.pid == 0 { task.comm } else { names.shown(task.pid, task.comm) };
    write_name(shown, out);
    print(out, format_args!(" {prefix}pid={}", task.pid));
}

fn write_block(stage: Block, request: &BlockRequest, logger: i32, names: &dyn Names, out: &mut Vec<u8>) {
    out.extend(match stage {
        Block::Insert => b"block_rq_insert: ".as_slice(),
        Block::Issue => b"block_rq_issue: ",
        Block::Complete => b"block_rq_complete: ",
        Block::BioQueue => b"block_bio_queue: ",
    });
    print(out, format_args!("{},{} ", request.device >> 20, request.device & 0xf_ffff));
    write_name(request.operation, out);
    match (stage, request.bytes) {
        (Block::BioQueue, _) => {}
        (_, Some(bytes)) => print(out, format_args!(" {bytes} ()")),
        (_, None) => out.extend(b" ()"),
    }
    print(out, format_args!(" {} + {}", request.sector as u64, request.sectors));
    if let Some(word) = request.ioprio {
        let class = ["none", "rt", "be", "idle"].get((word >> 13 & 7) as usize).unwrap_or(&"invalid");
        print(out, format_args!(" {class},{},{}", word >> 3 & 0x3ff, word & 7));
    }
    match (request.error, request.comm) {
        (Some(error), _) => print(out, format_args!(" [{error}]")),
        (None, Some(comm)) => {
            // The kernel stores the name of the task that logged the event, but not its number again.
            out.extend(b" [");
            write_name(names.shown(logger, comm), out);
            out.push(b']');
        }
        (None, None) => {}
    }
}

/// Appends a name, with control bytes and bytes outside UTF-8 replaced by `?` so that a line stays a line.
fn write_name(name: &[u8], out: &mut Vec<u8>) {
    if name.iter().all(|&byte| (b' '..0x7f).contains(&byte)) {
        return out.extend(name);
    }
    let text = String::from_utf8_lossy(name);
    out.extend(
        text.chars()
            .flat_map(|c| if c.is_control() || c == '\u{fffd}' { vec!['?'] } else { vec![c] })
            .collect::<String>()
            .bytes(),
    );
}

/// The five flag characters, as `Documentation/trace/ftrace.rst` describes them.
fn flag_columns(flags: u8, depth: u8) -> [u8; 5] {
    let has = |bits: u8| flags & bits == bits;
    let interrupts = match (has(IRQS_OFF), has(SOFT_IRQ_OFF)) {
        (true, true) => b'D',
        (true, false) => b'd',
        (false, true) => b'b',
        (false, false) => b'.',
    };
    let resched = match (has(RESCHED), has(RESCHED_LAZY), has(PREEMPT_RESCHED)) {
        (true, true, true) => b'B',
        (true, false, true) => b'N',
        (false, true, true) => b'L',
        (true, true, false) => b'b',
        (true, false, false) => b'n',
        (false, true, false) => b'l',
        (false, false, true) => b'p',
        (false, false, false) => b'.',
    };
    let context = match (has(NMI), has(HARD_IRQ), has(SOFT_IRQ)) {
        (true, true, _) => b'Z',
        (true, false, _) => b'z',
        (false, true, true) => b'H',
        (false, true, false) => b'h',
        (false, false, true) => b's',
        (false, false, false) => b'.',
    };
    let digit = |value: u8| {
        if value == 0 { b'.' } else { b"0123456789abcdef"[value as usize] }
    };
    [interrupts, resched, context, digit(depth & 15), digit(depth >> 4)]
}

fn print(out: &mut Vec<u8>, text: std::fmt::Arguments) {
    out.write_fmt(text).expect("writing to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::EventFormat;

    struct Plain;
    impl Names for Plain {
        fn shown<'a>(&'a self, _: i32, comm: &'a [u8]) -> &'a [u8] {
            comm
        }
        fn current(&self, pid: i32) -> &[u8] {
            if pid == 0 { b"<idle>" } else { b"Web Content-1" }
        }
    }

    fn line(event: &Event) -> String {
        let text = "name: sched_switch\nID: 1\nprint fmt: { 0x1, \"S\" }, { 0x80, \"I\" }\n";
        let states = StateLetters::parse(&EventFormat::parse(text).expect("format")).expect("letters");
        let mut out = Vec::new();
        write_event(Place { time_ns: 1_042_218_400_123, cpu: 1 }, event, &states, &Plain, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_switch_looks_as_the_kernel_prints_it_but_with_nanoseconds() {
        let prev = TaskRef { comm: b"Web Content-1", pid: 811, prio: 120 };
        let next = TaskRef { comm: b"swapper/1", pid: 0, prio: 120 };
        let what = What::Switch { prev, state: 1, next };
        assert_eq!(
            line(&Event { pid: 811, flags: 0x01, depth: 2, what }),
            "   Web Content-1-811     [001] d..2.  1042.218400123: sched_switch: prev_comm=Web Content-1 prev_pid=811 \
             prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n"
        );
    }

    #[test]
    fn a_call_names_its_descriptor_and_its_end_the_bytes_or_the_error() {
        let shown = |name, value| line(&Event { pid: 9, flags: 0, depth: 0, what: What::Call { name, value } });
        assert!(shown("sys_enter_write", 5).ends_with(": sys_enter_write: fd=5\n"));
        assert!(shown("sys_exit_read", -11).ends_with(": sys_exit_read: ret=-11\n"));
    }

    #[test]
    fn an_exec_carries_no_path() {
        let what = What::Exec { file: b"/home/someone/secret/ab", pid: 9, old_pid: 9 };
        let shown = line(&Event { pid: 9, flags: 0, depth: 0, what });
        assert!(shown.ends_with("sched_process_exec: filename=ab pid=9 old_pid=9\n"), "{shown}");
    }

    #[test]
    fn a_name_with_a_line_break_stays_on_its_line() {
        let task = TaskRef { comm: b"a\nb\xff", pid: 9, prio: 120 };
        let what = What::Wake { stage: Wake::Waking, task, target_cpu: 1 };
        let shown = line(&Event { pid: 0, flags: 0x09, depth: 0x11, what });
        assert!(shown.contains("<idle>-0       [001] d.h11  1042."), "{shown}");
        assert!(shown.ends_with("sched_waking: comm=a?b? pid=9 prio=120 target_cpu=001\n"), "{shown}");
    }

    #[test]
    fn flag_columns_tell_interrupt_context() {
        assert_eq!(&flag_columns(SOFT_IRQ | IRQS_OFF | SOFT_IRQ_OFF, 0x23), b"D.s32");
        assert_eq!(&flag_columns(HARD_IRQ | SOFT_IRQ | RESCHED | PREEMPT_RESCHED, 0), b".NH..");
        assert_eq!(&flag_columns(NMI | HARD_IRQ | RESCHED_LAZY, 0), b".lZ..");
    }

    #[test]
    fn a_lost_line_names_cpu_and_number() {
        let mut out = Vec::new();
        write_lost(3, Lost::Known(412), &mut out);
        write_lost(0, Lost::Unknown, &mut out);
        assert_eq!(out, b"CPU:3 [LOST 412 EVENTS]\nCPU:0 [LOST EVENTS]\n");
    }

    #[test]
    fn a_block_issue_names_device_operation_and_sectors() {
        let request = BlockRequest {
            device: 254 << 20 | 3,
            operation: b"WS",
            bytes: Some(4096),
            sector: 2048,
            sectors: 8,
            ioprio: Some(2 << 13 | 4),
            comm: Some(b"mariadbd"),
            error: None,
        };
        let shown = line(&Event { pid: 9, flags: 0, depth: 0, what: What::Block { stage: Block::Issue, request } });
        assert!(shown.ends_with("block_rq_issue: 254,3 WS 4096 () 2048 + 8 be,0,4 [mariadbd]\n"), "{shown}");
    }
}
