//! Kernels whose simulated scheduler was compared with that kernel on several CPUs, and the numbers of CPUs
//! (`fidelity/smp.toml`). A run of another version, or on another number, says so.

use crate::contender::Contender;
use serde::Deserialize;
use std::sync::LazyLock;

/// A kernel that was compared.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparedKernel {
    /// Name of the policy.
    pub policy: String,
    /// Kernel series, as the policy's setting `kernel` names it.
    pub kernel: String,
    /// Numbers of CPUs.
    pub cpus: Vec<u32>,
}

/// All that were compared.
///
/// # Panics
/// Never: a test reads the file that the library was built with.
pub static COMPARED_KERNELS: LazyLock<Vec<ComparedKernel>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        compared: Vec<ComparedKernel>,
    }
    let text = include_str!("../../../fidelity/smp.toml");
    toml::from_str::<File>(text).expect("fidelity/smp.toml is read by a test").compared
});

/// One remark on those of `contenders` whose kernel was not compared on their number of CPUs, which is the machine's
/// `cpus` unless they change it. Policies of which no kernel was compared get none.
pub(crate) fn not_compared<'a>(contenders: impl Iterator<Item = &'a Contender>, cpus: u32) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    for contender in contenders {
        let cpus = contender.edits.iter().find_map(|edit| edit.cpus()).unwrap_or(cpus);
        let one = said_of(contender, cpus).filter(|one| !said.contains(one));
        said.extend(one);
    }
    let each = said.join("; ");
    (!each.is_empty()).then(|| format!("Not compared with recordings of that kernel: {each} (docs/fidelity/smp.md)"))
}

/// `eevdf:kernel=6.12 on 2 CPUs, only 6.12 on 4, 6.18 on 2 and 4`.
fn said_of(contender: &Contender, cpus: u32) -> Option<String> {
    let name = contender.policy.name;
    let of_policy: Vec<&ComparedKernel> = COMPARED_KERNELS.iter().filter(|it| it.policy == name).collect();
    let kernel = contender.policy.values().ok()?.into_iter().find(|(key, _)| *key == "kernel")?.1;
    let is_compared = of_policy.iter().any(|it| it.kernel == kernel && (cpus == 1 || it.cpus.contains(&cpus)));
    if is_compared || of_policy.is_empty() {
        return None;
    }
    // On one CPU each of these kernels was held pick for pick (docs/fidelity.md).
    let of = |it: &&ComparedKernel| if cpus == 1 { it.kernel.clone() } else { on_several(it) };
    let mut compared: Vec<String> = of_policy.iter().map(of).collect();
    compared.dedup();
    let on = if cpus == 1 { "1 CPU".to_string() } else { format!("{cpus} CPUs") };
    Some(format!("{name}:kernel={kernel} on {on}, only {}", compared.join(", ")))
}

/// `6.18 on 2 and 4`.
fn on_several(it: &ComparedKernel) -> String {
    format!("{} on {}", it.kernel, listed(&it.cpus))
}

/// `2, 4 and 8`.
fn listed(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match texts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(names: &[&str], cpus: u32) -> Option<String> {
        let contenders: Vec<Contender> = names.iter().map(|name| Contender::parse(name).unwrap()).collect();
        not_compared(contenders.iter(), cpus)
    }

    #[test]
    fn a_version_without_recordings_says_so() {
        let text = said(&["eevdf:kernel=6.6", "rr", "eevdf:kernel=6.6"], 4).unwrap();
        assert!(text.contains("eevdf:kernel=6.6 on 4 CPUs, only 6.12 on 4, 6.18 on 2"), "{text}");
        assert_eq!(text.matches("kernel=6.6").count(), 1, "{text}");
        assert!(said(&["eevdf:kernel=6.15"], 2).unwrap().contains("kernel=6.15 on 2"));
        assert!(said(&["eevdf:kernel=6.12"], 2).unwrap().contains("kernel=6.12 on 2"), "played on 4 alone");
        assert!(said(&["eevdf:kernel=6.6"], 1).unwrap().contains("eevdf:kernel=6.6 on 1 CPU, only 6.12, 6.18"));
        assert!(said(&["cfs:kernel=6.1"], 64).unwrap().contains("cfs:kernel=6.1 on 64 CPUs, only 6.1 on 2"));
    }

    /// Negative control: versions and numbers of CPUs that were played, and policies of no kernel that was.
    #[test]
    fn a_version_with_recordings_says_nothing() {
        for (name, cpus) in [
            ("eevdf:kernel=6.18", 2),
            ("eevdf", 4),
            ("cfs:kernel=6.1", 4),
            ("rr", 64),
            ("o1", 2),
            ("eevdf", 1),
            ("eevdf:kernel=6.12", 1),
        ] {
            assert_eq!(said(&[name], cpus), None, "{name} on {cpus}");
        }
    }

    #[test]
    fn every_kernel_is_a_version_of_its_policy() {
        assert!(COMPARED_KERNELS.len() >= 3);
        for it in COMPARED_KERNELS.iter() {
            Contender::parse(&format!("{}:kernel={}", it.policy, it.kernel)).unwrap();
        }
    }
}
