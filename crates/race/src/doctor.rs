//! Checks what works on this machine: one finding, with a remedy if necessary, for each requirement of a command.

use crate::load;
use goodness_sys::cgroup::Hierarchies;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const CLANG: load::Program = load::Program { name: "clang", package: "clang" };
const QEMU: load::Program = load::Program { name: "qemu-system-x86_64", package: "qemu-system-x86" };

/// One finding.
pub struct Finding {
    /// Name of the requirement.
    pub name: String,
    /// Commands that need it.
    pub needed_for: &'static str,
    /// The finding, or `Err` with the remedy.
    pub found: Result<String, String>,
}

/// Runs all checks; changes nothing.
#[must_use]
pub fn findings() -> Vec<Finding> {
    let mut all = vec![
        finding("root", "record, live, elevate, some arms of race", root()),
        finding("restore journal", "all that changes the machine", journal()),
        finding("tracefs", "record, race ezolt", tracefs()),
        finding("cgroups", "race: stopping, outside load, weights", cgroups()),
        finding("sched_ext", "live, live arms of race", sched_ext()),
        finding("ublk", "elevate", ublk()),
        finding("loop devices and elevators", "race dbload, study fio-mixed", loop_elevators()),
        finding("autogroup", "race: autogroup", knob(goodness_sys::AUTOGROUP)),
        finding("preemption mode", "race: preempt", knob("/sys/kernel/debug/sched/preempt")),
        finding("base slice", "race: base_slice", knob("/sys/kernel/debug/sched/base_slice_ns")),
        finding("slices of tasks", "race: slice", slices()),
        finding("clang", "building live", program(CLANG)),
        finding("QEMU", "scripts/guest: a kernel with sched_ext", program(QEMU)),
    ];
    let programs = load::ALL.iter().flat_map(|about| about.needs).map(|it| (it.name, *it));
    let programs: BTreeMap<&str, load::Program> = programs.collect();
    all.extend(programs.into_iter().map(|(name, it)| finding(name, "race: loads", program(it))));
    all
}

fn finding(name: &str, needed_for: &'static str, found: Result<String, String>) -> Finding {
    Finding { name: name.into(), needed_for, found }
}

fn root() -> Result<String, String> {
    match fs::metadata("/proc/self").map(|it| std::os::unix::fs::MetadataExt::uid(&it)) {
        Ok(0) => Ok("this process runs as root".into()),
        _ => Err("not root: simulation, comparison and reports work; the rest needs sudo".into()),
    }
}

fn journal() -> Result<String, String> {
    let folder = goodness_restore::folder();
    let probe =
        fs::create_dir_all(&folder).and_then(|()| tempfile::Builder::new().prefix(".goodness-").tempfile_in(&folder));
    match probe {
        Ok(_) => Ok(format!("kept in {}", folder.display())),
        Err(why) => Err(format!("{} cannot be written ({why}); nothing is changed without it", folder.display())),
    }
}

fn tracefs() -> Result<String, String> {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounted = mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields.get(2) == Some(&"tracefs")).then(|| fields[1].to_string())
    });
    match (mounted, known.contains("tracefs")) {
        (Some(at), _) => Ok(format!("mounted at {at}")),
        (None, true) => Ok("not mounted; a recording mounts its own".into()),
        (None, false) => Err("this kernel has no tracefs (CONFIG_TRACING)".into()),
    }
}

fn cgroups() -> Result<String, String> {
    let found = Hierarchies::find();
    let what = found.describe();
    if found.unified.is_some() && found.weights().is_some() { Ok(what) } else { Err(what) }
}

fn sched_ext() -> Result<String, String> {
    match fs::read_to_string("/sys/kernel/sched_ext/state") {
        Ok(state) => Ok(format!("state {}", state.trim())),
        Err(_) => Err(
            "this kernel has none; Linux 6.12 and later with CONFIG_SCHED_CLASS_EXT has, and scripts/guest boots one"
                .into(),
        ),
    }
}

fn ublk() -> Result<String, String> {
    if Path::new("/dev/ublk-control").exists() {
        return Ok("/dev/ublk-control is there".into());
    }
    let release = goodness_sys::kernel_release().unwrap_or_default();
    let module = format!("/lib/modules/{release}/kernel/drivers/block");
    let there = fs::read_dir(module)
        .is_ok_and(|list| list.flatten().any(|it| it.file_name().to_string_lossy().starts_with("ublk_drv")));
    if there {
        Err("load the module: modprobe ublk_drv".into())
    } else {
        Err("this kernel has none (CONFIG_BLK_DEV_UBLK)".into())
    }
}

fn loop_elevators() -> Result<String, String> {
    if !Path::new("/dev/loop-control").exists() {
        return Err("no loop devices: modprobe loop".into());
    }
    let text = fs::read_to_string("/sys/block/loop0/queue/scheduler").unwrap_or_default();
    let names: Vec<&str> = text.split_whitespace().map(|name| name.trim_matches(['[', ']'])).collect();
    match names.len() {
        0 => Ok("loop devices are there; which elevators they have shows when one is made".into()),
        1 => Err("loop devices have no elevators: modprobe bfq, kyber-iosched, mq-deadline".into()),
        _ => Ok(names.join(", ")),
    }
}

fn knob(file: &str) -> Result<String, String> {
    let missing = if file.contains("/debug/") {
        "mount debugfs: sudo mount -t debugfs none /sys/kernel/debug"
    } else {
        "this kernel was built without it"
    };
    let path = Path::new(file);
    crate::arm::writable(path, missing)?;
    Ok(format!("now {}", fs::read_to_string(path).unwrap_or_default().trim()))
}

fn slices() -> Result<String, String> {
    let ten_ms = goodness_sys::process::Conditions { slice: Some(10_000_000), ..Default::default() };
    ten_ms.try_out().map(|()| "a task can have its own".into())
}

fn program(program: load::Program) -> Result<String, String> {
    program.find().map(|at| at.display().to_string()).map_err(|why| why.0)
}
