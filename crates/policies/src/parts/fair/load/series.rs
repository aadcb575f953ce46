//! Decaying sums with a half-life of 32 periods of 1.05 ms, and their averages (PELT).
//!
//! Source: specs/smp.md section 2 (integer arithmetic included).

use goodness_core::Time;

/// Units of 1024 ns in a period.
pub(super) const PERIOD: u64 = 1024;
/// Sum of the series of a task that was always there, in units.
pub(super) const MOST: u64 = 47_742;
/// Periods after which nothing is left.
const FORGOTTEN: u64 = 2_016;
/// Utilisation of a task that always ran; load of one of nice 0 that was always queued.
pub const FULL: u64 = 1_024;
/// 2^(−n/32) in units of 2⁻³², truncated.
pub(super) const DECAY: [u64; 32] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];

/// `value` after `periods`.
pub(super) fn decayed(value: u64, periods: u64) -> u64 {
    if periods > FORGOTTEN {
        return 0;
    }
    let halved = value >> (periods / 32);
    ((u128::from(halved) * u128::from(DECAY[(periods % 32) as usize])) >> 32) as u64
}

/// Tasks during a span: weight and number of those on the queue, and whether one ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// Weight on the queue; of a task 1.
    pub weight: u64,
    /// Tasks on the queue.
    pub tasks: u64,
    /// True if one of them ran.
    pub runs: bool,
}

/// Three sums with their averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Series {
    pub(super) load_sum: u64,
    pub(super) runnable_sum: u64,
    pub(super) util_sum: u64,
    /// Time of the last update, in units; periods begin at multiples of [`PERIOD`].
    pub(super) at: u64,
    /// Average weight on the queue. It contains the scale of [`Series::advance`], `load_sum` does not.
    pub load: u64,
    /// Average number of tasks on the queue, times [`FULL`].
    pub runnable: u64,
    /// Average share of time in which one ran, times [`FULL`].
    pub util: u64,
}

impl Series {
    /// Brings the series up to `now`; `present` was there since the last time. `scale` multiplies the average load.
    #[inline]
    pub fn advance(&mut self, now: Time, present: Presence, scale: u64) {
        let now = now.0 / PERIOD;
        let passed = now - self.at;
        if passed == 0 {
            return;
        }
        let before = self.partial();
        self.at = now;
        let periods = (before + passed) / PERIOD;
        let mut added = passed;
        if periods > 0 {
            self.load_sum = decayed(self.load_sum, periods);
            self.runnable_sum = decayed(self.runnable_sum, periods);
            self.util_sum = decayed(self.util_sum, periods);
            let whole = MOST - decayed(MOST, periods) - PERIOD;
            added = decayed(PERIOD - before, periods) + whole + self.partial();
        }
        self.load_sum += present.weight * added;
        self.runnable_sum += present.tasks * added * FULL;
        self.util_sum += u64::from(present.runs) * added * FULL;
        if periods > 0 {
            self.average(scale);
        }
    }

    /// Units since the present period began.
    pub(super) fn partial(&self) -> u64 {
        self.at % PERIOD
    }

    /// Divisor of the sums at this place in a period.
    pub(super) fn divisor(&self) -> u64 {
        MOST - PERIOD + self.partial()
    }

    fn average(&mut self, scale: u64) {
        let divisor = self.divisor();
        self.load = scale * self.load_sum / divisor;
        self.runnable = self.runnable_sum / divisor;
        self.util = self.util_sum / divisor;
    }

    /// The average load changes at once.
    pub(super) fn add_load(&mut self, change: i64) {
        self.load = self.load.saturating_add_signed(change);
        self.load_sum = self.load_sum.saturating_add_signed(change * self.divisor() as i64);
    }

    /// Sets the sum of a load that is scaled by `weight`, and returns by how much the average changes.
    pub(super) fn set_load_sum(&mut self, weight: u64, sum: u64) -> i64 {
        let before = self.load;
        self.load_sum = sum;
        self.load = weight * sum / self.divisor();
        self.load as i64 - before as i64
    }

    /// Continues on the clock of another CPU, which shows `now`.
    pub(super) fn continue_at(&mut self, weight: u64, now: Time) {
        self.at = now.0 / PERIOD;
        let averages = [self.load, self.runnable, self.util];
        self.set(weight.max(1), averages);
    }

    /// Adds the averages of a task that came, whose load is `load`.
    pub(super) fn attach(&mut self, task: &Series) {
        let divisor = self.divisor();
        self.load += task.load;
        self.runnable += task.runnable;
        self.util += task.util;
        self.load_sum += task.load * divisor;
        self.runnable_sum += task.runnable * divisor;
        self.util_sum += task.util * divisor;
    }

    /// Takes away the averages of a task that left.
    pub(super) fn detach(&mut self, task: &Series) {
        let divisor = self.divisor();
        self.load = self.load.saturating_sub(task.load);
        self.runnable = self.runnable.saturating_sub(task.runnable);
        self.util = self.util.saturating_sub(task.util);
        self.load_sum = self.load_sum.saturating_sub(task.load * divisor);
        self.runnable_sum = self.runnable_sum.saturating_sub(task.runnable * divisor);
        self.util_sum = self.util_sum.saturating_sub(task.util * divisor);
    }

    /// Sets the averages, and the sums to match.
    pub(super) fn set(&mut self, weight: u64, [load, runnable, util]: [u64; 3]) {
        let divisor = self.divisor();
        (self.load, self.runnable, self.util) = (load, runnable, util);
        (self.load_sum, self.runnable_sum, self.util_sum) =
            (load * divisor / weight, runnable * divisor, util * divisor);
    }
}
