//! The average sleep of a task: what it gains by sleeping and waiting, and loses by running (specs 2.4 and 2.5).

use super::constants::{Constants, MAX_BONUS};
use super::{Activated, CREDIT_LIMIT, Entity, ON_RUNQUEUE_WEIGHT};
use goodness_core::{Context, TaskId, Time};

impl Entity {
    /// Adds `slept` ns to sleep_avg; tasks with a low sleep_avg get more (specs 2.4). `task`, which this is, is not
    /// real-time.
    #[inline(always)]
    pub fn reward(&mut self, c: &Constants, cx: &Context, task: TaskId, slept: u64) {
        let mut slept = if c.never_interactive(cx.tasks.class(task)) { 0 } else { slept.min(c.most_sleep) };
        let has_mm = cx.tasks.has_address_space(task);
        let limit = c.interactive_sleep(self.static_prio);
        let disk = self.activated == Activated::AfterDisk;
        let gain = i32::from(self.credit <= CREDIT_LIMIT);
        if has_mm && !disk && slept > limit {
            self.sleep_avg = c.interactive_average;
            self.credit += gain;
        } else if slept > 0 {
            slept *= (MAX_BONUS - c.bonus(self.sleep_avg)).max(1);
            if self.credit < -CREDIT_LIMIT {
                slept = slept.min(u64::from(c.slice(self.static_prio)) * c.tick);
            }
            if disk && gain > 0 && has_mm {
                slept = slept.min(limit.saturating_sub(self.sleep_avg));
            }
            self.sleep_avg += slept;
            if self.sleep_avg > c.most_sleep {
                self.sleep_avg = c.most_sleep;
                self.credit += gain;
            }
        }
        self.prio = c.earned_prio(self.static_prio, self.sleep_avg);
    }

    /// Counts waiting for the CPU as sleep at the first pick after a wake-up: fully after an interrupt, in part after a
    /// wake-up by a task (specs 2.5). True if that was a reward.
    #[inline(always)]
    pub fn reward_waiting(&mut self, c: &Constants, cx: &Context, task: TaskId) -> bool {
        let waited = cx.now.since(self.stamp).0;
        let counts = match self.activated {
            Activated::ByInterrupt => waited,
            Activated::ByTask => waited * ON_RUNQUEUE_WEIGHT / 100,
            Activated::No | Activated::AfterDisk => 0,
        };
        let is_rewarded = counts > 0 && !cx.tasks.class(task).is_realtime();
        if is_rewarded {
            self.reward(c, cx, task, counts);
        }
        self.activated = Activated::No;
        is_rewarded
    }

    /// Subtracts the run time from sleep_avg as the task leaves its CPU at `now` (specs 2.5 "prev accounting").
    #[inline(always)]
    pub fn account(&mut self, c: &Constants, now: Time) {
        let mut ran = std::mem::take(&mut self.ran).min(c.most_sleep);
        if self.credit > CREDIT_LIMIT {
            ran /= c.bonus(self.sleep_avg).max(1);
        }
        self.stamp = now;
        if ran < self.sleep_avg {
            self.sleep_avg -= ran;
            return;
        }
        self.sleep_avg = 0;
        if self.credit.abs() <= CREDIT_LIMIT {
            self.credit -= 1;
        }
    }
}
