//! `goodness doctor`: what works on this machine, and what to do where it does not.

use crate::failure::{Failure, exit};
use crate::output;
use clap::Args;
use comfy_table::{ColumnConstraint, Table};
use goodness_live::restore;
use goodness_race::cell::Hierarchies;
use goodness_race::load;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What works on this machine, what to install, and what killed commands have left.
///
/// One line for each thing that some command needs. Nothing is changed, except with --restore.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness doctor                   one line for each thing, with the remedy where it does not work
  sudo goodness doctor --restore    undo what killed commands have left

Exit codes: 0 nothing is left behind, 1 something could not be undone, or is left and --restore was not given.")]
pub struct Doctor {
    /// Undo what killed commands of this user have left, also from before a reboot.
    #[arg(long)]
    restore: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const CLANG: load::Program = load::Program { name: "clang", package: "clang" };
const QEMU: load::Program = load::Program { name: "qemu-system-x86_64", package: "qemu-system-x86" };

/// One thing.
struct Finding {
    /// What it is.
    name: String,
    /// Which commands need it.
    needed_for: &'static str,
    /// What was found, or `Err`: what to do.
    found: Result<String, String>,
}

impl Doctor {
    /// Looks, and undoes if asked to.
    ///
    /// # Errors
    /// Something could not be undone.
    pub fn run(&self) -> Result<u8, Failure> {
        let findings = findings();
        let left = restore::find();
        let told: Vec<(String, Vec<String>)> =
            left.iter().map(|left| (left.path().display().to_string(), left.describe())).collect();
        let stuck: Option<Vec<String>> =
            self.restore.then(|| left.into_iter().flat_map(restore::Left::undo).collect::<Vec<_>>());
        if self.json {
            print_json(&findings, &told, stuck.as_deref());
        } else {
            say!("{}", table(&findings));
            print_left(&told, stuck.as_deref());
        }
        let clean = stuck.map_or(told.is_empty(), |stuck| stuck.is_empty());
        Ok(if clean { exit::OK } else { exit::FAILURE })
    }
}

/// A row for each; who needs it stands where it is missing, in the same cell: a column for it would leave none enough room.
fn table(findings: &[Finding]) -> Table {
    let mut table = output::table();
    for finding in findings {
        let (mark, what) = match &finding.found {
            Ok(what) => ("ok", what.clone()),
            Err(remedy) => ("--", format!("{remedy} [for {}]", finding.needed_for)),
        };
        table.add_row([mark, finding.name.as_str(), &what]);
    }
    for narrow in [0, 1] {
        if let Some(column) = table.column_mut(narrow) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

fn print_left(told: &[(String, Vec<String>)], stuck: Option<&[String]>) {
    if told.is_empty() {
        return say!("\nNo killed command has left anything behind.");
    }
    for (path, what) in told {
        say!("\nleft by a killed command ({path}):");
        what.iter().for_each(|what| say!("  {what}"));
        if what.is_empty() {
            say!("  nothing but the journal");
        }
    }
    match stuck {
        None => say!("\nUndo it: goodness doctor --restore"),
        Some([]) => say!("\nAll of it is undone."),
        Some(stuck) => {
            say!("\nNot undone:");
            stuck.iter().for_each(|what| say!("  {what}"));
            say!("Something holds it open, or it is another user's: see `lsof`, then run this again (as root).");
        }
    }
}

fn print_json(findings: &[Finding], told: &[(String, Vec<String>)], stuck: Option<&[String]>) {
    let entry = |finding: &Finding| {
        let (works, what) = match &finding.found {
            Ok(what) => (true, what),
            Err(remedy) => (false, remedy),
        };
        let key = if works { "found" } else { "remedy" };
        json!({"name": finding.name, "works": works, key: what, "needed_for": finding.needed_for})
    };
    let left = told.iter().map(|(path, what)| json!({"journal": path, "to_undo": what}));
    let whole = json!({
        "schema": "goodness.doctor/1",
        "findings": findings.iter().map(entry).collect::<Vec<_>>(),
        "left": left.collect::<Vec<_>>(),
        "not_undone": stuck,
    });
    say!("{}", serde_json::to_string_pretty(&whole).expect("plain values serialise"));
}

fn findings() -> Vec<Finding> {
    let mut all = vec![
        finding("root", "record, live, elevate, some arms of race", root()),
        finding("restore journal", "all that changes the machine", journal()),
        finding("tracefs", "record, race ezolt", tracefs()),
        finding("cgroups", "race: stopping, outside load, weights", cgroups()),
        finding("sched_ext", "live, live arms of race", sched_ext()),
        finding("ublk", "elevate", ublk()),
        finding("loop devices and elevators", "race dbload, study fio-mixed", loop_elevators()),
        finding("autogroup", "race: autogroup", knob("/proc/sys/kernel/sched_autogroup_enabled")),
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
        _ => Err("not root: simulating, comparing and reporting work; for the rest, sudo".into()),
    }
}

fn journal() -> Result<String, String> {
    let folder = restore::folder();
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
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let module = format!("/lib/modules/{}/kernel/drivers/block", release.trim());
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
    goodness_race::arm::writable(path, missing)?;
    Ok(format!("now {}", fs::read_to_string(path).unwrap_or_default().trim()))
}

fn slices() -> Result<String, String> {
    let ten_ms = goodness_live::process::Conditions { slice: Some(10_000_000), ..Default::default() };
    ten_ms.try_out().map(|()| "a task can have its own".into())
}

fn program(program: load::Program) -> Result<String, String> {
    program.find().map(|at| at.display().to_string()).map_err(|why| why.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_takes_as_few_lines_of_a_terminal_as_its_text_needs() {
        let works = finding("loop devices and elevators", "race dbload, study fio-mixed", Ok("o".repeat(45)));
        let remedy = "r ".repeat(30);
        let fails = finding("ublk", "elevate", Err(remedy.trim().to_string()));
        let mut table = table(&[works, fails]);
        let text = table.set_width(80).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains(&"o".repeat(45)) && lines[2].contains("[for elevate]"), "{text}");
        assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    }
}
