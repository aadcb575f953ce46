//! A lightly loaded web server, as measured for Linux Journal in 1999: many processes, few of them runnable.

use super::parts::*;

pub const ABOUT: About = About {
    name: "light-server",
    summary: "Requests from outside at random times for many server processes, most of which sleep at any time.",
    source: "Linux Journal 57, January 1999: about 200 httpd of 420 processes, 395.8 switches a second, 2.5 runnable \
             on average. Poisson arrivals and exponential bursts are our choice; the defaults give those two \
             figures.",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Server processes.
        workers: u64 = 200, in 1 => 100_000;
        /// Other processes, asleep all the time.
        others: u64 = 220, in 0 => 100_000;
        /// Mean time between two requests; they come at random.
        arrivals: Span = Span::from_us(5050), in Span::from_us(1) => Span::from_s(100);
        /// CPU time between two waits of a request, exponential with this mean.
        burst: Span = Span::from_us(1800), in Span::from_us(1) => Span::from_s(10);
        /// Wait for the network in the middle of a request, exponential with this mean.
        network: Span = Span::from_ms(50), in Span::from_us(1) => Span::from_s(100);
        /// Mean time between starts of a compute-bound program, random; 0 for never.
        programmes: Span = Span::ZERO, in Span::ZERO => Span::from_s(3600);
        /// CPU time of such a programme, exponential with this mean.
        programme: Span = Span::from_s(1), in Span::from_us(1) => Span::from_s(100);
        /// Duration of the run.
        duration: Span = Span::from_s(10), in Span::from_us(1) => Span::from_s(36_000);
    }
}

/// Long programmes at a time at most; more wait.
const PROGRAMMES: u64 = 20;

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let (request, never) = (plan.channel(ChannelKind::Semaphore), plan.channel(ChannelKind::Semaphore));
    let ops = vec![
        Op::Do(Step::Wait(request)),
        Op::ComputeExponential(settings.burst),
        Op::SleepExponential(settings.network),
        Op::ComputeExponential(settings.burst),
    ];
    add(&mut plan, "httpd", settings.workers, &forever(ops));
    add(&mut plan, "other", settings.others, &forever(vec![Op::Do(Step::Wait(never))]));
    let arrivals = vec![Op::SleepExponential(settings.arrivals), Op::Do(Step::Wake(request))];
    add_outside(&mut plan, "network", 1, &forever(arrivals));
    if settings.programmes > Span::ZERO {
        let started = plan.channel(ChannelKind::Semaphore);
        let run = vec![Op::Do(Step::Wait(started)), Op::ComputeExponential(settings.programme)];
        add(&mut plan, "programme", PROGRAMMES, &forever(run));
        let starts = vec![Op::SleepExponential(settings.programmes), Op::Do(Step::Wake(started))];
        add_outside(&mut plan, "caller", 1, &forever(starts));
    }
    plan.warmup = Span(settings.duration.0 / 10);
    plan
}
