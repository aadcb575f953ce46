//! CPU of containers: what kubelet and runc make of requests and limits.
//!
//! Source: docs/specs/groups-locks.md section 1.7. Weights are those of runc from 1.3.2 and crun from 1.23 on; before,
//! a request of one CPU had the weight 39, not 100.

use goodness_core::{Quota, Span};

/// Least and greatest `cpu.shares`.
const SHARES: (u64, u64) = (2, 262_144);
/// The greatest number of CPUs: beyond any machine.
const CPUS_MAX: u64 = 1 << 20;

/// Thousandths of a CPU, as Kubernetes writes them: `250m`, `0.5`, `2`.
///
/// # Errors
/// A sentence if it is none.
pub fn milli_cpus(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is no number of CPUs; write 250m, 0.5 or 2");
    let digits = |text: &str| if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None };
    let milli: Option<u64> = match (text.strip_suffix('m'), text.split_once('.')) {
        (Some(milli), _) => digits(milli),
        (None, Some((whole, part))) if !part.is_empty() && part.len() <= 3 => {
            let thousandths = digits(&format!("{part:0<3}"));
            let whole: Option<u64> = digits(whole);
            whole.zip(thousandths).and_then(|(whole, part): (u64, u64)| whole.checked_mul(1000)?.checked_add(part))
        }
        (None, Some(_)) => None,
        (None, None) => digits(text).and_then(|whole: u64| whole.checked_mul(1000)),
    };
    milli.filter(|milli| *milli <= CPUS_MAX * 1000).ok_or_else(wrong)
}

/// The `cpu.shares` of a request.
#[must_use]
pub fn shares(milli_cpus: u64) -> u64 {
    (milli_cpus * 1024 / 1000).clamp(SHARES.0, SHARES.1)
}

/// The `cpu.weight` of a request, from 1 to 10000.
#[must_use]
pub fn cpu_weight(milli_cpus: u64) -> u64 {
    // Through (2, 1), (1024, 100) and (262144, 10000) of shares and weights.
    let log = libm::log2(shares(milli_cpus) as f64);
    let exact = libm::pow(10.0, (log * log + 125.0 * log - 126.0) / 612.0);
    (exact.ceil() as u64).clamp(1, 10_000)
}

/// The `cpu.max` of a limit, of a millisecond at least; `None` for 0, which is no limit.
#[must_use]
pub fn cpu_max(milli_cpus: u64) -> Option<Quota> {
    let quota = Span(Quota::PERIOD.0 / 1000 * milli_cpus).max(Span::from_ms(1));
    (milli_cpus > 0).then_some(Quota { quota, period: Quota::PERIOD, burst: Span::ZERO })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T-GRP-10 and the table of docs/specs/groups-locks.md section 1.7, its newer weights.
    #[test]
    fn requests_have_the_shares_and_weights_of_kubelet_and_runc() {
        for (request, expected_shares, weight) in [
            ("0", 2, 1),
            ("100m", 102, 17),
            ("500m", 512, 59),
            ("1", 1024, 100),
            ("4", 4096, 303),
            ("4096", 262_144, 10_000),
        ] {
            let milli = milli_cpus(request).expect(request);
            assert_eq!((shares(milli), cpu_weight(milli)), (expected_shares, weight), "{request}");
        }
        // Checked by runc: 2000 shares.
        assert_eq!((shares(1954), cpu_weight(1954)), (2000, 170));
    }

    #[test]
    fn limits_are_quotas_of_a_tenth_of_a_second_and_of_a_millisecond_at_least() {
        let quota = |text: &str| cpu_max(milli_cpus(text).expect(text)).map(|it| it.quota);
        assert_eq!(quota("500m"), Some(Span::from_ms(50)));
        assert_eq!(quota("2.5"), Some(Span::from_ms(250)));
        assert_eq!((quota("5m"), quota("0")), (Some(Span::from_ms(1)), None));
    }

    #[test]
    fn what_is_no_number_of_cpus_is_refused() {
        for text in ["", "m", "-1", "1.", ".5", "0.0005", "1e3", "+1", "2 m", "99999999999999999999", "9999999"] {
            assert!(milli_cpus(text).is_err(), "{text}");
        }
        assert_eq!((milli_cpus("0.05"), milli_cpus("007")), (Ok(50), Ok(7000)));
    }
}
