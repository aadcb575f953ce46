//! Weights of the fair classes and virtual time, in the fixed-point arithmetic of Linux.
//!
//! Source: specs section 5.1: nice 0 weighs 1024 and each step is a factor of about 1.25. A nanosecond of CPU time is
//! 1024 / weight nanoseconds of virtual time. The rounding (32-bit inverse weights, truncated products) is kept because
//! runs of equal tasks are decided by single nanoseconds.

use goodness_core::{Class, Nice, Span};

/// Weight of nice 0.
pub const UNIT: u64 = 1024;

/// [`Nice::WEIGHTS`] with their inverses.
const BY_NICE: [Weight; 40] = {
    let (mut weights, mut nice) = ([Weight::of(UNIT); 40], 0);
    while nice < 40 {
        weights[nice] = Weight::of(Nice::WEIGHTS[nice] as u64);
        nice += 1;
    }
    weights
};

/// A weight with its inverse, so that virtual time needs no division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The weight, [`UNIT`] for nice 0.
    pub value: u64,
    /// 2³² / weight, rounded to the nearest.
    inverse: u64,
}

impl Default for Weight {
    fn default() -> Self {
        Weight::of(UNIT)
    }
}

impl Weight {
    /// The weight `value`, at least 1.
    pub const fn of(value: u64) -> Weight {
        Weight { value, inverse: ((1 << 32) + value / 2) / value }
    }

    /// Weight of a task of this class and nice; `idle` is the weight of SCHED_IDLE.
    #[inline]
    pub fn of_task(class: Class, nice: Nice, idle: u64) -> Weight {
        if class == Class::Idle { Weight::of(idle) } else { BY_NICE[nice.index()] }
    }

    /// Virtual time of `span` ns of CPU time.
    #[inline]
    pub fn virtual_time(self, span: u64) -> i64 {
        if self.value == UNIT { span as i64 } else { scaled(span, UNIT, self.inverse) as i64 }
    }

    /// CPU time after which at least `distance` of virtual time has passed; 0 for what is past.
    pub fn real_time(self, distance: i64) -> Span {
        let Ok(distance) = u64::try_from(distance) else { return Span::ZERO };
        let span = (u128::from(distance) * u128::from(self.value)).div_ceil(u128::from(UNIT));
        let mut span = u64::try_from(span).unwrap_or(u64::MAX);
        // Virtual time is rounded down.
        while self.virtual_time(span) < distance as i64 {
            span += 1;
        }
        Span(span)
    }

    /// The share of `span` that this weight has among all of weight `total`.
    #[inline]
    pub fn share(self, span: u64, total: u64) -> u64 {
        scaled(span, self.value, u64::from(u32::MAX) / total.max(1))
    }
}

/// `span · factor · inverse / 2³²`, with the product of factor and inverse cut to 32 bits first.
#[inline]
fn scaled(span: u64, factor: u64, inverse: u64) -> u64 {
    let mut product = factor * inverse;
    let mut shift = 32;
    let high = product >> 32;
    if high != 0 {
        let cut = 64 - high.leading_zeros();
        shift -= cut;
        product >>= cut;
    }
    ((u128::from(span) * u128::from(product)) >> shift) as u64
}

/// Factor by which latencies grow with the machine (specs section 5.1): 1 + log2(min(CPUs, 8)).
pub fn scaling(cpus: usize) -> u64 {
    1 + u64::from(cpus.clamp(1, 8).ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nice(value: i64) -> Weight {
        Weight::of_task(Class::Normal, Nice::new(value).unwrap(), 3)
    }

    /// Specs section 5.1.
    #[test]
    fn weights_are_the_published_ones() {
        let listed =
            [(-20, 88761), (-10, 9548), (-5, 3121), (-3, 1991), (0, 1024), (1, 820), (5, 335), (10, 110), (19, 15)];
        for (n, weight) in listed {
            assert_eq!(nice(n).value, weight);
        }
    }

    #[test]
    fn virtual_time_runs_faster_for_light_tasks() {
        assert_eq!(nice(0).virtual_time(1_000_000), 1_000_000);
        assert_eq!(nice(19).virtual_time(15_000_000) / 1_000_000, 1_023);
        assert_eq!(nice(-20).virtual_time(88_761_000) / 1_000, 1_023);
    }

    #[test]
    fn real_time_is_the_least_span_that_covers_a_virtual_one() {
        for weight in [nice(0), nice(7), nice(19), nice(-20)] {
            for distance in [1, 699_999, 2_100_000] {
                let span = weight.real_time(distance).0;
                assert!(weight.virtual_time(span) >= distance, "{weight:?} {distance}");
                assert!(
                    weight.virtual_time(span.saturating_sub(2 + span / 100_000)) < distance,
                    "{weight:?} {distance}"
                );
            }
        }
        assert_eq!(nice(5).real_time(-1), Span::ZERO);
    }

    /// Specs section 5.1: factor 1, 2, 3, 4 for 1, 2, 4, 8 and more CPUs.
    #[test]
    fn latencies_scale_with_the_logarithm_of_the_cpus() {
        assert_eq!([1, 2, 3, 4, 8, 64].map(scaling), [1, 2, 2, 3, 4, 4]);
    }
}
