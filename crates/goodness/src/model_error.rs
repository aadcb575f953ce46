//! The measured error of simulated schedulers on several CPUs, by policy and figure: `fidelity/smp.toml`.
//!
//! Synthetic loads were played by real threads on real kernels and simulated (`docs/fidelity/smp.md`). How far the
//! simulation was off is part of what any synthetic run on several CPUs says. Runs on one CPU, runs of policies without
//! such a measurement, and replays, which have errors of their own, do not carry it.

use crate::contender::Contender;
use serde::Deserialize;
use std::sync::LazyLock;

/// The error of one policy in one figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelError {
    /// Name of the policy.
    pub policy: String,
    /// Figure (`fidelity/smp/README.md`).
    pub figure: String,
    /// Values that were compared with a kernel's.
    pub cases: usize,
    /// Root mean square error as a natural logarithm.
    pub log_error: f64,
    /// The 95 % interval of a simulated value, as a factor in either direction.
    pub factor: f64,
}

/// All measured errors.
///
/// # Panics
/// Never: a test reads the file that the library was built with.
pub static MODEL_ERRORS: LazyLock<Vec<ModelError>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        error: Vec<ModelError>,
    }
    let text = include_str!("../../../fidelity/smp.toml");
    toml::from_str::<File>(text).expect("fidelity/smp.toml is read by a test").error
});

/// Figures that the sentence names, and what it calls them.
const NAMED: [(&str, &str); 5] = [
    ("share", "CPU share"),
    ("switches", "switches"),
    ("migrations", "migrations"),
    ("wakeup_latency_p50", "p50 wake-up latency"),
    ("wakeup_latency_p99", "p99 wake-up latency"),
];

/// The figure that stands for `metric`; the mean and the high percentiles of latencies have the error of the 99th.
fn figure_of(metric: &str) -> Option<&str> {
    match metric {
        "context_switches" => Some("switches"),
        "migrations" | "wakeup_latency_p50" => Some(metric),
        "idle_while_queued" => Some("idle_while_waiting"),
        _ => metric.starts_with("wakeup_latency_").then_some("wakeup_latency_p99"),
    }
}

fn error(policy: &str, figure: &str) -> Option<&'static ModelError> {
    MODEL_ERRORS.iter().find(|it| it.policy == policy && it.figure == figure)
}

/// True if `contender` runs on several CPUs, on a machine of `cpus` or one that it changes.
fn is_on_several(contender: &Contender, cpus: u32) -> bool {
    cpus > 1 || contender.edits.iter().any(|edit| edit.kind() == "cpus")
}

/// Error of the value of `metric` that was simulated under `contender` on `cpus` CPUs, as a factor less 1. `None` on
/// one CPU, and where it was not measured.
pub(crate) fn model_error(contender: &Contender, cpus: u32, metric: &str) -> Option<f64> {
    let error = error(contender.policy.name, figure_of(metric)?).filter(|_| is_on_several(contender, cpus))?;
    Some(error.factor - 1.0)
}

/// The sentence that reports of synthetic runs say, if one of `contenders` has such an error.
pub(crate) fn sentence<'a>(contenders: impl Iterator<Item = &'a Contender>, cpus: u32) -> Option<String> {
    let mut policies: Vec<&str> = Vec::new();
    for contender in contenders.filter(|it| is_on_several(it, cpus)) {
        let name = contender.policy.name;
        if !policies.contains(&name) && MODEL_ERRORS.iter().any(|it| it.policy == name) {
            policies.push(name);
        }
    }
    let of_policy = |policy: &&str| {
        let factor = |(figure, name): &(&str, &str)| error(policy, figure).map(|it| format!("{name} {:.2}", it.factor));
        format!("under {policy}, {}", NAMED.iter().filter_map(factor).collect::<Vec<_>>().join(", "))
    };
    let each: Vec<String> = policies.iter().map(of_policy).collect();
    let each = each.join("; ");
    (!each.is_empty()).then(|| {
        format!(
            "On several CPUs 95 % of simulated values are within this factor of Linux's: {each} (docs/fidelity/smp.md)"
        )
    })
}

/// The sentence of the first screen: the error in `metric` alone.
pub(crate) fn in_short<'a>(
    contenders: impl Iterator<Item = &'a Contender> + Clone,
    cpus: u32,
    metric: &str,
) -> Option<String> {
    let several = || contenders.clone().filter(|it| is_on_several(it, cpus)).map(|it| it.policy.name);
    several().next()?;
    let mut said: Vec<String> = Vec::new();
    for policy in several() {
        let found = figure_of(metric).and_then(|figure| error(policy, figure));
        let one = found.map(|it| format!("{policy} {:.2}", it.factor));
        said.extend(one.filter(|one| !said.contains(one)));
    }
    let title = goodness_observe::title(metric);
    Some(match said.is_empty() {
        true => format!("On several CPUs {title} was not compared with Linux's (docs/fidelity/smp.md)."),
        false => format!(
            "On several CPUs {title} is within this factor of Linux's in 95 % of cases: {} (docs/fidelity/smp.md).",
            said.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, cpus: u32, metric: &str) -> Option<f64> {
        model_error(&Contender::parse(text).unwrap(), cpus, metric)
    }

    #[test]
    fn both_measured_policies_have_an_error_in_every_figure() {
        for policy in ["cfs", "eevdf"] {
            for (figure, _) in NAMED {
                assert!(
                    error(policy, figure).is_some_and(|it| it.cases >= 13 && it.factor >= 1.0),
                    "{policy} {figure}"
                );
            }
            assert!(of(policy, 4, "wakeup_latency_p99").is_some_and(|error| error > 0.0));
            assert_eq!(of(policy, 4, "wakeup_latency_mean"), of(policy, 4, "wakeup_latency_p99"));
        }
    }

    #[test]
    fn the_first_screen_says_the_error_of_what_ranks() {
        let [eevdf, cfs, rr] = ["eevdf", "cfs", "rr"].map(|text| Contender::parse(text).unwrap());
        let said = |all: &[&Contender], cpus, metric| in_short(all.iter().copied(), cpus, metric);
        let both = said(&[&eevdf, &cfs, &eevdf, &rr], 2, "wakeup_latency_p99").unwrap();
        assert!(both.starts_with("On several CPUs p99 wake-up latency is within this factor"), "{both}");
        assert_eq!(
            [both.matches("eevdf ").count(), both.matches("cfs ").count(), both.matches("rr ").count()],
            [1, 1, 0]
        );
        let none = said(&[&eevdf], 2, "response_time_p99").unwrap();
        assert!(none.contains("was not compared with Linux's"), "{none}");
        assert_eq!(said(&[&eevdf], 1, "wakeup_latency_p99"), None);
    }

    /// Negative control: what was not measured has none.
    #[test]
    fn one_cpu_other_policies_and_other_metrics_have_no_error() {
        assert_eq!(of("eevdf", 1, "context_switches"), None);
        assert_eq!(of("o1", 4, "context_switches"), None);
        assert_eq!(of("eevdf", 4, "throughput"), None);
        let one = Contender::parse("rr").unwrap();
        assert_eq!(sentence([&one].into_iter(), 4), None);
        let [eevdf, cfs] = ["eevdf", "cfs"].map(|text| Contender::parse(text).unwrap());
        assert_eq!(sentence([&eevdf].into_iter(), 1), None);
        let both = sentence([&eevdf, &one, &cfs, &eevdf].into_iter(), 2).unwrap();
        assert!(both.starts_with("On several CPUs") && both.ends_with("(docs/fidelity/smp.md)"));
        let of = |policy: &str| both.matches(&format!("under {policy}, CPU share")).count();
        assert_eq!([of("eevdf"), of("cfs"), of("rr")], [1, 1, 0], "{both}");
    }
}
