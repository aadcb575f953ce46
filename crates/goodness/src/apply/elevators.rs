//! The files that set an elevator of a real disk, and the commands that write them.

use crate::spec::ElevatorSpec;
use goodness_core::Span;
use goodness_report::model::Application;

/// Elevators of current kernels.
const ELEVATORS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// Milliseconds and shorter units, in ns.
const MS: Step = Step::Time(1_000_000);
const US: Step = Step::Time(1_000);
const NS: Step = Step::Time(1);

/// The form of a value in its file.
#[derive(Clone, Copy)]
enum Step {
    /// A time in whole steps of so many ns.
    Time(u64),
    /// A number as it is.
    Number,
    /// 1 or 0.
    Switch,
}

/// Tunables with the file that sets each, in `/sys/block/DISK/queue/iosched`: Linux 6.18, `block/mq-deadline.c`,
/// `kyber-iosched.c`, `bfq-iosched.c`.
const FILES: [(&str, &str, &str, Step); 18] = [
    ("mq-deadline", "read_expire", "read_expire", MS),
    ("mq-deadline", "write_expire", "write_expire", MS),
    ("mq-deadline", "writes_starved", "writes_starved", Step::Number),
    ("mq-deadline", "fifo_batch", "fifo_batch", Step::Number),
    ("mq-deadline", "front_merges", "front_merges", Step::Switch),
    ("mq-deadline", "prio_aging_expire", "prio_aging_expire", MS),
    ("mq-deadline", "async_depth", "async_depth", Step::Number),
    ("kyber", "read_lat", "read_lat_nsec", NS),
    ("kyber", "write_lat", "write_lat_nsec", NS),
    ("bfq", "slice_idle", "slice_idle_us", US),
    ("bfq", "timeout_sync", "timeout_sync", MS),
    ("bfq", "max_budget", "max_budget", Step::Number),
    ("bfq", "fifo_expire_sync", "fifo_expire_sync", MS),
    ("bfq", "fifo_expire_async", "fifo_expire_async", MS),
    ("bfq", "back_seek_max", "back_seek_max", Step::Number),
    ("bfq", "back_seek_penalty", "back_seek_penalty", Step::Number),
    ("bfq", "low_latency", "low_latency", Step::Switch),
    ("bfq", "strict_guarantees", "strict_guarantees", Step::Switch),
];

/// Adds the commands that make `elevator` of `former`. `None` if a current kernel has no such elevator or setting.
pub(super) fn commands(former: &ElevatorSpec, elevator: &ElevatorSpec, commands: &mut Application) -> Option<()> {
    if !ELEVATORS.contains(&elevator.name) || !ELEVATORS.contains(&former.name) {
        return None;
    }
    if former.name == elevator.name {
        return settings(former, elevator)?.into_iter().try_for_each(|(file, value)| {
            let (path, kept) = (path(file), format!("/run/goodness-DISK-{file}"));
            // A value that was kept before is the original one.
            let uses = format!("grep -qF '[{}]' /sys/block/DISK/queue/scheduler", elevator.name);
            let apply = format!("{uses} && {{ [ -e {kept} ] || sudo cp {path} {kept}; }} && {}", write(value, file));
            commands.add(apply, format!("sudo cp {kept} {path} && sudo rm {kept}"));
            Some(())
        });
    }
    let (path, kept) = ("/sys/block/DISK/queue/scheduler", "/run/goodness-DISK-scheduler");
    let written = settings(&ElevatorSpec::parse(elevator.name).ok()?, elevator)?;
    let written: String = written.into_iter().map(|(file, value)| format!("; {}", write(value, file))).collect();
    // The file has all of them, and the one in use in brackets. A name that was kept before is the original one.
    let keep = format!(r"[ -e {kept} ] || sed 's/.*\[\(.*\)\].*/\1/' {path} | sudo tee {kept}");
    let apply = format!("{keep}; echo {} | sudo tee {path}{written}", elevator.name);
    commands.add(apply, format!("sudo cp {kept} {path} && sudo rm {kept}"));
    Some(())
}

/// The files that differ between two settings of one elevator, with the values of the second. `None` if a current
/// kernel has no such elevator or setting.
pub(crate) fn settings(former: &ElevatorSpec, elevator: &ElevatorSpec) -> Option<Vec<(&'static str, u64)>> {
    if !ELEVATORS.contains(&elevator.name) {
        return None;
    }
    let (old, new) = (former.values().ok()?, elevator.values().ok()?);
    let changed = new.iter().filter(|value| !old.contains(value));
    changed.map(|(tunable, value)| in_file(elevator.name, tunable, value)).collect()
}

/// The file of a tunable, and a value of it as that file has it: times in whole steps, at least one unless they are 0.
fn in_file(elevator: &str, tunable: &str, value: &str) -> Option<(&'static str, u64)> {
    let (_, _, file, step) = FILES.iter().find(|(of, name, ..)| *of == elevator && *name == tunable)?;
    let value = match step {
        Step::Number => value.parse().ok()?,
        Step::Switch => u64::from(value == "on"),
        Step::Time(step) => {
            let Span(time) = Span::parse(value).ok()?;
            time.saturating_add(step / 2).checked_div(*step)?.max(u64::from(time > 0))
        }
    };
    Some((file, value))
}

fn path(file: &str) -> String {
    format!("/sys/block/DISK/queue/iosched/{file}")
}

fn write(value: u64, file: &str) -> String {
    format!("echo {value} | sudo tee {}", path(file))
}

/// The commands that throttle write-back for reads which take longer than `latency`, and that restore what was set.
pub(super) fn write_back(latency: Option<Span>, commands: &mut Application) {
    let (path, kept) = ("/sys/block/DISK/queue/wbt_lat_usec", "/run/goodness-DISK-wbt_lat_usec");
    let us = latency.map_or(0, |latency| latency.0.div_ceil(1000));
    commands.add(
        format!("[ -e {kept} ] || sudo cp {path} {kept}; echo {us} | sudo tee {path}"),
        format!("sudo cp {kept} {path} && sudo rm {kept}"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(former: &str, elevator: &str) -> Option<(String, String)> {
        let [former, elevator] = [former, elevator].map(|text| ElevatorSpec::parse(text).unwrap());
        let mut all = Application::default();
        commands(&former, &elevator, &mut all)?;
        Some((all.apply.join("\n"), all.undo.join("\n")))
    }

    #[test]
    fn a_setting_is_written_to_its_file_in_the_unit_of_the_file_and_the_former_value_is_kept() {
        let (apply, undo) = of("mq-deadline", "mq-deadline:read_expire=50ms").unwrap();
        let (file, kept) = ("/sys/block/DISK/queue/iosched/read_expire", "/run/goodness-DISK-read_expire");
        let uses = "grep -qF '[mq-deadline]' /sys/block/DISK/queue/scheduler";
        let keep = format!("{{ [ -e {kept} ] || sudo cp {file} {kept}; }}");
        assert_eq!(apply, format!("{uses} && {keep} && echo 50 | sudo tee {file}"), "of a disk with that elevator");
        assert_eq!(undo, format!("sudo cp {kept} {file} && sudo rm {kept}"));
        let has = |text: &str, part: &str| {
            let apply = of(text.split(':').next().unwrap(), text).unwrap().0;
            assert!(apply.contains(part), "{apply}");
        };
        has("kyber:read_lat=2500us", "echo 2500000 | sudo tee /sys/block/DISK/queue/iosched/read_lat_nsec");
        has("bfq:slice_idle=2ms", "echo 2000 | sudo tee /sys/block/DISK/queue/iosched/slice_idle_us");
        has("bfq:low_latency=off", "echo 0 | sudo tee /sys/block/DISK/queue/iosched/low_latency");
        has("mq-deadline:read_expire=10us", "echo 1 |");
    }

    #[test]
    fn another_elevator_is_set_before_its_settings_and_that_of_the_machine_comes_back() {
        let (apply, undo) = of("mq-deadline:fifo_batch=4", "bfq:back_seek_penalty=3").unwrap();
        let (at, kept) = ("/sys/block/DISK/queue", "/run/goodness-DISK-scheduler");
        let set = format!("echo bfq | sudo tee {at}/scheduler; echo 3 | sudo tee {at}/iosched/back_seek_penalty");
        let keep = format!(r"[ -e {kept} ] || sed 's/.*\[\(.*\)\].*/\1/' {at}/scheduler | sudo tee {kept}; ");
        assert_eq!(apply, keep + &set);
        assert_eq!(undo, format!("sudo cp {kept} {at}/scheduler && sudo rm {kept}"));
        assert_eq!(of("cfq", "bfq"), None, "no current kernel has cfq");
        assert_eq!(of("bfq", "bfq:stable_merge=off"), None, "no file sets it");
        assert_eq!(of("kyber", "kyber:kernel=4.12"), None);
    }

    /// Names that a policy or an elevator of the simulator does not have would never be written.
    #[test]
    fn every_file_is_that_of_a_tunable() {
        for (elevator, tunable, ..) in FILES {
            let all = ElevatorSpec::parse(elevator).unwrap().values().unwrap();
            assert!(all.iter().any(|(name, _)| *name == tunable), "{elevator}:{tunable}");
        }
    }
}
