//! Limits on the CPU time of groups (`cpu.max`): a pool for each group, filled once a period, from which its queues
//! take slices. A queue that gets nothing is throttled until the pool is filled again or another queue returns time.
//!
//! Source: docs/specs/groups-locks.md sections 2.1 to 2.3. Queues are throttled at a pick, as up to 6.18.
//! Departures: throttled queues of other CPUs are released at the refill, without the time of an interrupt. A period
//! never doubles.

use super::order::{Arrival, Order, QueueId};
use super::{Running, Stack};
use goodness_core::{Context, CpuId, CpuStat, Enqueue, GroupId, Quota, Rng, Span, Time};

/// CPU time that a queue takes at once.
const SLICE: i64 = 5_000_000;
/// CPU time that a queue keeps when it becomes empty.
const KEPT: i64 = 1_000_000;
/// Time from a return to the release of throttled queues.
const SLACK: Span = Span::from_ms(5);
/// Nothing is released this short before a refill.
const NEAR: Span = Span::from_ms(2);

/// The limit of one group.
#[derive(Clone, Debug)]
struct Pool {
    quota: Quota,
    /// CPU time in the pool, ns.
    left: i64,
    /// Time of the next refill; `NEVER` while nothing is used.
    refill: Time,
    /// Refills come at multiples of the period after this time.
    phase: Span,
    /// Time at which throttled queues share what others returned.
    slack: Time,
    /// CPU time in the pool after the last refill.
    filled: i64,
    /// Nothing was taken since the last refill.
    is_idle: bool,
    stat: CpuStat,
    /// Throttled queues, the oldest first.
    throttled: Vec<QueueId>,
}

impl Pool {
    fn starts(&mut self, now: Time) {
        self.is_idle = false;
        if self.refill == Time::NEVER {
            let (period, phase) = (self.quota.period.0, self.phase.0);
            let periods = if now.0 < phase { 0 } else { (now.0 - phase) / period + 1 };
            self.refill = Time(phase + periods * period);
        }
    }

    /// Fills the pool at the end of a period. Throttled queues may then be released.
    fn fill(&mut self) {
        let most = self.quota.quota.0 + self.quota.burst.0;
        self.left += self.quota.quota.0 as i64;
        self.count();
        self.left = self.left.min(most as i64);
        self.filled = self.left;
        if self.is_idle && self.throttled.is_empty() {
            self.refill = Time::NEVER;
            return;
        }
        self.is_idle = self.throttled.is_empty();
        self.refill += self.quota.period;
    }

    /// Counts a period that ends. The pool has the quota of the next one already.
    fn count(&mut self) {
        let beyond_quota = self.filled - self.left;
        self.stat.periods += 1;
        self.stat.throttled_periods += u64::from(!self.throttled.is_empty());
        if beyond_quota > 0 {
            self.stat.bursts += 1;
            self.stat.burst += Span(beyond_quota as u64);
        }
    }

    fn is_refilled_within(&self, now: Time, span: Span) -> bool {
        self.refill.since(now) < span
    }
}

/// One queue of a limited group.
#[derive(Clone, Copy, Debug, Default)]
struct Local {
    /// CPU time it may still use, ns; debt if negative.
    left: i64,
    is_throttled: bool,
    /// Time at which the last throttling stopped a task; `NEVER` if it has stopped none.
    since: Time,
}

/// The limits of all groups.
#[derive(Clone, Debug)]
pub struct Bandwidth {
    cpus: u32,
    /// By group.
    pools: Vec<Option<Pool>>,
    /// By queue.
    locals: Vec<Local>,
    /// Queues to be released now.
    released: Vec<QueueId>,
    /// Earliest time at which a pool wants attention.
    next: Time,
}

impl Bandwidth {
    /// The limits of `quotas`, by group; refills come at multiples of the periods, or with `rng` at times of their own.
    pub fn new(quotas: impl Iterator<Item = Option<Quota>>, cpus: u32, mut rng: Option<Rng>) -> Bandwidth {
        let mut phase = |period: Span| rng.as_mut().map_or(Span::ZERO, |rng| Span(rng.below(period.0)));
        let mut pool = |quota: Quota| Pool {
            quota,
            left: quota.quota.0 as i64,
            filled: quota.quota.0 as i64,
            stat: CpuStat::default(),
            refill: Time::NEVER,
            phase: phase(quota.period),
            slack: Time::NEVER,
            is_idle: true,
            throttled: Vec::with_capacity(cpus as usize),
        };
        let pools: Vec<Option<Pool>> = quotas.map(|quota| quota.map(&mut pool)).collect();
        let queues = pools.len() * cpus as usize;
        let locals = vec![Local { left: 1, ..Local::default() }; queues];
        Bandwidth { cpus, pools, locals, released: Vec::with_capacity(queues), next: Time::NEVER }
    }

    fn group(&self, queue: QueueId) -> usize {
        (queue.0 / self.cpus) as usize
    }

    /// True if the queue is throttled.
    pub fn is_throttled(&self, queue: QueueId) -> bool {
        self.locals[queue.index()].is_throttled
    }

    /// Time of the next call of [`Bandwidth::expire`].
    pub fn next(&self) -> Time {
        self.next
    }

    /// Charges `ran` to the queue; false if it must be throttled, and is not yet.
    pub fn charge(&mut self, now: Time, queue: QueueId, ran: Span) -> bool {
        let group = self.group(queue);
        let Some(pool) = &mut self.pools[group] else { return true };
        let local = &mut self.locals[queue.index()];
        local.left -= ran.0 as i64;
        if local.left <= 0 && !local.is_throttled {
            let taken = pool.left.min(SLICE - local.left);
            pool.starts(now);
            pool.left -= taken;
            local.left += taken;
            self.next = self.next.min(pool.refill);
        }
        local.left > 0 || local.is_throttled
    }

    /// Figures of the limit of `group` so far.
    pub fn stat(&self, group: GroupId) -> Option<CpuStat> {
        self.pools.get(group.index())?.as_ref().map(|pool| pool.stat)
    }

    /// The queue is throttled from now on. No task has been stopped yet.
    pub fn throttle(&mut self, queue: QueueId) {
        let group = self.group(queue);
        let local = &mut self.locals[queue.index()];
        (local.is_throttled, local.since) = (true, Time::NEVER);
        self.pools[group].iter_mut().for_each(|pool| pool.throttled.push(queue));
    }

    /// The queue, if it is throttled, stops a task.
    pub fn stops(&mut self, now: Time, queue: QueueId) {
        let local = &mut self.locals[queue.index()];
        if local.is_throttled {
            local.since = local.since.min(now);
        }
    }

    /// The queue is empty: it returns all but a little.
    pub fn give_back(&mut self, now: Time, queue: QueueId) {
        let group = self.group(queue);
        let Some(pool) = &mut self.pools[group] else { return };
        let local = &mut self.locals[queue.index()];
        let returned = local.left - KEPT;
        if returned <= 0 {
            return;
        }
        local.left = KEPT;
        pool.left += returned;
        let is_worth = pool.left > SLICE && !pool.throttled.is_empty() && pool.slack == Time::NEVER;
        if is_worth && !pool.is_refilled_within(now, SLACK + NEAR) {
            pool.slack = now + SLACK;
            self.next = self.next.min(pool.slack);
        }
    }

    /// Refills the pools whose period is over, and shares what was returned. [`Bandwidth::pop_released`] has the queues
    /// that run again.
    pub fn expire(&mut self, now: Time) {
        if now < self.next {
            return;
        }
        self.next = Time::NEVER;
        for pool in self.pools.iter_mut().flatten() {
            let mut shares = false;
            if now >= pool.slack {
                pool.slack = Time::NEVER;
                shares = !pool.is_refilled_within(now, NEAR) && pool.left > SLICE;
            }
            if now >= pool.refill {
                pool.fill();
                shares = true;
            }
            while shares && pool.left > 0 && !pool.throttled.is_empty() {
                let queue = pool.throttled[0];
                let local = &mut self.locals[queue.index()];
                let taken = (1 - local.left).min(pool.left);
                pool.left -= taken;
                local.left += taken;
                if local.left <= 0 {
                    break;
                }
                pool.throttled.remove(0);
                pool.stat.throttled += now.since(local.since.min(now));
                self.released.push(queue);
            }
            self.next = self.next.min(pool.refill).min(pool.slack);
        }
    }

    /// The queue that was released first, of those that are still to run again. It is throttled until now: what joins
    /// it between the refill and its release is not to join the queues around it alone.
    pub fn pop_released(&mut self) -> Option<QueueId> {
        if self.released.is_empty() {
            return None;
        }
        let queue = self.released.remove(0);
        self.locals[queue.index()].is_throttled = false;
        Some(queue)
    }
}

impl<O: Order> Stack<O> {
    /// Lets groups run whose limits were refilled. Returns the first CPU that idles and has work now.
    pub(super) fn release(&mut self, cx: &Context) -> Option<CpuId> {
        if self.order.has_limbo() && self.order.next_refill() <= cx.now {
            // What runs on in the kernel adds to the debt.
            cx.machine.cpu_ids().for_each(|cpu| self.catch_up(cx, cpu));
        }
        while let Some((cpu, queue)) = self.order.next_released(cx.now) {
            self.catch_up(cx, cpu);
            self.order.release(cx, &mut self.loads, queue);
            while let Some(task) = self.order.next_unparked(queue) {
                self.order.enqueue(cx, &mut self.loads, cpu, task, Arrival::Wake);
                self.time_arrival(cpu);
                self.arrives(cx, cpu, task, Enqueue::Preempted);
            }
            self.watch_server(cx, cpu);
            self.note_tasks(cx, cpu);
            let it = &mut self.cpus[cpu.index()];
            if it.running == Running::Nothing && self.order.queued(cpu) > 0 {
                it.resched = true;
                return Some(cpu);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_ms;
    /// Queues of group 1 on two CPUs.
    const QUEUES: [QueueId; 2] = [QueueId(2), QueueId(3)];

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn limited(quota: u64, burst: u64) -> Bandwidth {
        let quota = Quota::new(MS(quota), MS(100)).unwrap().with_burst(MS(burst)).unwrap();
        Bandwidth::new([None, Some(quota)].into_iter(), 2, None)
    }

    fn pool(bandwidth: &mut Bandwidth) -> &mut Pool {
        bandwidth.pools[1].as_mut().unwrap()
    }

    /// T-BW-5: docs/specs/groups-locks.md section 7.
    #[test]
    fn what_was_not_used_is_there_once_more_up_to_the_burst() {
        let mut bandwidth = limited(20, 20);
        let two_periods = |bandwidth: &mut Bandwidth| {
            pool(bandwidth).starts(at(0));
            bandwidth.next = at(100);
            [100, 200].iter().for_each(|ms| bandwidth.expire(at(*ms)));
        };
        two_periods(&mut bandwidth);
        assert_eq!((pool(&mut bandwidth).left, pool(&mut bandwidth).refill), (40_000_000, Time::NEVER));
        let mut without = limited(20, 0);
        two_periods(&mut without);
        assert_eq!(pool(&mut without).left, 20_000_000);
    }

    /// T-BW-6: docs/specs/groups-locks.md section 7.
    #[test]
    fn a_queue_that_becomes_empty_keeps_a_millisecond() {
        let mut bandwidth = limited(50, 0);
        let queue = QUEUES[0];
        bandwidth.locals[queue.index()].left = 0;
        assert!(bandwidth.charge(at(0), queue, Span::ZERO));
        assert_eq!((bandwidth.locals[queue.index()].left, pool(&mut bandwidth).left), (5_000_000, 45_000_000));
        assert!(bandwidth.charge(at(0), queue, Span::from_us(200)));
        bandwidth.give_back(at(0), queue);
        assert_eq!((bandwidth.locals[queue.index()].left, pool(&mut bandwidth).left), (1_000_000, 48_800_000));
    }

    /// T-BW-7: docs/specs/groups-locks.md section 7.
    #[test]
    fn what_is_returned_late_waits_for_the_refill() {
        let returned_at = |ms| {
            let mut bandwidth = limited(50, 0);
            assert!(bandwidth.charge(at(0), QUEUES[0], MS(1)));
            pool(&mut bandwidth).left = 0;
            bandwidth.locals[QUEUES[1].index()].left = -1_000_000;
            bandwidth.throttle(QUEUES[1]);
            bandwidth.locals[QUEUES[0].index()].left = 11_000_000;
            bandwidth.give_back(at(ms), QUEUES[0]);
            let slack = pool(&mut bandwidth).slack;
            bandwidth.expire(slack.min(at(99)));
            (slack, bandwidth.pop_released())
        };
        assert_eq!(returned_at(94), (Time::NEVER, None));
        assert_eq!(returned_at(92), (at(97), Some(QUEUES[1])));
    }

    /// docs/specs/groups-locks.md section 2.2, "Return": only more than a slice is shared before the refill.
    #[test]
    fn a_pool_of_just_a_slice_waits_for_the_refill() {
        let released = |left: i64| {
            let mut bandwidth = limited(50, 0);
            pool(&mut bandwidth).starts(at(0));
            bandwidth.locals[QUEUES[1].index()].left = -1_000_000;
            bandwidth.throttle(QUEUES[1]);
            pool(&mut bandwidth).left = left;
            pool(&mut bandwidth).slack = at(50);
            bandwidth.next = at(50);
            bandwidth.expire(at(50));
            bandwidth.pop_released()
        };
        assert_eq!([released(5_000_000), released(5_000_001)], [None, Some(QUEUES[1])]);
    }

    /// docs/specs/groups-locks.md section 2.2: oldest first, each its debt and a nanosecond.
    #[test]
    fn a_refill_releases_the_oldest_first_while_it_lasts() {
        let mut bandwidth = limited(20, 0);
        pool(&mut bandwidth).starts(at(0));
        pool(&mut bandwidth).left = 0;
        for (queue, debt) in [(QUEUES[1], 18_000_000), (QUEUES[0], 3_000_000)] {
            bandwidth.locals[queue.index()].left = -debt;
            bandwidth.throttle(queue);
            bandwidth.stops(at(60), queue);
        }
        bandwidth.next = at(100);
        bandwidth.expire(at(100));
        assert_eq!((bandwidth.pop_released(), bandwidth.pop_released()), (Some(QUEUES[1]), None));
        assert_eq!(bandwidth.locals[QUEUES[0].index()].left, -1_000_001);
        assert!(bandwidth.is_throttled(QUEUES[0]) && !bandwidth.is_throttled(QUEUES[1]));
        let stat = bandwidth.stat(GroupId(1)).unwrap();
        assert_eq!((stat.periods, stat.throttled_periods, stat.throttled), (1, 1, MS(40)), "one of two is released");
        assert_eq!(bandwidth.stat(GroupId::ROOT), None);
    }
}
