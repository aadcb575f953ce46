//! Host work on random streams, held against an account that does one nanosecond of it at a time.

use crate::{END, Host, assert_close};
use goodness_core::{CpuId, Event, Observer, Overhead, Seed, Span, Time};
use goodness_observe::{Measured, Metrics};

/// Work of a CPU, and whether an idle CPU has it.
struct Work {
    reported: u64,
    left: u64,
    on_idle: bool,
}

/// CPU time, in nanoseconds.
#[derive(Default)]
struct Account {
    in_slices: u64,
    on_idle: u64,
    scheduling: u64,
    /// What idle CPUs were reported to do, done or not.
    reported_on_idle: u64,
}

/// The events of `host`, with work reported before many of them: much of it more than the CPU has time for.
fn with_work(host: &Host, seed: u64) -> Vec<(Time, Event)> {
    let (mut rng, mut events) = (Seed(seed).rng(), Vec::new());
    for (at, event) in &host.events {
        while rng.below(3) == 0 {
            let cpu = match event {
                Event::Switch { cpu, .. } if rng.below(2) == 0 => *cpu,
                _ => CpuId(rng.below(host.running.len() as u64) as u32),
            };
            let kind = [Overhead::Search, Overhead::Switch, Overhead::Tick][rng.below(3) as usize];
            events.push((*at, Event::Overhead { cpu, kind, span: Span(1 + rng.below(400)) }));
        }
        events.push((*at, *event));
    }
    events
}

/// What CPU `cpu` does from `from` on.
fn account(events: &[(Time, Event)], cpu: CpuId, from: u64) -> Account {
    let (mut all, mut runs, mut pending, mut next) = (Account::default(), false, Vec::<Work>::new(), 0);
    for now in 0..END.ns() {
        while let Some((_, event)) = events.get(next).filter(|(at, _)| at.ns() == now) {
            next += 1;
            match *event {
                Event::Overhead { cpu: on, span, .. } if on == cpu && now > from => {
                    all.reported_on_idle += if runs { 0 } else { span.ns() };
                    pending.push(Work { reported: now, left: span.ns(), on_idle: !runs });
                }
                Event::Switch { cpu: on, next, .. } if on == cpu && runs != next.is_some() => {
                    runs = next.is_some();
                    pending.retain(|work| !runs || !work.on_idle || work.reported == now);
                    pending.iter_mut().filter(|work| work.reported == now).for_each(|work| work.on_idle = !runs);
                }
                _ => {}
            }
        }
        pending.retain(|work| work.left > 0);
        let works = pending.first_mut().map(|work| work.left -= 1).is_some();
        if now >= from {
            all.in_slices += u64::from(runs);
            all.on_idle += u64::from(works && !runs);
            all.scheduling += u64::from(works);
        }
    }
    all
}

/// Shares of CPU time that are more than all of it, or less than nothing.
fn impossible_shares(measured: &Measured) -> Vec<&'static str> {
    let is_share = |name: &str| {
        name.starts_with("scheduler_share") || ["cpu_share", "cpu_busy", "utilisation", "spin_share"].contains(&name)
    };
    let shares = measured.values.iter().filter(|value| is_share(value.about.name));
    let impossible = shares.filter(|it| it.value.is_some_and(|share| !(0.0..=1.0).contains(&share)));
    impossible.map(|value| value.about.name).collect()
}

#[test]
fn no_share_of_the_cpu_time_is_more_than_all_of_it() {
    let mut beyond = 0;
    for seed in 0..60 {
        let (host, from) = (Host::draw(seed, false, false), [0, 20_000][seed as usize % 2]);
        let (cpus, events) = (host.running.len(), with_work(&host, seed));
        let mut metrics = Metrics::new(cpus, Time(from), &host.subjects);
        events.iter().for_each(|(at, event)| metrics.observe(*at, event));
        let measured = metrics.finish(END);
        assert_eq!(impossible_shares(&measured), [""; 0], "seed {seed}");
        let accounts: Vec<Account> = (0..cpus).map(|cpu| account(&events, CpuId(cpu as u32), from)).collect();
        let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>() as f64;
        let there_was = (END.ns() - from) as f64 * cpus as f64;
        let busy = sum(|it| it.in_slices + it.on_idle);
        assert_close(&measured, "cpu_busy", busy / there_was);
        if busy > 0.0 {
            assert_close(&measured, "scheduler_share", sum(|it| it.scheduling) / busy);
        }
        beyond += u32::from(sum(|it| it.in_slices + it.reported_on_idle) > there_was);
    }
    assert!(beyond > 10, "only {beyond} streams report more work than there is time for");
}

#[test]
fn an_impossible_share_is_found() {
    let mut measured = Metrics::new(1, Time::ZERO, &[]).finish(END);
    assert_eq!(impossible_shares(&measured), [""; 0]);
    for (name, share) in [("cpu_busy", 1.08), ("scheduler_share_lock", -0.1)] {
        measured.values.iter_mut().find(|it| it.about.name == name).expect("is listed").value = Some(share);
    }
    assert_eq!(impossible_shares(&measured), ["scheduler_share_lock", "cpu_busy"]);
}
