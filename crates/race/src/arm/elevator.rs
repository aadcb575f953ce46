//! `elevator`: I/O scheduler and tunables of a disk made by the load for the race, or named in the race file.

use super::{Kind, MachineChanges, Setting, Value, below, writable};
use goodness_core::spelling::suggest;
use goodness_sys::cgroup::Hierarchies;
use std::fs;

pub(super) const KIND: Kind = Kind {
    key: "elevator",
    summary: "I/O scheduler of the race's own disk, or of the disk named with `device`; with tunables.",
    example: "{ use = \"mq-deadline\", read_expire = 100 }",
    read,
};

#[derive(Debug)]
struct Elevator {
    name: String,
    device: Option<String>,
    /// Files below `queue/iosched` and their values.
    tunables: Vec<(String, String)>,
}

fn read(value: &Value) -> Result<Box<dyn Setting>, String> {
    let mut made = Elevator { name: String::new(), device: None, tunables: Vec::new() };
    match value {
        Value::Text(name) => made.name = name.clone(),
        Value::Table(entries) => {
            for (key, value) in entries {
                match key.as_str() {
                    "use" => made.name = value.typed(),
                    "device" => made.device = Some(value.typed().trim_start_matches("/dev/").to_string()),
                    _ => made.tunables.push((plain(key)?, value.typed())),
                }
            }
        }
        _ => return Err("an elevator is a name in quotes, or a table with use".into()),
    }
    made.name = plain(&made.name)?;
    made.device = made.device.as_deref().map(plain).transpose()?;
    Ok(Box::new(made))
}

/// A name that is not a path.
fn plain(name: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(fits) { Ok(name.into()) } else { Err(format!("\"{name}\" is no name")) }
}

impl Elevator {
    fn check_disk(&self, disk: &str) -> Result<(), String> {
        let file = below("/sys/block", disk).join("queue/scheduler");
        writable(&file, "there is no such disk; `lsblk -d` names them")?;
        let text = fs::read_to_string(&file).map_err(|why| format!("{} cannot be read: {why}", file.display()))?;
        let offered: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
        if offered.contains(&self.name.as_str()) {
            return Ok(());
        }
        Err(format!("the kernel has no elevator \"{}\" for {disk}; {}", self.name, suggest(&self.name, offered)))
    }

    fn set(&self, disk: &str, changes: &mut MachineChanges) -> Result<(), String> {
        let queue = below("/sys/block", disk).join("queue");
        self.check_disk(disk)?;
        // An elevator that is already loaded would keep its learnt state.
        changes.put(&queue.join("scheduler"), "none")?;
        changes.put(&queue.join("scheduler"), &self.name)?;
        for (file, value) in &self.tunables {
            let path = queue.join("iosched").join(file);
            if !path.exists() {
                let listed = fs::read_dir(queue.join("iosched")).into_iter().flatten().flatten();
                let names: Vec<String> = listed.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
                let near = suggest(file, names.iter().map(String::as_str));
                return Err(format!("{} has no tunable \"{file}\"; {near}", self.name));
            }
            changes.put(&path, value)?;
        }
        Ok(())
    }
}

impl Setting for Elevator {
    fn describe(&self) -> String {
        let of = self.device.as_deref().unwrap_or("the race's own disk");
        let tunables = self.tunables.iter().map(|(file, value)| format!(" {file}={value}"));
        format!("elevator {} of {of}{}", self.name, tunables.collect::<String>())
    }

    fn check(&self, _: &Hierarchies) -> Result<(), String> {
        // The race's own disk does not exist yet.
        self.device.as_deref().map_or(Ok(()), |disk| self.check_disk(disk))
    }

    fn apply(&self, changes: &mut MachineChanges) -> Result<(), String> {
        let disks = self.device.clone().map_or_else(|| changes.disks.clone(), |disk| vec![disk]);
        if disks.is_empty() {
            return Err("this load has no disk of its own; name one with device, or take a load that has".into());
        }
        disks.iter().try_for_each(|disk| self.set(disk, changes))
    }
}
