//! The commands that bring an arm to a real machine, and those that take it back.

pub(crate) mod elevators;
mod groups;

use crate::contender::Contender;
use crate::edit::disks::DiskChange;
use crate::edit::{Change, Edit, What, matches};
use crate::run::Named;
use crate::spec::PolicySpec;
use goodness_core::{Class, CpuId, CpuSet, Groups, Span};
use goodness_report::figure;
use goodness_report::model::Application;

/// Tunables of the fair classes with the file that sets each, in `/sys/kernel/debug/sched`, in ns.
const FILES: [(&str, &str, &str); 4] = [
    ("eevdf", "base_slice", "base_slice_ns"),
    ("cfs", "latency", "latency_ns"),
    ("cfs", "min_granularity", "min_granularity_ns"),
    ("cfs", "wakeup_granularity", "wakeup_granularity_ns"),
];

/// Most names of tasks that are changed one by one. A choice: what can be read before it is run.
const NAMES_MAX: usize = 4;

/// The recorded machine and work.
pub(crate) struct Recorded<'a> {
    /// CPUs.
    pub cpus: u32,
    /// Tasks.
    pub tasks: &'a [Named],
    /// The groups of the tasks, if an arm names one.
    pub groups: &'a Groups,
}

/// The commands for everything in which `arm` differs from `reference`. `None` if nothing does, or if some of it takes
/// another machine or another kernel.
pub(crate) fn application(reference: &Contender, arm: &Contender, recorded: &Recorded) -> Option<Application> {
    let mut commands = Application::default();
    if arm.policy != reference.policy {
        policy(&reference.policy, &arm.policy, recorded.cpus, &mut commands)?;
    }
    if let Some((elevator, former)) = arm.elevator.as_ref().zip(reference.elevator.as_ref()).filter(|(a, b)| a != b) {
        elevators::commands(former, elevator, &mut commands)?;
    }
    for edit in arm.edits.iter().filter(|edit| !reference.edits.contains(edit)) {
        self::edit(edit, recorded, &mut commands)?;
    }
    (!commands.apply.is_empty()).then_some(commands)
}

/// The commands for an arm that differs from `reference` in its elevator alone, which needs no recorded machine.
pub(crate) fn of_elevator(reference: &Contender, arm: &Contender) -> Option<Application> {
    let (former, elevator) = reference.elevator.as_ref().zip(arm.elevator.as_ref())?;
    let is_all = Contender { elevator: reference.elevator.clone(), ..arm.clone() } == *reference;
    let mut commands = Application::default();
    elevators::commands(former, elevator, &mut commands).filter(|()| is_all && !commands.apply.is_empty())?;
    Some(commands)
}

/// The commands for an arm of an experiment, whose machine is not known: it differs from `reference` in groups alone,
/// each named by its cgroup.
pub(crate) fn of_groups(reference: &Contender, arm: &Contender, recorded: &Recorded) -> Option<Application> {
    let changed = changed_groups(reference, arm)?;
    let is_known = changed.iter().all(|whom| groups::without_cgroup(whom, recorded.groups).is_none());
    application(reference, arm, recorded).filter(|_| is_known)
}

/// The first group that has no cgroup of those in which alone `arm` differs from `reference`.
pub(crate) fn without_cgroup<'a>(reference: &Contender, arm: &Contender, groups: &'a Groups) -> Option<&'a str> {
    changed_groups(reference, arm)?.into_iter().find_map(|whom| groups::without_cgroup(whom, groups))
}

/// Whom the edits name in which alone `arm` differs from `reference`, if all of them are of groups.
fn changed_groups<'a>(reference: &Contender, arm: &'a Contender) -> Option<Vec<&'a str>> {
    let whom = |edit: &'a Edit| match &edit.what {
        What::Group { whom, .. } => Some(whom.as_str()),
        _ => None,
    };
    let edits = arm.edits.iter().filter(|edit| !reference.edits.contains(edit));
    let is_alike = arm.policy == reference.policy && arm.elevator == reference.elevator;
    edits.map(whom).collect::<Option<Vec<&str>>>().filter(|it| is_alike && !it.is_empty())
}

/// Another policy, or other settings of the same.
fn policy(former: &PolicySpec, policy: &PolicySpec, cpus: u32, commands: &mut Application) -> Option<()> {
    let is_fair_class = |spec: &PolicySpec| FILES.iter().any(|(name, ..)| *name == spec.name);
    if former.name != policy.name || !is_fair_class(policy) {
        commands.add(format!("sudo goodness live {policy}"), "sudo goodness live stop".into());
        return Some(());
    }
    let value = |spec: &PolicySpec, name: &str| {
        spec.settings.iter().find(|(set, _)| set == name).map(|(_, value)| value.clone())
    };
    for (name, _) in former.settings.iter().chain(&policy.settings) {
        let (new, old) = (value(policy, name), value(former, name));
        if new == old {
            continue;
        }
        let file = FILES.iter().find(|(of, tunable, _)| *of == policy.name && tunable == name)?.2;
        let scaled = |text: String| Some(scaled_by_cpus(Span::parse(&text).ok()?, cpus));
        let path = format!("/sys/kernel/debug/sched/{file}");
        let kept = format!("/run/goodness-{file}");
        // A value that was kept before is the original one.
        let (keep, undo) = match old {
            Some(old) => (String::new(), format!("echo {} | sudo tee {path}", scaled(old)?)),
            None => {
                let keep = format!("[ -e {kept} ] || sudo cp {path} {kept}; ");
                (keep, format!("sudo cp {kept} {path} && sudo rm {kept}"))
            }
        };
        commands.add(format!("{keep}echo {} | sudo tee {path}", scaled(new?)?), undo);
    }
    Some(())
}

/// A slice as the kernel's file has it, in ns: after scaling by the number of CPUs.
pub(crate) fn scaled_by_cpus(slice: Span, cpus: u32) -> u64 {
    slice.0 * u64::from(1 + cpus.clamp(1, 8).ilog2())
}

fn edit(edit: &Edit, recorded: &Recorded, commands: &mut Application) -> Option<()> {
    match &edit.what {
        What::Hz(_) | What::Hogs(_) | What::Lock { .. } => None,
        What::Disk { change: DiskChange::Service(_), .. } => None,
        What::Disk { change: DiskChange::WriteBack(latency), .. } => {
            elevators::write_back(*latency, commands);
            Some(())
        }
        What::Group { whom, change } => groups::commands(whom, change, (recorded.groups, recorded.cpus), commands),
        What::Cpus(count) if *count > recorded.cpus => None,
        What::Cpus(count) => {
            for cpu in *count..recorded.cpus {
                let set = |to| format!("echo {to} | sudo tee /sys/devices/system/cpu/cpu{cpu}/online");
                commands.add(set(0), set(1));
            }
            Some(())
        }
        What::Task { whom, change } => of_tasks(whom, change, recorded, commands),
    }
}

/// A change of the tasks that `whom` means: one command for all, else one for each name of those that it changes.
/// `None` if some of one name could not be put back with one command.
fn of_tasks(whom: &str, change: &Change, recorded: &Recorded, commands: &mut Application) -> Option<()> {
    let is_id = whom.parse::<u32>().is_ok();
    let meant = recorded.tasks.iter().filter(|it| matches(whom, &it.name) || *whom == it.id.to_string());
    let meant: Vec<(&str, (String, String))> =
        meant.map(|it| Some((it.name.as_str(), words(change, it, recorded.cpus)?))).collect::<Option<_>>()?;
    let of_each = |whom: &str, command: &str| match is_id {
        true => format!("sudo {command} {whom}"),
        false => format!("pgrep -w -x '{}' | sudo xargs -r -n 1 {command}", pattern(whom)),
    };
    // `*` would be every thread of the machine, of the kernel's and of those that were not recorded, too.
    let is_alike = meant.iter().all(|(_, it)| *it == meant[0].1) && (is_id || whom != "*");
    if let (Some((_, (apply, undo))), true) = (meant.first(), is_alike) {
        commands.add(of_each(whom, apply), of_each(whom, undo));
        return Some(());
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in meant.iter().filter(|(_, (apply, undo))| apply != undo) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    if names.is_empty() || names.len() > NAMES_MAX {
        return None;
    }
    for name in names {
        let mut words = meant.iter().filter(|(it, _)| *it == name).map(|(_, words)| words);
        let (apply, undo) = words.next().filter(|first| words.all(|it| it == *first))?;
        commands.add(of_each(name, apply), of_each(name, undo));
    }
    Some(())
}

/// A sentence on the first tasks of which no command makes and takes back what `arm` changes, where a command makes it
/// of a single task.
pub(crate) fn unlike_tasks(reference: &Contender, arm: &Contender, recorded: &Recorded) -> Option<String> {
    let edits = arm.edits.iter().filter(|edit| !reference.edits.contains(edit));
    edits.into_iter().find_map(|edit| {
        let What::Task { whom, change } = &edit.what else { return None };
        let is_setting = !matches!(change, Change::Apart | Change::Compute(_));
        let is_unlike = is_setting && of_tasks(whom, change, recorded, &mut Application::default()).is_none();
        is_unlike.then(|| format!("No command applies it: {}.", unlike(whom, edit, recorded)))
    })
}

/// The difference between the tasks that `whom` means, and a remedy.
fn unlike(whom: &str, edit: &Edit, recorded: &Recorded) -> String {
    let mut names: Vec<(&str, usize)> = Vec::new();
    for name in recorded.tasks.iter().map(|it| it.name.as_str()).filter(|name| matches(whom, name)) {
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    let most = names.iter().rev().max_by_key(|(_, count)| *count).filter(|_| names.len() > NAMES_MAX);
    match most {
        Some((name, _)) => {
            let change = edit.to_string().replacen(whom, "", 1);
            let (whom, name, count) = (figure::name(whom), figure::name(name), names.len());
            format!("\"{whom}\" means tasks of {count} names; name those that count, such as {name}{change}")
        }
        None => {
            let (whom, kind) = (figure::name(whom), edit.kind());
            format!("the tasks called \"{whom}\" differ in {kind}, so that no command takes it back")
        }
    }
}

/// The command that makes a change of a thread such as `task`, whose id follows, and the one that takes it back; `None`
/// if there is none.
fn words(change: &Change, task: &Named, cpus: u32) -> Option<(String, String)> {
    let of_class = |class, priority| Some(format!("chrt {} --pid {priority}", option(class)?));
    Some(match change {
        Change::Nice(new) => (format!("renice -n {} -p", new.get()), format!("renice -n {} -p", task.nice?)),
        Change::Class(class, priority) => {
            let former = if task.class.is_realtime() { 99_u32.saturating_sub(task.priority) } else { 0 };
            let priority = if class.is_realtime() { u32::from(*priority) } else { 0 };
            (of_class(*class, priority)?, of_class(task.class, former)?)
        }
        Change::Slice(slice) => {
            let class = option(task.class).filter(|_| !task.class.is_realtime())?;
            let of = |slice| format!("chrt {class} --sched-runtime {slice} --pid 0");
            (of(slice.0), of(0))
        }
        Change::Affinity(list) => {
            let of = |set: &CpuSet| format!("taskset -cp {}", cpu_list(set, cpus));
            (of(&CpuSet::of(list)), of(&task.affinity))
        }
        Change::Apart | Change::Compute(_) => return None,
    })
}

/// The option of `chrt` for a class that it can set without more.
fn option(class: Class) -> Option<&'static str> {
    Some(match class {
        Class::Normal => "--other",
        Class::Batch => "--batch",
        Class::Idle => "--idle",
        Class::Fifo => "--fifo",
        Class::RoundRobin => "--rr",
        _ => return None,
    })
}

/// The CPUs of a set, as `taskset` takes them: `0-3`, or `0,2`.
fn cpu_list(set: &CpuSet, cpus: u32) -> String {
    let all: Vec<String> = (0..cpus).filter(|cpu| set.contains(CpuId(*cpu))).map(|cpu| cpu.to_string()).collect();
    match all.len() == cpus as usize {
        true => format!("0-{}", cpus - 1),
        false => all.join(","),
    }
}

/// The names that an edit means, as a regular expression.
fn pattern(whom: &str) -> String {
    let letter = |letter: char| match letter {
        '*' => ".*".to_string(),
        // A quote would end the shell's word, and a control character is not printed.
        it if it == '\'' || it.is_control() => ".".to_string(),
        it if r".[](){}+?|^$\".contains(it) => format!("\\{it}"),
        it => it.to_string(),
    };
    whom.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Nice, Task};

    fn commands(text: &str) -> Option<(Vec<String>, Vec<String>)> {
        asked(text, application).map(|it| (it.apply, it.undo))
    }

    fn why_not(text: &str) -> Option<String> {
        asked(text, unlike_tasks)
    }

    fn asked<T>(text: &str, what: fn(&Contender, &Contender, &Recorded) -> T) -> T {
        let standard = PolicySpec::parse("eevdf:kernel=6.18").unwrap();
        let named = |name: &str, id, task: Task| Named::of(name, id, &task);
        let nice = |nice| Task { nice: Nice::new(nice).unwrap(), ..Task::default() };
        let pinned = Task { class: Class::Batch, affinity: CpuSet::of(&[CpuId(1), CpuId(3)]), ..Task::default() };
        let urgent = Task { class: Class::Fifo, rt_priority: 7, ..Task::default() };
        let tasks = [
            named("redis", 7, nice(0)),
            named("cc1", 8, nice(5)),
            named("cc2", 9, nice(0)),
            named("mariadbd", 10, pinned),
            named("irq", 11, urgent),
        ];
        let arm = Contender::arm(text, &standard).unwrap();
        let recorded = Recorded { cpus: 4, tasks: &tasks, groups: &Groups::default() };
        what(&Contender::policy(standard), &arm, &recorded)
    }

    fn one(text: &str) -> (String, String) {
        let (apply, undo) = commands(text).unwrap();
        (apply.join("; "), undo.join("; "))
    }

    #[test]
    fn each_change_has_a_command_and_one_that_takes_it_back() {
        let is = |text, apply: &str, undo: &str| assert_eq!(one(text), (apply.into(), undo.into()), "{text}");
        is(
            "redis.nice=-5",
            "pgrep -w -x 'redis' | sudo xargs -r -n 1 renice -n -5 -p",
            "pgrep -w -x 'redis' | sudo xargs -r -n 1 renice -n 0 -p",
        );
        is("8.nice=9", "sudo renice -n 9 -p 8", "sudo renice -n 5 -p 8");
        is(
            "r*.class=batch",
            "pgrep -w -x 'r.*' | sudo xargs -r -n 1 chrt --batch --pid 0",
            "pgrep -w -x 'r.*' | sudo xargs -r -n 1 chrt --other --pid 0",
        );
        is("7.affinity=0,2", "sudo taskset -cp 0,2 7", "sudo taskset -cp 0-3 7");
        is("10.affinity=0", "sudo taskset -cp 0 10", "sudo taskset -cp 1,3 10");
        is("10.class=idle", "sudo chrt --idle --pid 0 10", "sudo chrt --batch --pid 0 10");
        is(
            "10.slice=1ms",
            "sudo chrt --batch --sched-runtime 1000000 --pid 0 10",
            "sudo chrt --batch --sched-runtime 0 --pid 0 10",
        );
        is("11.class=batch", "sudo chrt --batch --pid 0 11", "sudo chrt --fifo --pid 7 11");
        is("scx-lavd", "sudo goodness live scx-lavd", "sudo goodness live stop");
        let (apply, undo) = one("cpus=2");
        assert!(apply.contains("cpu2/online; echo 0") && undo.ends_with("cpu3/online"), "{apply} {undo}");
    }

    /// Of the tasks, 10 alone is confined.
    #[test]
    fn all_tasks_are_those_that_change_by_their_names() {
        assert_eq!(
            one("*.affinity=0-3"),
            (
                "pgrep -w -x 'mariadbd' | sudo xargs -r -n 1 taskset -cp 0-3".into(),
                "pgrep -w -x 'mariadbd' | sudo xargs -r -n 1 taskset -cp 1,3".into()
            )
        );
        let (apply, undo) = one("c*.nice=3");
        assert!(apply.contains("'cc1' | sudo xargs -r -n 1 renice -n 3 -p; pgrep -w -x 'cc2'"), "{apply}");
        assert!(undo.contains("'cc1' | sudo xargs -r -n 1 renice -n 5"), "{undo}");
        assert_eq!(commands("*.affinity=0"), None, "more names than can be read");
        assert_eq!(
            why_not("*.affinity=0").as_deref(),
            Some(
                "No command applies it: \"*\" means tasks of 5 names; name those that count, such as \
                 redis.affinity=0."
            )
        );
    }

    #[test]
    fn tasks_of_one_name_that_were_not_alike_are_a_reason() {
        let standard = PolicySpec::parse("eevdf:kernel=6.18").unwrap();
        let tasks = [0, 5].map(|nice| Task { nice: Nice::new(nice).unwrap(), ..Task::default() });
        let tasks = [Named::of("cc1", 7, &tasks[0]), Named::of("cc1", 8, &tasks[1])];
        let recorded = Recorded { cpus: 4, tasks: &tasks, groups: &Groups::default() };
        let said = |text: &str| {
            let arm = Contender::arm(text, &standard).unwrap();
            unlike_tasks(&Contender::policy(standard.clone()), &arm, &recorded)
        };
        let why = said("cc1.nice=3").expect("a reason");
        assert!(why.starts_with("No command applies it: the tasks called \"cc1\" differ in nice"), "{why}");
        assert_eq!([said("cc1.affinity=0"), said("8.nice=3"), said("cc1.compute=50%")], [None, None, None]);
    }

    #[test]
    fn no_name_ends_the_word_that_the_shell_sees() {
        assert_eq!(pattern("x>y`z`"), "x>y`z`", "nothing special between quotes, nor to pgrep");
        assert_eq!(pattern("a.b(c)+'$(id)\n"), r"a\.b\(c\)\+.\$\(id\).");
        assert_eq!(pattern("worker*"), "worker.*");
    }

    /// specs/cpu-schedulers.md 5.2: the kernel scales by 1 + log2(CPUs), of at most 8.
    #[test]
    fn the_kernel_gets_the_slice_scaled_by_the_number_of_cpus() {
        let (apply, undo) = one("eevdf:base_slice=3ms");
        assert!(apply.ends_with("echo 9000000 | sudo tee /sys/kernel/debug/sched/base_slice_ns"), "{apply}");
        let kept = "/run/goodness-base_slice_ns";
        assert_eq!(undo, format!("sudo cp {kept} /sys/kernel/debug/sched/base_slice_ns && sudo rm {kept}"));
        assert!(
            apply.starts_with(&format!("[ -e {kept} ] || sudo cp ")),
            "a second time keeps the first value: {apply}"
        );
    }

    #[test]
    fn what_takes_another_machine_or_kernel_has_no_command() {
        for text in ["base", "cpus=8", "hz=1000", "eevdf:kernel=6.12", "nobody.nice=3"] {
            assert_eq!(commands(text), None, "{text}");
        }
    }
}
