//! Machines as typed or written: presets, files, inline tables. `--machine cpus=2,hz=250,switch=2us`.

use goodness_core::registry::nearest;
use goodness_core::{Costs, Cpu, Level, Machine, Span};
use std::path::Path;

/// A machine known by name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Where its figures come from.
    pub source: &'static str,
    /// Its definition, as one would type it.
    pub text: &'static str,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "ideal",
        summary: "One CPU at HZ 250 on which scheduling costs nothing.",
        source: "definition",
        text: "cpus=1,hz=250",
    },
    Preset {
        name: "ideal-2",
        summary: "Two CPUs that share a cache, at HZ 250, on which scheduling costs nothing.",
        source: "definition",
        text: "cpus=2,hz=250",
    },
    Preset {
        name: "ideal-8",
        summary: "Eight CPUs in two caches, two threads a core, at HZ 250, on which scheduling costs nothing.",
        source: "definition",
        text: "cpus=8,hz=250,smt=2,cache=4",
    },
    Preset {
        name: "modern-2cpu",
        summary: "A small cloud machine: two CPUs, one cache, HZ 250, slow to leave idle.",
        source: "recordings/apache-ab-c32-2cpu, kernel 6.18 in a virtual machine: median of 2003 wake-ups of an idle \
                 CPU 42.5 us; median of 4460 wake-ups that preempted at once 10.8 us. Other costs were not measured \
                 and are left out.",
        text: "cpus=2,hz=250,idle_exit=42500ns,preempt=10800ns",
    },
];

/// What can be said of a machine: key, meaning.
pub const KEYS: &[(&str, &str)] = &[
    ("cpus", "number of CPUs"),
    ("hz", "timer interrupts per second and CPU"),
    ("first_tick", "time of the first tick; one period by default"),
    ("smt", "hardware threads of a core"),
    ("cache", "CPUs that share a last-level cache"),
    ("node", "CPUs of a memory node"),
    ("switch", "cost of switching tasks"),
    ("wakeup", "cost of waking a task, to the waker"),
    ("tick", "cost of a timer interrupt"),
    ("preempt", "delay until a wake-up preempts on its own CPU"),
    ("interrupt", "delay until another CPU reacts"),
    ("idle_exit", "delay until an idle CPU runs"),
    ("cache_refill", "extra time of a stint after another task ran"),
    ("lock_handover", "cost of passing a contended lock on"),
    ("migration_smt", "extra time after a move within a core"),
    ("migration_cache", "extra time after a move within a cache"),
    ("migration_node", "extra time after a move within a node"),
    ("migration_machine", "extra time after a move between nodes"),
    ("search", "time per candidate looked at"),
    ("recalculate", "time per task recalculated"),
    ("insert", "time per step of an ordered insertion"),
    ("balance", "time per queue looked at for balancing"),
];

/// A machine from a preset's name, the path of a TOML file, or an inline table `key=value,…`.
///
/// # Errors
/// One sentence with the remedy: unknown preset or key (the nearest is named), a wrong value, no CPU.
pub fn parse_machine(text: &str) -> Result<Machine, String> {
    if let Some(preset) = PRESETS.iter().find(|p| p.name == text) {
        return from_pairs(preset.name, &pairs_of(preset.text)?);
    }
    if text.contains('=') {
        return from_pairs(text, &pairs_of(text)?);
    }
    if text.ends_with(".toml") || Path::new(text).is_file() {
        let read = std::fs::read_to_string(text).map_err(|e| format!("machine file {text} cannot be read: {e}"))?;
        let table: toml::Table = toml::from_str(&read).map_err(|e| format!("{text}: {}", e.message()))?;
        return from_table(text, &table);
    }
    let near = nearest(text, PRESETS.iter().map(|p| p.name)).unwrap_or_default();
    Err(format!(
        "there is no machine \"{text}\"; the nearest is \"{near}\". See `goodness list machines`, or write cpus=2,hz=250"
    ))
}

/// A machine from a TOML table, as in an experiment file.
///
/// # Errors
/// As [`parse_machine`].
pub fn from_table(name: &str, table: &toml::Table) -> Result<Machine, String> {
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let pairs: Vec<(String, String)> = table.iter().map(|(key, value)| (key.clone(), text(value))).collect();
    from_pairs(name, &pairs)
}

fn pairs_of(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |item: &str| match item.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_string(), value.trim().to_string())),
        None => Err(format!("\"{item}\" in machine \"{text}\" is no setting; write key=value, for example cpus=2")),
    };
    text.split(',').filter(|item| !item.trim().is_empty()).map(pair).collect()
}

/// Numbers and times collected before the machine is built.
struct Draft {
    cpus: u64,
    hz: u64,
    first_tick: Option<Span>,
    smt: u64,
    cache: Option<u64>,
    node: Option<u64>,
    costs: Costs,
}

fn from_pairs(name: &str, pairs: &[(String, String)]) -> Result<Machine, String> {
    let mut draft =
        Draft { cpus: 1, hz: 250, first_tick: None, smt: 1, cache: None, node: None, costs: Costs::default() };
    for (key, value) in pairs {
        set(&mut draft, key, value).map_err(|why| format!("machine {name}: {key} = {value}: {why}"))?;
    }
    if draft.cpus > 65_536 {
        return Err(format!("machine {name}: {} CPUs are more than the 65536 that are supported", draft.cpus));
    }
    let (smt, cache, node) =
        (draft.smt, draft.cache.unwrap_or(draft.cpus).max(1), draft.node.unwrap_or(draft.cpus).max(1));
    let cpu =
        |i: u64| Cpu { core: (i / smt) as u32, cache: (i / cache) as u32, node: (i / node) as u32, capacity: 1024 };
    let hz = u32::try_from(draft.hz).unwrap_or(u32::MAX);
    let mut machine =
        Machine::new(name, (0..draft.cpus).map(cpu).collect(), hz).map_err(|e| format!("machine {name}: {e}"))?;
    if let Some(first) = draft.first_tick {
        machine.first_tick = first;
    }
    machine.costs = draft.costs;
    Ok(machine)
}

fn set(draft: &mut Draft, key: &str, value: &str) -> Result<(), String> {
    let count = || match value.parse::<u64>() {
        Ok(0) | Err(_) => Err("a whole number of 1 or more is needed".to_string()),
        Ok(n) => Ok(n),
    };
    let time = || Span::parse(value);
    let costs = &mut draft.costs;
    match key {
        "cpus" => draft.cpus = count()?,
        "hz" => draft.hz = count()?,
        "smt" => draft.smt = count()?,
        "cache" => draft.cache = Some(count()?),
        "node" => draft.node = Some(count()?),
        "first_tick" => draft.first_tick = Some(time()?),
        "switch" => costs.switch = time()?,
        "wakeup" => costs.wakeup = time()?,
        "tick" => costs.tick = time()?,
        "preempt" => costs.preempt = time()?,
        "interrupt" => costs.interrupt = time()?,
        "idle_exit" => costs.idle_exit = time()?,
        "cache_refill" => costs.cache_refill = time()?,
        "lock_handover" => costs.lock_handover = time()?,
        "migration_smt" => costs.migration[Level::Smt as usize] = time()?,
        "migration_cache" => costs.migration[Level::Cache as usize] = time()?,
        "migration_node" => costs.migration[Level::Node as usize] = time()?,
        "migration_machine" => costs.migration[Level::Machine as usize] = time()?,
        "search" => costs.effort[0] = time()?,
        "recalculate" => costs.effort[1] = time()?,
        "insert" => costs.effort[2] = time()?,
        "balance" => costs.effort[3] = time()?,
        _ => {
            let near = nearest(key, KEYS.iter().map(|(key, _)| *key)).unwrap_or_default();
            return Err(format!("there is no such key; the nearest is \"{near}\""));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::CpuId;

    #[test]
    fn every_preset_and_every_key_can_be_parsed() {
        for preset in PRESETS {
            assert_eq!(parse_machine(preset.name).unwrap().name, preset.name);
        }
        for (key, _) in KEYS {
            let value = if ["cpus", "hz", "smt", "cache", "node"].contains(key) { "2" } else { "3us" };
            parse_machine(&format!("{key}={value}")).unwrap();
        }
    }

    #[test]
    fn an_inline_machine_is_what_it_says() {
        let machine = parse_machine("cpus=4,hz=100,first_tick=863us,smt=2,switch=2us").unwrap();
        assert_eq!((machine.cpu_count(), machine.hz), (4, 100));
        assert_eq!((machine.first_tick, machine.costs.switch), (Span::from_us(863), Span::from_us(2)));
        assert_eq!(machine.group(CpuId(3), Level::Smt), [CpuId(2), CpuId(3)]);
    }

    #[test]
    fn a_machine_that_cannot_be_is_refused_with_a_remedy() {
        for (text, expected) in [
            ("cpus=0", "1 or more"),
            ("cpus=-1", "1 or more"),
            ("cpus=99999999", "65536"),
            ("cpu=1", "nearest is \"cpus\""),
            ("ideel", "nearest is \"ideal\""),
            ("cpus=1,hz", "key=value"),
            ("switch=2", "no unit"),
            ("missing.toml", "cannot be read"),
        ] {
            let sentence = parse_machine(text).unwrap_err();
            assert!(sentence.contains(expected), "{text}: {sentence}");
        }
    }
}
