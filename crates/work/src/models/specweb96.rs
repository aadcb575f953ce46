//! A web server under SPECweb96: preforked processes, files in four size classes, partly read from disk.

use super::parts::*;

pub const ABOUT: About = About {
    name: "specweb96",
    summary: "Clients outside that ask again at once, or at a rate; preforked servers that send files of four classes \
        piece by piece.",
    source: "SPECweb96's classes: 35 % below 1 kB, 50 % below 10 kB, 14 % below 100 kB, 1 % below 1 MB, nine sizes \
             each. Times are parameters; the defaults are inferred from P. Ezolt, 5 May 1999 (see the study \
             ezolt-1999).",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Connections; without `arrivals` each always has a request under way.
        clients: u64 = 55, in 1 => 100_000;
        /// Mean time between requests, which arrive at random and wait for a free connection; 0: a connection sends the
        /// next one at once.
        arrivals: Span = Span::ZERO, in Span::ZERO => Span::from_s(100);
        /// Server processes.
        workers: u64 = 100, in 1 => 100_000;
        /// CPU time to accept and understand a request, user and system, ±10 %.
        parse: Span = Span::from_us(400), in Span::from_us(1) => Span::from_s(1);
        /// CPU time to send a piece of 4 kB, ±10 %.
        piece: Span = Span::from_us(100), in Span::from_us(1) => Span::from_s(1);
        /// Pieces of a thousand that have to come from disk first.
        missed: u64 = 200, in 0 => 1_000;
        /// Disks that share the files; each serves one read at a time.
        disks: u64 = 8, in 1 => 10_000;
        /// Time a disk needs for a read, exponential with this mean.
        disk: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
        /// Wait for the network to take a piece, exponential with this mean.
        network: Span = Span::from_ms(2), in Span::from_us(1) => Span::from_s(10);
        /// Duration of the run.
        duration: Span = Span::from_s(5), in Span::from_us(1) => Span::from_s(3600);
    }
}

/// Share of requests in millionths, and size unit in hundredths of a 4 kB piece.
const CLASSES: [(u32, u64); 4] = [(350_000, 3), (500_000, 25), (140_000, 250), (10_000, 2_500)];
/// Sizes of a class: one to nine units.
const SIZES: u64 = 9;

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let (inbox, disks) = (plan.mailbox(), plan.mailbox());
    add(&mut plan, "httpd", settings.workers, &forever_script(server(settings, inbox, disks)));
    add_clients(&mut plan, settings, inbox);
    let disk = vec![Op::Receive(disks), Op::SleepExponential(settings.disk), Op::Reply];
    add_outside(&mut plan, "disk", settings.disks, &forever(disk));
    plan.warmup = Span(settings.duration.0 / 10);
    plan
}

/// Adds the clients, each with one request at a time.
fn add_clients(plan: &mut Plan, settings: &Settings, inbox: Mailbox) {
    if settings.arrivals == Span::ZERO {
        return add_outside(plan, "client", settings.clients, &forever(vec![Op::Ask(inbox)]));
    }
    let due = plan.channel(ChannelKind::Semaphore);
    add_outside(plan, "client", settings.clients, &forever(vec![Op::Do(Step::Wait(due)), Op::Ask(inbox)]));
    let rate = vec![Op::SleepExponential(settings.arrivals), Op::Do(Step::Wake(due))];
    add_outside(plan, "rate", 1, &forever(rate));
}

/// One request: parse, then draw a class and a size, and send piece by piece.
fn server(settings: &Settings, inbox: Mailbox, disks: Mailbox) -> Script {
    let mut script = Script { ops: vec![Op::Receive(inbox), compute_about(settings.parse)], ..Script::default() };
    let mut ends = Vec::new();
    let mut left = 1_000_000u64;
    for (class, (share, unit)) in CLASSES.into_iter().enumerate() {
        let skip = script.ops.len();
        let among_left = u64::from(share) * 1_000_000 / left;
        left = left.saturating_sub(u64::from(share)).max(1);
        script.ops.push(Op::Chance { millionths: if class == 3 { 1_000_000 } else { among_left as u32 }, or_to: 0 });
        for size in 1..=SIZES {
            let next = script.ops.len();
            let millionths = (1_000_000 / (SIZES + 1 - size)) as u32;
            script.ops.push(Op::Chance { millionths: if size == SIZES { 1_000_000 } else { millionths }, or_to: 0 });
            send(&mut script, settings, disks, (unit * size).div_ceil(100));
            ends.push(script.ops.len());
            script.ops.push(Op::Jump(0));
            branch_to_here(&mut script, next);
        }
        branch_to_here(&mut script, skip);
    }
    let end = script.ops.len() as u32;
    ends.into_iter().for_each(|at| script.ops[at] = Op::Jump(end));
    script.ops.push(Op::Answer);
    script
}

/// Sends `pieces` pieces, each read from disk first if necessary. The network takes one at a time.
fn send(script: &mut Script, settings: &Settings, disks: Mailbox, pieces: u64) {
    let body = script.ops.len();
    let missing = script.ops.len();
    script.ops.push(Op::Chance { millionths: settings.missed as u32 * 1_000, or_to: 0 });
    script.ops.push(Op::AskDevice(disks));
    branch_to_here(script, missing);
    script.ops.push(compute_about(settings.piece));
    script.ops.push(Op::SleepExponential(settings.network));
    script.repeat_from(body, Some(pieces));
}
