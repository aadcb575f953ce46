//! interbench: measures an interactive task while a load runs beside it.
//!
//! Measured tasks: `audio` uses 5 % of a CPU every 50 ms; `video` 40 % sixty times a second; `x` 0 to 100 % in steps of
//! one, every 100 ms; `gaming` all it gets, in frames of 100 ms of CPU time. Each period is a request: it arrives at
//! the start and is served when its CPU time has been used. A deadline is met if `request_latency` is at most the
//! period; for gaming, time above 100 ms is lost. A period that ends before it was started is dropped, like a video
//! frame, so `throughput` falls short of one request per period by the dropped ones. The load's own tasks report
//! nothing.
//!
//! Not modelled: the high-priority thread with which the tool compensates for inaccurate sleeps; the page cache and its
//! write-back, for which `write` and `read` use a disk that serves one transfer at a time; memory reclaim, of which
//! `memload` shows the copying and swapping. The tool's latency is the part of the request latency above the CPU time,
//! and whole periods for missed deadlines.

use super::parts::*;
use crate::script::Overrun;
use goodness_core::tunable::TunableValue as _;

pub const ABOUT: About = About {
    name: "interbench",
    summary: "Simulated audio, video, X or gaming, measured while a load of hogs, a disk or memory runs beside it.",
    source: "interbench 0.31 (C. Kolivas): periods, CPU shares, 4 hogs, 30 s and the loads; memload touches 110 % of \
             memory. A disk of 50 MB/s, copying at 1 GB/s and transfers of 128 kB are general knowledge of 2006.",
};

goodness_core::choices! {
    /// Measured program.
    pub enum Measured { Audio = "audio", Video = "video", X = "x", Gaming = "gaming" }
}

goodness_core::choices! {
    /// Load beside it.
    pub enum Load {
        None = "none", Video = "video", X = "x", Burn = "burn", Write = "write", Read = "read", Compile = "compile",
        Memload = "memload",
    }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Measured program.
        measured: Measured = Measured::Video;
        /// Load beside it.
        load: Load = Load::None;
        /// Hogs of the loads burn and compile.
        hogs: u64 = 4, in 1 => 100_000;
        /// CPU time to copy or touch a megabyte, ±10 %.
        copy: Span = Span::from_ms(1), in Span(10) => Span::from_s(10);
        /// Time the disk needs for a megabyte, exponential with this mean.
        disk: Span = Span::from_ms(20), in Span(10) => Span::from_s(100);
        /// Megabytes per thousand that memload finds swapped out; each costs a write and a read of a megabyte.
        swapped: u64 = 91, in 0 => 1_000;
        /// Duration of the run.
        duration: Span = Span::from_s(30), in Span::from_us(1) => Span::from_s(3600);
    }
}

/// Period of audio, and its CPU time.
const AUDIO: (Span, Span) = (Span::from_ms(50), Span::from_us(2_500));
/// Period of video (a sixtieth of a second in whole microseconds), and its CPU time.
const VIDEO: (Span, Span) = (Span::from_us(16_666), Span::from_us(6_666));
/// Period of X; its CPU time grows from 0 to all of it.
const X_PERIOD: Span = Span::from_ms(100);
/// Steps in which X's CPU use rises from 0 to 100 %.
const X_STEPS: u64 = 100;
/// CPU time of a frame of gaming.
const FRAME: Span = Span::from_ms(100);
/// Transfers per megabyte: the disk moves 128 kB at a time.
const PARTS: u64 = 8;

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let script = match settings.measured {
        Measured::Audio => periodic(&[AUDIO], true),
        Measured::Video => periodic(&[VIDEO], true),
        Measured::X => periodic(&x_steps(), true),
        Measured::Gaming => forever(vec![Op::Begin, Op::Do(Step::Compute(FRAME)), Op::Served]),
    };
    add(&mut plan, &settings.measured.show(), 1, &script);
    match settings.load {
        Load::None => {}
        Load::Video => add(&mut plan, "load-video", 1, &periodic(&[VIDEO], false)),
        Load::X => add(&mut plan, "load-x", 1, &periodic(&x_steps(), false)),
        Load::Burn => add(&mut plan, "burn", settings.hogs, &hog()),
        Load::Write | Load::Read | Load::Compile | Load::Memload => on_disk(&mut plan, settings),
    }
    plan
}

fn x_steps() -> Vec<(Span, Span)> {
    (0..=X_STEPS).map(|step| (X_PERIOD, X_PERIOD * step / X_STEPS)).collect()
}

/// Uses the CPU time of each period in turn, forever; finishes by the end of the period or late.
fn periodic(steps: &[(Span, Span)], reports: bool) -> Arc<Script> {
    let mut script = Script { timers: 1, ..Script::default() };
    let timer = 0;
    for (period, run) in steps {
        script.ops.push(Op::Timer { timer, period: *period, overrun: Overrun::SkipsPassed });
        if *run > Span::ZERO {
            script.ops.extend([Op::BeginAtExpiry(timer), Op::Do(Step::Compute(*run))]);
            script.ops.extend(reports.then_some(Op::Served));
        }
    }
    forever_script(script)
}

/// The loads that keep the disk busy, and the disk.
fn on_disk(plan: &mut Plan, settings: &Settings) {
    let disk = plan.mailbox();
    let part = Span((settings.disk.0 / PARTS).max(1));
    add_outside(plan, "disk", 1, &forever(vec![Op::Receive(disk), Op::SleepExponential(part), Op::Reply]));
    let copy = compute_about(Span(settings.copy.0 / PARTS));
    let write = forever(vec![copy.clone(), Op::AskDevice(disk)]);
    let read = forever(vec![Op::AskDevice(disk), copy]);
    match settings.load {
        Load::Write => add(plan, "write", 1, &write),
        Load::Read => add(plan, "read", 1, &read),
        Load::Compile => {
            add(plan, "burn", settings.hogs, &hog());
            add(plan, "write", 1, &write);
            add(plan, "read", 1, &read);
        }
        _ => add(plan, "memload", 1, &memload(settings, disk)),
    }
}

/// Touches one megabyte after the other. Some must be swapped in, and each swaps another one out.
fn memload(settings: &Settings, disk: Mailbox) -> Arc<Script> {
    let swapped = Op::Chance { millionths: settings.swapped as u32 * 1_000, or_to: 0 };
    let mut script = Script { ops: vec![swapped, Op::AskDevice(disk)], ..Script::default() };
    script.repeat_from(1, Some(2 * PARTS));
    branch_to_here(&mut script, 0);
    script.ops.push(compute_about(settings.copy));
    forever_script(script)
}
