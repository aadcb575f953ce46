//! The race that confirms an answer on a real kernel: a file for `goodness race` with the default and the setting.

use super::Input;
use crate::apply::{elevators, scaled_by_cpus};
use crate::contender::Contender;
use crate::edit::{Change, What};
use crate::spec::{ElevatorSpec, PolicySpec};
use crate::work::Work;
use goodness_core::{Class, Span};
use goodness_report::tune::Race;
use std::fmt::Write;

/// Blocks of the race: twice those of an ordinary one, since gains that are left to find are small. A choice.
const BLOCKS: u32 = 40;

/// The kernel's own fair classes.
const FAIR: [&str; 2] = ["eevdf", "cfs"];
/// The tunable of theirs that a race can set, under the same name.
const SLICE: &str = "base_slice";

/// A load of races that is like a recorded or modelled one.
struct Load {
    /// Its name there.
    name: &'static str,
    /// Names of the server's tasks by which it is known; none for work of any kind.
    servers: &'static [&'static str],
    /// Names of the client's tasks.
    clients: &'static [&'static str],
    /// Metrics that it measures under the same name.
    measures: &'static [&'static str],
}

const LOADS: [Load; 3] = [
    Load {
        name: "apache-prefork",
        servers: &["apache2", "httpd"],
        clients: &["ab", "wrk"],
        measures: &["throughput", "request_latency_p50", "request_latency_p99"],
    },
    Load {
        name: "mariadb",
        servers: &["mariadbd", "mysqld"],
        clients: &["sysbench"],
        measures: &["throughput", "request_latency_mean", "request_latency_p95"],
    },
    Load {
        name: "schbench",
        servers: &[],
        clients: &[],
        measures: &["throughput", "wakeup_latency_p50", "wakeup_latency_p99"],
    },
];

/// The load of a fio job file: the job itself, on a disk whose elevator arms can set.
const FIO: Load = Load { name: "fio", servers: &[], clients: &[], measures: &["iops", "bandwidth", "io_latency_mean"] };

/// The race of an arm against the default, in `metric`; or the reason that there is none.
pub(crate) fn of(default_and_arm: [&Contender; 2], metric: &str, input: &Input) -> Race {
    match written(default_and_arm, metric, input) {
        Ok(file) => Race { file: Some(file), why_not: None },
        Err(why) => Race { file: None, why_not: Some(why) },
    }
}

fn written([default, arm]: [&Contender; 2], metric: &str, (name, work): &Input) -> Result<String, String> {
    let is_job = name.ends_with(".fio");
    if !is_job && default.elevator != arm.elevator {
        return Err("record the disk's load with the setting and without (goodness record --block), and compare the \
                    recordings (goodness compare --as-arms)"
            .into());
    }
    let load = if is_job { &FIO } else { load(work, metric)? };
    let cpus = work.machine.cpu_count() as u32;
    let (to, mut settings) = of_edits(arm, load)?;
    let mut reference = Vec::new();
    if arm.policy != default.policy {
        let is_other = |it: &&(String, String)| !default.policy.settings.contains(it) && it.0 != SLICE;
        if FAIR.contains(&arm.policy.name) && arm.policy.settings.iter().any(|it| is_other(&it)) {
            return Err(format!("a race has no setting for {}", arm.policy));
        }
        settings.splice(0..0, of_policy(&arm.policy, cpus)?);
        reference.extend(of_policy(&default.policy, cpus)?);
    }
    if let Some((former, elevator)) = default.elevator.as_ref().zip(arm.elevator.as_ref()).filter(|_| is_job) {
        reference.push(of_elevator(former)?);
        settings.push(of_elevator(elevator)?);
    }
    let label = arm.beside(default);
    let about_load = match is_job {
        true => "# The load is the tuned job itself.",
        false => {
            "# The load is the one of races that is most like the tuned work; its settings are the defaults, which\n\
             # docs/races.md describes. Change them to yours."
        }
    };
    let mut text = format!(
        "# Confirms on this machine's kernel what a tuning found: {label}, for {metric}.\n{about_load}\n\
         name = \"tuned\"\nblocks = {BLOCKS}\n"
    );
    if load.measures.contains(&metric) {
        let _ = writeln!(text, "measures = [\"{metric}\"]");
    }
    let _ = writeln!(text, "\n[load]\nuse = \"{}\"", load.name);
    if is_job {
        // The file may be run from any folder.
        let path = std::path::absolute(name).map_err(|why| format!("{name} has no absolute path: {why}"))?;
        let _ = writeln!(text, "job = {}", quoted(&path.to_string_lossy()));
    }
    write_arm(&mut text, "default", None, &reference);
    write_arm(&mut text, &label, to, &settings);
    Ok(text)
}

/// The load of races that is most like the work.
fn load(work: &Work, metric: &str) -> Result<&'static Load, String> {
    let names: Vec<&str> = work.recorded.iter().flat_map(|it| it.tasks()).map(|(name, _)| name).collect();
    let load = LOADS.iter().find(|load| load.servers.iter().any(|server| names.contains(server)));
    let load = load.or_else(|| LOADS.iter().find(|it| it.servers.is_empty() && it.measures.contains(&metric)));
    load.ok_or_else(|| "no load of races is like this work; write one as docs/race.md says".into())
}

/// The elevator of an arm, with those of its settings that are not the defaults.
fn of_elevator(elevator: &ElevatorSpec) -> Result<(&'static str, String), String> {
    let plain = ElevatorSpec::parse(elevator.name).map_err(|why| why.to_string())?;
    let files = elevators::settings(&plain, elevator).ok_or_else(|| format!("a race has no setting for {elevator}"))?;
    let files: String = files.into_iter().map(|(file, value)| format!(", {file} = {value}")).collect();
    Ok(("elevator", format!("{{ use = \"{}\"{files} }}", elevator.name)))
}

fn write_arm(text: &mut String, name: &str, to: Option<&str>, settings: &[(&'static str, String)]) {
    let _ = writeln!(text, "\n[[arm]]\nname = {}", quoted(name));
    if let Some(to) = to {
        let _ = writeln!(text, "to = \"{to}\"");
    }
    for (key, value) in settings {
        let _ = writeln!(text, "{key} = {value}");
    }
}

/// The processes that an arm of a race is about, if it is about some, and its settings.
type Arm = (Option<&'static str>, Vec<(&'static str, String)>);

fn of_edits(arm: &Contender, load: &Load) -> Result<Arm, String> {
    let mut settings = Vec::new();
    let mut whom: Option<&'static str> = None;
    for edit in &arm.edits {
        let (to, key, value) = match &edit.what {
            What::Task { whom, change } => {
                let (key, value) = of_task(change)?;
                (role(whom, load)?, key, value)
            }
            What::Cpus(count) => ("all", "cpus", quoted(&format!("0-{}", count.saturating_sub(1)))),
            _ => return Err(format!("a race has no setting for {edit}")),
        };
        if whom.replace(to).is_some_and(|former| former != to) {
            return Err("an arm of a race is about the server or the client, and this setting is about both".into());
        }
        settings.push((key, value));
    }
    Ok((whom, settings))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

/// The setting of an arm for its policy: the slice of a fair class where one is set, or a live policy.
fn of_policy(policy: &PolicySpec, cpus: u32) -> Result<Option<(&'static str, String)>, String> {
    if !FAIR.contains(&policy.name) {
        return Ok(Some(("live", quoted(&policy.to_string()))));
    }
    let Some((_, value)) = policy.settings.iter().find(|(name, _)| name == SLICE) else { return Ok(None) };
    let slice = Span::parse(value).map_err(|why| format!("{value}: {why}"))?;
    Ok(Some((SLICE, quoted(&Span(scaled_by_cpus(slice, cpus)).to_string()))))
}

fn of_task(change: &Change) -> Result<(&'static str, String), String> {
    Ok(match change {
        Change::Nice(nice) => ("nice", nice.get().to_string()),
        Change::Slice(slice) => ("slice", quoted(&slice.to_string())),
        Change::Class(class, priority) => {
            let class = match class {
                Class::Normal => "other".to_string(),
                Class::Batch => "batch".into(),
                Class::Idle => "idle".into(),
                Class::Fifo => format!("fifo:{priority}"),
                Class::RoundRobin => format!("rr:{priority}"),
                _ => return Err("a race has no setting for that class".into()),
            };
            ("class", quoted(&class))
        }
        Change::Affinity(cpus) => {
            let list: Vec<String> = cpus.iter().map(|cpu| cpu.0.to_string()).collect();
            ("cpus", quoted(&list.join(",")))
        }
        Change::Apart | Change::Compute(_) => {
            return Err("a race runs the load on this machine's CPUs, with the work that it has".into());
        }
    })
}

/// The side of the load that the tasks called `whom` are.
fn role(whom: &str, load: &Load) -> Result<&'static str, String> {
    let is = |names: &[&str]| names.iter().any(|name| crate::edit::matches(whom, name));
    match (is(load.servers), is(load.clients)) {
        (true, true) => Ok("all"),
        (true, false) => Ok("server"),
        (false, true) => Ok("client"),
        (false, false) => Err(format!("the load {} of races has no task {whom}", load.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenOptions, open, unwatched};

    fn race(input: &str, arm: &str, metric: &str) -> Result<String, String> {
        let work = open(input, &OpenOptions::default(), &unwatched).expect("an input");
        let standard = work.standard_policy().expect("a policy");
        let arm = Contender::arm(arm, &standard).expect("an arm");
        written([&Contender::policy(standard), &arm], metric, &(input.into(), &work))
    }

    #[test]
    fn a_fio_job_is_its_own_load_and_a_block_trace_has_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let job = folder.path().join("job.fio");
        std::fs::write(&job, "[r]\nrw=randread\nbs=4k\nsize=4m\n").expect("a job");
        let race = |input: &str, arm: &str| {
            let work = open(input, &OpenOptions::default(), &unwatched).expect("an input");
            let [default, arm] = [None, Some(arm)].map(|it| work.default_contender(None, it).expect("a contender"));
            written([&default, &arm], "iops", &(input.into(), &work))
        };
        let text = race(&job.to_string_lossy(), "mq-deadline:read_expire=50ms,fifo_batch=4").expect("a race");
        let table: toml::Table = toml::from_str(&text).expect("TOML");
        assert_eq!(table["load"]["job"].as_str(), job.to_str());
        assert!(text.contains("the tuned job itself") && !text.contains("most like"), "{text}");
        let why = race(&job.to_string_lossy(), "cfq").unwrap_err();
        assert!(why.contains("no setting for cfq"), "{why}");
        let elevator = |arm: usize| table["arm"][arm]["elevator"].as_table().expect("a table").clone();
        assert_eq!((elevator(0)["use"].as_str(), elevator(0).len()), (Some("mq-deadline"), 1));
        assert_eq!(
            (elevator(1)["read_expire"].as_integer(), elevator(1)["fifo_batch"].as_integer()),
            (Some(50), Some(4))
        );
        let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/block/d1x8-none.ftrace.zst");
        let why = race(trace, "bfq").unwrap_err();
        assert!(why.contains("record --block"), "{why}");
    }

    #[test]
    fn a_setting_becomes_an_arm_of_a_race_of_the_same_server() {
        let text = race("apache-ab-c4-1cpu", "apache2.nice=-5 apache2.class=batch", "request_latency_p99").unwrap();
        let table: toml::Table = toml::from_str(&text).expect("TOML");
        assert_eq!(table["load"]["use"].as_str(), Some("apache-prefork"));
        assert_eq!(table["measures"][0].as_str(), Some("request_latency_p99"));
        let arm = &table["arm"][1];
        assert_eq!(
            (arm["nice"].as_integer(), arm["class"].as_str(), arm["to"].as_str()),
            (Some(-5), Some("batch"), Some("server"))
        );
        // The recorded machine has two CPUs, and the kernel's file has the slice after scaling.
        let text = race("apache-ab-c4-1cpu", "eevdf:base_slice=3ms", "request_latency_p99").unwrap();
        assert!(text.contains("base_slice = \"6ms\""), "{text}");
        let text = race("mixed", "eevdf:base_slice=700us", "wakeup_latency_p99").unwrap();
        assert!(text.contains("use = \"schbench\"") && text.contains("base_slice = \"700us\""), "{text}");
        assert_eq!(text.matches("base_slice =").count(), 1, "the default is the machine as it is: {text}");
        let text = race("mixed", "scx-simple:fifo=on", "wakeup_latency_p99").unwrap();
        assert!(text.contains("live = \"scx-simple:fifo=on\""), "{text}");
    }

    #[test]
    fn what_no_race_can_set_says_why() {
        let why = |input, arm, metric| race(input, arm, metric).unwrap_err();
        assert!(why("apache-ab-c4-1cpu", "hz=1000", "request_latency_p99").contains("no setting for hz=1000"));
        assert!(why("apache-ab-c4-1cpu", "kworker*.nice=3", "throughput").contains("no task kworker*"));
        assert!(why("apache-ab-c4-1cpu", "ab.nice=3 apache2.nice=1", "throughput").contains("about both"));
        assert!(why("apache-ab-c4-1cpu", "eevdf:run_to_parity=off", "throughput").contains("no setting for eevdf"));
        assert!(why("redis-benchmark-8", "redis-server.nice=3", "request_latency_p99").contains("docs/race.md"));
    }
}
