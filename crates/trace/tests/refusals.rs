//! Each error is one sentence with file, line and remedy; usable traces are not rejected.

mod common;

use common::{load, switch};

fn refusal(text: &[u8]) -> String {
    load(text).map(|r| format!("read {} records", r.records.len())).unwrap_or_else(|e| e.to_string())
}

#[test]
fn an_empty_file_is_called_empty() {
    for text in ["", "\n\n", "   "] {
        assert_eq!(refusal(text.as_bytes()), "t.txt is empty; record again, and check that tracing was on");
    }
}

#[test]
fn what_is_no_trace_is_shown_and_the_formats_are_named() {
    let message = refusal(b"\x89PNG\r\n\x1a\n");
    assert!(message.starts_with("t.txt, line 1: this is none of the known trace formats"), "{message}");
    assert!(message.contains("ftrace") && message.contains("perf-script") && message.contains("\\x89PNG"), "{message}");
}

#[test]
fn binary_relatives_say_how_to_print_them() {
    assert!(refusal(b"PERFILE2xxxx").contains("perf script --ns -i FILE"));
    assert!(refusal(b"\x17\x08\x44tracing6").contains("trace-cmd report -t -l FILE"));
}

#[test]
fn a_trace_without_switches_says_which_events_to_record() {
    let text =
        "# tracer: nop\n          x-1 [000] ..... 1.000000: sched_waking: comm=y pid=2 prio=120 target_cpu=000\n";
    let message = refusal(text.as_bytes());
    assert!(message.starts_with("t.txt, line 2: no sched_switch event"), "{message}");
    assert!(message.contains("sched_switch and sched_waking"), "{message}");
}

#[test]
fn unreadable_scheduling_events_are_named_when_nothing_else_is_there() {
    let text =
        "cpus=2\n  x-1 [000] 1.000000: sched_switch:  prev_comm=x prev_pid=1 prev_prio=120 prev_state=0 next_comm=y\n";
    let message = refusal(text.as_bytes());
    assert!(message.contains("1 scheduling events are in a rendering that is not read, first at line 2"), "{message}");
}

#[test]
fn a_trace_without_wakings_is_used_with_a_warning() {
    let trace = load(format!("# tracer: nop\n{}\n", switch(1, 0, 0, "R", 1)).as_bytes()).expect("usable");
    assert!(trace.warnings.iter().any(|w| w.contains("no sched_waking")), "{:?}", trace.warnings);
}

#[test]
fn clock_counts_and_impossible_times_are_named_with_their_line() {
    let count = "# tracer: nop\n x-1 [000] ..... 123456789: sched_waking: comm=y pid=2 prio=120 target_cpu=000\n";
    assert!(
        refusal(count.as_bytes()).starts_with("t.txt, line 2: the times are clock counts"),
        "{}",
        refusal(count.as_bytes())
    );
    for time in ["-1.000000", "99999999999999.000000"] {
        let text = format!("# tracer: nop\n x-1 [000] ..... {time}: sched_waking: comm=y pid=2 prio=1 target_cpu=0\n");
        assert!(
            refusal(text.as_bytes()).starts_with("t.txt, line 2: the time is negative or"),
            "{}",
            refusal(text.as_bytes())
        );
    }
}

#[test]
fn perf_lines_without_cpu_say_how_to_print_them() {
    let text = "ab 840 1.000000: sched:sched_switch: prev_comm=ab prev_pid=840 prev_prio=120 prev_state=S ==> \
        next_comm=x next_pid=1 next_prio=120\n";
    let message = refusal(text.as_bytes());
    assert!(message.contains("do not name the CPU") && message.contains("-F comm,pid,tid,cpu"), "{message}");
}

#[test]
fn one_impossible_time_among_others_is_only_counted() {
    let text = format!("# tracer: nop\n{}\n x-1 [000] ..... -1.000000: a: b\n", switch(1, 0, 0, "R", 1));
    assert_eq!(refusal(text.as_bytes()), "read 1 records");
}
