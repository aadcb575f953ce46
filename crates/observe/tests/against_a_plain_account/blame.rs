//! Blame on random streams, held against an account that looks at every nanosecond.

use crate::{END, Host};
use goodness_core::{CpuId, Event, Observer, Off, Span, TaskId, Time, WakeSource};
use goodness_observe::Subject;
use goodness_observe::blame::{Blame, Cause, Explained, Late, Longest, Of};
use std::collections::BTreeMap;

/// Who runs where, and who waits where, at each nanosecond.
struct Film {
    running: Vec<Vec<Option<u32>>>,
    waiting: Vec<Vec<Option<usize>>>,
    waits: Vec<Late>,
    /// Number of waits of judged tasks that a waking began.
    woken: u64,
}

impl Film {
    fn of(host: &Host) -> Film {
        let (cpus, tasks, length) = (host.running.len(), host.subjects.len(), END.ns() as usize);
        let mut film = Film {
            running: vec![vec![None; length]; cpus],
            waiting: vec![vec![None; length]; tasks],
            waits: Vec::new(),
            woken: 0,
        };
        let (mut runs, mut waits) = (vec![None; cpus], vec![None; tasks]);
        let mut now = 0;
        for (at, event) in &host.events {
            film.expose(&runs, &waits, now, at.ns());
            now = at.ns();
            match *event {
                Event::Wakeup { task, cpu, .. } => {
                    waits[task.index()] = Some((cpu.index(), now));
                    // A task that is there from the start was not woken.
                    film.woken += u64::from(host.subjects[task.index()].judged && now > 0);
                }
                Event::Migrate { task, to, .. } => {
                    if let Some((cpu, _)) = &mut waits[task.index()] {
                        *cpu = to.index();
                    }
                }
                Event::Switch { cpu, prev, off, next } => {
                    if let Some(prev) = prev.filter(|_| off.is_runnable()) {
                        waits[prev.index()] = Some((cpu.index(), now));
                    }
                    if let Some(next) = next {
                        let (_, since) = waits[next.index()].take().expect("who is picked waited");
                        film.waits.push(Late { task: next, from: Time(since), to: *at, is_open: false });
                    }
                    runs[cpu.index()] = next.map(|task| task.0);
                }
                _ => {}
            }
        }
        film.expose(&runs, &waits, now, END.ns());
        for (task, wait) in waits.iter().enumerate() {
            let late = |(_, since)| Late { task: TaskId(task as u32), from: Time(since), to: END, is_open: true };
            film.waits.extend(wait.map(late));
        }
        film.waits.retain(|late| host.subjects[late.task.index()].judged);
        film
    }

    fn expose(&mut self, runs: &[Option<u32>], waits: &[Option<(usize, u64)>], from: u64, to: u64) {
        for now in from as usize..to as usize {
            self.running.iter_mut().zip(runs).for_each(|(cpu, runs)| cpu[now] = *runs);
            self.waiting.iter_mut().zip(waits).for_each(|(task, waits)| task[now] = waits.map(|(cpu, _)| cpu));
        }
    }

    /// What `task` waited for at `now`.
    fn cause(&self, host: &Host, task: TaskId, now: usize) -> Cause {
        let cpu = self.waiting[task.index()][now].expect("it waits");
        let Some(behind) = self.running[cpu][now].map(TaskId) else { return Cause::IdleCpu };
        let idle = (0..self.running.len()).filter(|other| self.running[*other][now].is_none());
        let idle: Vec<CpuId> = idle.map(|cpu| CpuId(cpu as u32)).collect();
        let may = |task: TaskId| idle.iter().any(|cpu| host.subjects[task.index()].affinity.contains(*cpu));
        match (may(task), may(behind)) {
            (false, false) => Cause::Behind(behind),
            (allowed, _) => Cause::BesideIdle { behind, allowed },
        }
    }

    fn sums(&self, host: &Host, late: &Late) -> BTreeMap<Cause, u64> {
        let mut sums = BTreeMap::new();
        for now in late.from.ns() as usize..late.to.ns() as usize {
            *sums.entry(self.cause(host, late.task, now)).or_default() += 1;
        }
        sums
    }
}

fn explained(host: &Host, wanted: &[Late]) -> Vec<Explained> {
    let mut all = Vec::new();
    let mut blame = Blame::new(host.running.len(), &host.subjects, (Of::All, wanted), |it| all.push(it));
    host.events.iter().for_each(|(at, event)| blame.observe(*at, event));
    blame.finish();
    all
}

#[test]
fn each_wait_of_drawn_streams_is_blamed_as_by_an_account_of_every_nanosecond() {
    for seed in 0..60 {
        let host = Host::draw(seed, seed % 2 == 1, false);
        let film = Film::of(&host);
        let mut longest = Longest::new(host.running.len(), Time::ZERO, &host.subjects, Of::All);
        host.events.iter().for_each(|(at, event)| longest.observe(*at, event));
        let found = longest.finish(END);
        let mut spans: Vec<Span> = film.waits.iter().map(Late::span).collect();
        spans.sort_unstable();
        let rank = (spans.len() * 99).div_ceil(100) - 1;
        let total: u64 = spans.iter().map(|span| span.ns()).sum();
        assert_eq!((found.count, found.total), (spans.len() as u64, Span(total)), "seed {seed}");
        assert_eq!(found.p99, Some(spans[rank]), "seed {seed}");
        assert_eq!(found.tail.first().map(Late::span), spans.last().copied(), "seed {seed}");
        let mut wakeups = Longest::new(host.running.len(), Time::ZERO, &host.subjects, Of::Wakeups);
        host.events.iter().for_each(|(at, event)| wakeups.observe(*at, event));
        assert_eq!(wakeups.finish(END).count, film.woken, "seed {seed}");
        let mut wanted = film.waits.clone();
        wanted.sort_unstable();
        wanted.dedup();
        let all = explained(&host, &wanted);
        assert_eq!(all.len(), wanted.len(), "seed {seed}");
        for Explained { late, segments, .. } in all {
            let mut sums = BTreeMap::new();
            let mut at = late.from;
            for segment in &segments {
                assert_eq!(segment.from, at, "seed {seed}: {late:?}: segments follow each other: {segments:?}");
                at += segment.span;
                *sums.entry(segment.cause).or_default() += segment.span.ns();
            }
            assert_eq!(at, late.to, "seed {seed}: {late:?}: they end with the wait: {segments:?}");
            assert_eq!(sums, film.sums(&host, &late), "seed {seed}: {late:?}");
        }
    }
}

/// A client asks a server, which needs a lock that a third task holds while a fourth has the CPU.
#[test]
fn a_request_is_followed_to_whom_its_server_waited_for_and_back() {
    let [client, server, holder, hog] = [0, 1, 2, 3].map(TaskId);
    let (zero, one) = (CpuId(0), CpuId(1));
    let wake = |task, waker, cpu| Event::Wakeup { task, waker, cpu, from: WakeSource::Task };
    let switch = |cpu, prev, off, next| Event::Switch { cpu, prev, off, next };
    let events = [
        (0, wake(holder, None, zero)),
        (0, switch(zero, None, Off::Sleeping, Some(holder))),
        (50, wake(hog, None, zero)),
        (60, switch(zero, Some(holder), Off::Preempted, Some(hog))),
        (90, wake(client, None, one)),
        (90, switch(one, None, Off::Sleeping, Some(client))),
        // The request begins at 100. The client wakes the server and sleeps.
        (110, wake(server, Some(client), one)),
        (120, switch(one, Some(client), Off::Sleeping, Some(server))),
        // The server sleeps for the lock.
        (150, switch(one, Some(server), Off::Sleeping, None)),
        (170, switch(zero, Some(hog), Off::Preempted, Some(holder))),
        (200, wake(server, Some(holder), one)),
        (205, switch(one, None, Off::Sleeping, Some(server))),
        (240, wake(client, Some(server), one)),
        (250, switch(one, Some(server), Off::Sleeping, Some(client))),
        (250, Event::Served { task: client, latency: Span(150) }),
    ];
    let late = Late { task: client, from: Time(100), to: Time(250), is_open: false };
    let subjects = vec![Subject::default(); 4];
    let mut all = Vec::new();
    let mut blame = Blame::new(2, &subjects, (Of::Requests, &[late]), |it| all.push(it));
    events.iter().for_each(|(at, event)| blame.observe(Time(*at), event));
    blame.finish();
    let told: Vec<(u64, u64, TaskId, Cause)> =
        all[0].segments.iter().map(|it| (it.from.ns(), it.span.ns(), it.task, it.cause)).collect();
    let beside = Cause::BesideIdle { behind: hog, allowed: true };
    let expected = [
        (100, 20, client, Cause::Computing),
        (120, 30, server, Cause::Computing),
        (150, 20, holder, beside),
        (170, 30, holder, Cause::Computing),
        (200, 5, server, Cause::IdleCpu),
        (205, 35, server, Cause::Computing),
        (240, 10, client, Cause::Behind(server)),
    ];
    assert_eq!(told, expected);
}
