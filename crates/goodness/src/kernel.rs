//! The policy of ordinary tasks in each kernel version.

use crate::refusal::Refusal;
use crate::spec::PolicySpec;
use goodness_trace::Recording;

/// The policy of the kernel that recorded, from its release and its readable tunables.
pub(crate) fn policy_of(recording: &Recording, warnings: &mut Vec<String>) -> Result<PolicySpec, Refusal> {
    let release = recording.metadata.kernel.clone();
    let Some(version) = release.as_deref().and_then(version) else {
        warnings.push(
            "the trace does not say which kernel recorded it; eevdf is assumed. Say which policy recorded it to verify \
             against another"
                .into(),
        );
        return PolicySpec::parse("eevdf");
    };
    let class = fair_class(version);
    if let Some(model) = model_of_another(version, class) {
        let (major, minor, _) = version;
        warnings.push(format!(
            "Linux {major}.{minor}, which recorded this, has no model of its own; that of Linux {model} is used"
        ));
    }
    let mut text = class.to_string();
    let tunables = recording.metadata.recording.as_ref().map(|h| &h.tunables);
    let slice = tunables.and_then(|t| t.get("sched/base_slice_ns")).and_then(|v| v.parse::<u64>().ok());
    // Without debugfs, the slice of tasks that asked for none of their own.
    let slice = slice.or_else(|| goodness_replay::attributes::default_slice(recording));
    if let (Some(ns), true) = (slice, text.starts_with("eevdf")) {
        // The kernel shows the slice after scaling by the number of CPUs; the policy scales by itself.
        let factor = 1 + u64::from(recording.metadata.cpus.clamp(1, 8).ilog2());
        text.push_str(&format!(",base_slice={}ns", ns / factor));
    }
    let preempt = recording.metadata.recording.as_ref().and_then(|it| it.kernel.preempt.as_deref());
    if preempt == Some("lazy") && text.starts_with("eevdf") {
        text.push_str(",preempt=lazy");
    }
    PolicySpec::parse(&text)
}

/// Major, minor and patch number of a kernel release; the last is 0 if the release does not say it.
type Version = (u32, u32, u32);

/// The policy of ordinary tasks in a kernel of this version.
fn fair_class(version: Version) -> &'static str {
    match version {
        (..=1, ..) | (2, ..=5, _) => "linux-2.4",
        (2, 6, _) => "cfs:kernel=2.6.24",
        (3..=5, ..) | (6, ..=5, _) => "cfs:kernel=6.1",
        (6, 6..=11, _) => "eevdf:kernel=6.6",
        (6, 12..=14, _) => "eevdf:kernel=6.12",
        (6, 15..=17, _) => "eevdf:kernel=6.15",
        (6, 18, ..=32) => "eevdf:kernel=6.18",
        (6, ..) | (7, 0, _) => "eevdf:kernel=6.18.33",
        // From 7.1 on a timer ends slices.
        (7, 1..=2, _) => "eevdf:kernel=7.2",
        _ => "eevdf:kernel=7.3",
    }
}

/// The kernel that `class` models, if that is not `version`.
fn model_of_another((major, minor, _): Version, class: &'static str) -> Option<&'static str> {
    let model = class.split_once("kernel=").map_or("2.4", |(_, model)| model);
    // 2.6.24 stands for the kernels before 3.0, whose second number is 6 in all; 6.18.33 is a stable one.
    let own = format!("{major}.{minor}");
    let is_own = |rest: &str| rest.is_empty() || rest.starts_with('.');
    (!model.strip_prefix(&own).is_some_and(is_own)).then_some(model)
}

/// The policy of ordinary tasks in the kernel that calls itself `release`; `None` when that is not a version number.
pub fn own_policy(release: &str) -> Option<&'static str> {
    version(release).map(fair_class)
}

/// What to know of `policy` beside `own`, the policy of a recording, where both have one name, and no kernel was named:
/// it is that of another one.
pub(crate) fn other_kernel(policy: &PolicySpec, own: &PolicySpec) -> Option<String> {
    let kernel = |it: &PolicySpec| it.values().ok()?.into_iter().find(|(name, _)| *name == "kernel").map(|it| it.1);
    let is_named = policy.settings.iter().any(|(name, _)| name == "kernel");
    let [typed, recorded] = [policy, own].map(kernel);
    let (typed, recorded) = typed.zip(recorded)?;
    let name = policy.name;
    (name == own.name && !is_named && typed != recorded).then(|| {
        format!("`-p {name}` is that of Linux {typed}, the recording's own is that of {recorded}: `--arm {name}`")
    })
}

/// The policy of ordinary tasks in the running kernel; `None` when its release is not a version number.
#[must_use]
#[cfg(feature = "live")]
pub fn running_policy() -> Option<PolicySpec> {
    PolicySpec::parse(own_policy(&goodness_sys::kernel_release()?)?).ok()
}

/// The numbers of a kernel release, as far as its first hyphen.
fn version(release: &str) -> Option<Version> {
    let released = release.split(['-', '+', '~', '_']).next()?;
    let mut numbers = released.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_gives_its_numbers() {
        assert_eq!(version("6.18.44-fc-v657"), Some((6, 18, 44)));
        assert_eq!(version("2.6.32-5-amd64"), Some((2, 6, 32)));
        let before_all = ["6.18", "6.18-rc4", "6.18-100.x86"].map(version);
        assert_eq!(before_all, [Some((6, 18, 0)); 3], "candidates and numbers of packages are no patches");
        assert_eq!(version("unknown"), None);
        assert_eq!(own_policy("6.12.4-amd64"), Some("eevdf:kernel=6.12"));
    }

    #[test]
    fn a_policy_of_another_kernel_than_the_recorded_one_is_told_unless_that_was_named() {
        let own = PolicySpec::parse("eevdf:kernel=6.18").unwrap();
        let told = |name: &str| other_kernel(&PolicySpec::parse(name).unwrap(), &own);
        assert!(told("eevdf").is_some_and(|it| it.contains("Linux 6.12") && it.contains("--arm eevdf")));
        assert_eq!(["eevdf:kernel=6.12", "eevdf:kernel=6.18", "cfs", "rr"].map(told), [None, None, None, None]);
    }

    #[test]
    fn a_stable_kernel_is_modelled_with_the_rules_it_got_later() {
        let of = |patch| own_policy(&format!("6.18.{patch}-amd64"));
        assert_eq!([of(15), of(32)], [Some("eevdf:kernel=6.18"); 2], "before them");
        assert_eq!([of(33), of(44), own_policy("6.19.0")], [Some("eevdf:kernel=6.18.33"); 3]);
    }

    #[test]
    fn kernels_between_the_models_get_the_nearest_with_a_word() {
        let of = |(major, minor)| model_of_another((major, minor, 0), fair_class((major, minor, 0)));
        assert_eq!(model_of_another((6, 18, 44), "eevdf:kernel=6.18.33"), None);
        assert_eq!([(6, 1), (6, 6), (6, 12), (6, 15), (6, 18), (7, 2), (7, 3), (2, 6), (2, 4)].map(of), [None; 9]);
        let near = [(3, 10), (6, 5), (6, 8), (6, 13), (6, 14), (6, 17), (6, 19), (7, 0), (7, 1), (7, 4), (2, 2)];
        let models = ["6.1", "6.1", "6.6", "6.12", "6.12", "6.15", "6.18.33", "6.18.33", "7.2", "7.3", "2.4"];
        assert_eq!(near.map(of), models.map(Some));
    }
}
