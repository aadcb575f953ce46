//! Read speed of ftrace text, streaming and in memory, in MB per second of CPU time and wall time.
//!
//! `cargo bench -p goodness-trace [-- FILE]`; without FILE, about 200 MB of made-up text of four busy CPUs.

use goodness_trace::{Input, load_input, summarise};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let file = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let text = match file {
        Some(path) => std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}")),
        None => made_up(200 << 20),
    };
    for _ in 0..3 {
        report("streaming", &text, || {
            let summary = Input::bytes("bench", &text).map(summarise).expect("memory").expect("a trace");
            assert!(summary.repairs.is_empty() || summary.switches > 0);
            black_box(summary.events)
        });
        report("in memory", &text, || {
            let recording = Input::bytes("bench", &text).map(load_input).expect("memory").expect("a trace");
            black_box(recording.records.len() as u64)
        });
    }
}

fn report(way: &str, text: &[u8], run: impl Fn() -> u64) {
    let (begun, cpu_before) = (Instant::now(), cpu_ns());
    let events = run();
    let wall = begun.elapsed().as_secs_f64();
    let (megabytes, millions) = (text.len() as f64 / 1e6, events as f64 / 1e6);
    let cpu = cpu_before.zip(cpu_ns()).map(|(before, after)| (after - before) as f64 / 1e9);
    match cpu {
        Some(cpu) => println!(
            "{way}: {:.0} MB/s and {:.2} M events/s of CPU time ({:.0} MB/s of wall time)",
            megabytes / cpu,
            millions / cpu,
            megabytes / wall
        ),
        None => println!("{way}: {:.0} MB/s and {:.2} M events/s of wall time", megabytes / wall, millions / wall),
    }
}

/// CPU time of this single-threaded process so far, if available.
fn cpu_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// Servers and clients that wake each other on four CPUs, as `goodness record` writes them.
fn made_up(bytes: usize) -> Vec<u8> {
    let mut text = String::with_capacity(bytes + 1024);
    text.push_str("# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:4\n#\n");
    let mut at = 1_042_218_400_123u64;
    while text.len() < bytes {
        for cpu in 0..4u64 {
            let pid = 800 + cpu * 100 + at / 3_000 % 40;
            let time = |at: u64| format!("{:>5}.{:09}", at / 1_000_000_000, at % 1_000_000_000);
            let _ = writeln!(
                text,
                "          <idle>-0       [{cpu:03}] dNh4. {}: sched_waking: comm=apache2 pid={pid} prio=120 \
                    target_cpu={cpu:03}",
                time(at)
            );
            let _ = writeln!(
                text,
                "          <idle>-0       [{cpu:03}] d..2. {}: sched_switch: prev_comm=swapper/{cpu} prev_pid=0 \
                    prev_prio=120 prev_state=R ==> next_comm=apache2 next_pid={pid} next_prio=120",
                time(at + 700)
            );
            let _ = writeln!(
                text,
                "         apache2-{pid:<7} [{cpu:03}] d..2. {}: sched_switch: prev_comm=apache2 prev_pid={pid} \
                    prev_prio=120 prev_state=S ==> next_comm=swapper/{cpu} next_pid=0 next_prio=120",
                time(at + 2_000)
            );
            at += 3_001;
        }
    }
    text.into_bytes()
}
