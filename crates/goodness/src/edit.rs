//! Edits: what an arm changes in the work and the machine.

mod apart;
pub(crate) mod disks;
pub(crate) mod groups;
pub(crate) mod locks;
mod made;

use crate::refusal::Refusal;
use apart::Percent;
use disks::DiskChange;
use goodness_core::spelling::suggest;
use goodness_core::{
    Behaviour, Class, CpuId, CpuSet, GroupId, Machine, Nice, Span, Start, Step, StepContext, Task, TaskId, TaskSpec,
    Time, Workload, WorkloadSource,
};
use groups::GroupChange;
use std::collections::BTreeSet;
use std::fmt;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// As typed.
    text: String,
    pub(crate) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Cpus(u32),
    Hz(u32),
    Hogs(u32),
    Task { whom: String, change: Change },
    Group { whom: String, change: GroupChange },
    Lock { whom: String, hold: Percent },
    Disk { whom: String, change: DiskChange },
}

/// A change of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Nice(Nice),
    Class(Class, u8),
    Slice(Span),
    Affinity(Vec<CpuId>),
    /// CPUs of its own, added to the machine, which no other task uses.
    Apart,
    /// Less or more CPU time for each part of its work.
    Compute(Percent),
}

/// Name of added tasks, which other edits of the arm may name.
pub const HOG: &str = "added-hog";
/// Address space of added tasks: no process has this number.
const HOG_SPACE: u32 = u32::MAX;
/// Keys of a task, a lock or a disk that an edit can set.
const KEYS: [&str; 8] = ["nice", "class", "slice", "affinity", "compute", locks::KEY, disks::KEYS[0], disks::KEYS[1]];
/// Shortest and longest slice that a task can ask for (`sched_setattr`).
const SLICES: (Span, Span) = (Span::from_us(100), Span::from_ms(100));
/// Classes that an edit can set.
const CLASSES: [Class; 5] = [Class::Normal, Class::Batch, Class::Idle, Class::Fifo, Class::RoundRobin];

impl Edit {
    /// An edit as typed: `cpus=4`, `hz=1000`, `hogs=2`, `redis.nice=-5`, `1234.affinity=0-1`, `worker*.class=batch`,
    /// `web.cpu_weight=50`, `table.hold=75%`, `disk.service=75%`, `disk.wbt_lat=2ms`. `None` if `text` is not an edit
    /// but a policy.
    ///
    /// # Errors
    /// An unknown key (the nearest is named), or a value of the wrong kind or out of range.
    pub fn parse(text: &str) -> Result<Option<Edit>, Refusal> {
        // Tasks and disks may have colons in their names: `kworker/0:1`, `8:0`.
        let is_edit = |left: &str| match left.rsplit_once('.') {
            Some((_, key)) => !left.contains(':') || groups::keys(&KEYS).any(|known| known == key),
            None => !left.contains(':'),
        };
        let Some((left, value)) = text.split_once('=').filter(|(left, _)| is_edit(left)) else { return Ok(None) };
        let what = match (left, left.rsplit_once('.')) {
            ("cpus", _) => What::Cpus(number(text, value, 1, goodness_core::CPUS_MAX as u32)?),
            ("hz", _) => What::Hz(number(text, value, 1, 100_000)?),
            ("hogs", _) => What::Hogs(number(text, value, 1, 1_000)?),
            (_, Some((whom, locks::KEY))) => What::Lock { whom: whom.into(), hold: Percent::parse(text, value)? },
            (_, Some((whom, key))) => {
                let whom: String = whom.into();
                if let Some(change) = DiskChange::parse(text, key, value)? {
                    What::Disk { whom, change }
                } else if let Some(change) = GroupChange::parse(text, key, value)? {
                    What::Group { whom, change }
                } else {
                    What::Task { whom, change: Change::parse(text, key, value)? }
                }
            }
            (_, None) => {
                let remedy = "write cpus=4, hz=1000, hogs=2, TASK.nice=5 or a policy such as eevdf:base_slice=1ms";
                return Err(wrong(text, "it names neither a task nor a part of the machine").remedy(remedy));
            }
        };
        Ok(Some(Edit { text: text.into(), what }))
    }
}

impl Edit {
    /// True if it changes or adds tasks or changes groups, and not the machine.
    #[cfg(feature = "live")]
    pub(crate) fn is_of_work(&self) -> bool {
        !matches!(self.what, What::Cpus(_) | What::Hz(_))
    }

    /// True if it gives tasks CPUs of their own.
    fn gives_own_cpus(&self) -> bool {
        matches!(self.what, What::Task { change: Change::Apart, .. })
    }

    /// A fact about tasks as typed: `worker*.affinity=0-1`. The syntax is that of edits.
    ///
    /// # Errors
    /// As [`Edit::parse`]; a policy, or a part of the machine.
    pub(crate) fn fact(text: &str) -> Result<Edit, Refusal> {
        let about_facts = |why: Refusal| Refusal { what: why.what.replacen("arm", "fact", 1), ..why }.option("fact");
        let edit = Edit::parse(text).map_err(about_facts)?;
        let is_fact = |what: &What| match what {
            What::Task { change, .. } => !matches!(change, Change::Apart | Change::Compute(_)),
            _ => false,
        };
        edit.filter(|edit| is_fact(&edit.what)).ok_or_else(|| {
            let remedy = "write TASK.affinity=0-1, TASK.class=batch, TASK.slice=3ms or TASK.nice=5";
            about_facts(wrong(text, "it names no task")).remedy(remedy)
        })
    }

    /// The tasks it is about, as typed, if it is about tasks.
    pub(crate) fn whom(&self) -> Option<&str> {
        match &self.what {
            What::Task { whom, .. } => Some(whom),
            _ => None,
        }
    }

    /// Sets in `task` what it is about.
    pub(crate) fn set(&self, task: &mut Task) {
        if let What::Task { change, .. } = &self.what {
            change.set(task);
        }
    }

    /// The number of CPUs, if it sets that.
    pub(crate) fn cpus(&self) -> Option<u32> {
        if let What::Cpus(cpus) = self.what { Some(cpus) } else { None }
    }

    /// The number of tasks that it adds.
    pub(crate) fn hogs(&self) -> Option<u32> {
        if let What::Hogs(count) = self.what { Some(count) } else { None }
    }

    /// The kind of change, which has an error of its own.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.what {
            What::Cpus(_) => "cpus",
            What::Hz(_) => "hz",
            What::Hogs(_) => "load",
            What::Group { change: GroupChange::Cpus(_), .. } => "affinity",
            What::Group { .. } => "group",
            What::Lock { .. } => locks::KEY,
            What::Disk { change, .. } => change.key(),
            What::Task { change: Change::Nice(_), .. } => "nice",
            What::Task { change: Change::Class(..), .. } => "class",
            What::Task { change: Change::Slice(_), .. } => "slice",
            What::Task { change: Change::Affinity(_) | Change::Apart, .. } => "affinity",
            What::Task { change: Change::Compute(_), .. } => "compute",
        }
    }

    /// True if it changes something by a part of it: two of them multiply.
    pub(crate) fn multiplies(&self) -> bool {
        match &self.what {
            What::Lock { .. } | What::Disk { change: DiskChange::Service(_), .. } => true,
            What::Task { change, .. } => matches!(change, Change::Compute(_)),
            _ => false,
        }
    }

    /// True if both set the same: left of the `=` they read alike.
    pub(crate) fn sets_as(&self, other: &Edit) -> bool {
        let set = |edit: &Edit| edit.text.split('=').next().map(str::to_string);
        set(self) == set(other)
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A slice that a task asks for: 0 is the default, as in Linux, which brings all others within its limits.
fn slice(text: &str, value: &str) -> Result<Span, Refusal> {
    let slice = Span::parse(value).map_err(|why| wrong(text, &why))?;
    let is_taken = slice == Span::ZERO || (SLICES.0..=SLICES.1).contains(&slice);
    let refused = || wrong(text, "a slice is from 100us to 100ms").remedy("or write 0ms for the default");
    is_taken.then_some(slice).ok_or_else(refused)
}

impl Change {
    fn parse(text: &str, key: &str, value: &str) -> Result<Change, Refusal> {
        Ok(match key {
            "nice" => {
                let nice = value.parse().ok().and_then(Nice::new);
                Change::Nice(nice.ok_or_else(|| wrong(text, "nice is a number from -20 to 19"))?)
            }
            "class" => {
                let (name, priority) = value.split_once(':').unwrap_or((value, "1"));
                let known = Class::parse(name).filter(|class| CLASSES.contains(class));
                let names = CLASSES.map(Class::name);
                let class = known.ok_or_else(|| wrong(text, "there is no such class").remedy(suggest(name, names)))?;
                Change::Class(class, number(text, priority, 1, 99)? as u8)
            }
            "slice" => Change::Slice(slice(text, value)?),
            "affinity" if value == apart::OWN => Change::Apart,
            "affinity" => Change::Affinity(cpus(text, value)?),
            "compute" => Change::Compute(Percent::parse(text, value)?),
            key => {
                let known = suggest(key, groups::keys(&KEYS));
                return Err(wrong(text, &format!("no task, group, lock or disk has a key \"{key}\"")).remedy(known));
            }
        })
    }

    fn apply(&self, spec: &mut TaskSpec) {
        self.set(&mut spec.task);
        if let Change::Compute(part) = self {
            apart::compute(spec, *part);
        }
        if let Change::Nice(nice) = self {
            let behaviour = std::mem::replace(&mut spec.behaviour, Box::new(|_: &mut StepContext| Step::Exit));
            spec.behaviour = Box::new(KeepsNice { nice: *nice, behaviour });
        }
    }

    fn set(&self, task: &mut Task) {
        match self {
            Change::Nice(nice) => task.nice = *nice,
            Change::Class(class, priority) => {
                task.class = *class;
                task.rt_priority = if class.is_realtime() { *priority } else { 0 };
            }
            Change::Slice(slice) => task.slice = Some(*slice).filter(|slice| *slice > Span::ZERO),
            Change::Affinity(cpus) => task.affinity = CpuSet::of(cpus),
            Change::Apart | Change::Compute(_) => {}
        }
    }
}

/// A task that keeps the edit's nice and ignores its own changes.
struct KeepsNice {
    nice: Nice,
    behaviour: Box<dyn Behaviour>,
}

impl Behaviour for KeepsNice {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        match self.behaviour.next(cx) {
            Step::SetNice(_) => Step::SetNice(self.nice),
            step => step,
        }
    }
}

fn wrong(text: &str, why: &str) -> Refusal {
    Refusal::usage(format!("arm \"{text}\": {why}"))
}

fn number(text: &str, value: &str, low: u32, high: u32) -> Result<u32, Refusal> {
    let number = value.parse().ok().filter(|n| (low..=high).contains(n));
    number.ok_or_else(|| wrong(text, &format!("\"{value}\" is no number from {low} to {high}")))
}

/// A list of CPUs as `taskset` has it: `0,2-3`.
fn cpus(text: &str, value: &str) -> Result<Vec<CpuId>, Refusal> {
    let mut list = Vec::new();
    for part in value.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(text, first, 0, CpuId::LAST.0)?, number(text, last, 0, CpuId::LAST.0)?);
        list.extend((first..=last).map(CpuId));
    }
    if list.is_empty() { Err(wrong(text, "no CPU is named")) } else { Ok(list) }
}

/// `machine` with `edits`: further CPUs are cores of their own beside CPU 0, of full speed. Tasks with CPUs of their
/// own get as many as there were.
///
/// # Errors
/// A machine that cannot be.
pub(crate) fn machine(edits: &[Edit], machine: &Machine) -> Result<Machine, Refusal> {
    let mut edited = machine.clone();
    let (own, others): (Vec<&Edit>, Vec<&Edit>) = edits.iter().partition(|edit| edit.gives_own_cpus());
    for edit in others.into_iter().chain(own) {
        let (count, hz) = match edit.what {
            What::Cpus(count) => (count as usize, edited.hz),
            What::Hz(hz) => (edited.cpu_count(), hz),
            What::Task { change: Change::Apart, .. } => {
                (edited.cpu_count() + shared_cpus(edits, machine.cpu_count()), edited.hz)
            }
            _ => continue,
        };
        let near = *edited.cpu(CpuId(0));
        let free = edited.cpu_ids().map(|cpu| edited.cpu(cpu).core + 1).max().unwrap_or_default();
        let further = (0..).map(|index| goodness_core::Cpu { core: free + index, capacity: 1024, ..near });
        let cpus = edited.cpu_ids().map(|cpu| *edited.cpu(cpu)).chain(further).take(count).collect();
        let mut made = Machine::new(&edited.name, cpus, hz).map_err(|why| wrong(&edit.text, &why))?;
        (made.costs, made.sibling_speed) = (edited.costs.clone(), edited.sibling_speed);
        made.workers = edited.workers;
        if let Some(why) = made.late_balance_is_late() {
            return Err(wrong(&edit.text, &why));
        }
        if hz == edited.hz {
            made.first_tick = edited.first_tick;
        }
        edited = made;
    }
    Ok(edited)
}

/// Number of CPUs without those that tasks have of their own; `before` without edits.
pub(crate) fn shared_cpus(edits: &[Edit], before: usize) -> usize {
    edits.iter().find_map(|edit| edit.cpus()).map_or(before, |cpus| cpus as usize)
}

/// Applies `edits` to `work`, which is that of `source`; the machine it was made for has `before` CPUs, and the one it
/// runs on has `cpus`.
///
/// # Errors
/// A task that is not there; the nearest name is named.
#[cfg(any(test, feature = "live"))]
pub(crate) fn work(
    edits: &[Edit],
    work: &mut Workload,
    source: &dyn WorkloadSource,
    (before, cpus): (usize, usize),
) -> Result<(), Refusal> {
    grow(edits, work, (before, cpus));
    apply(edits, work, source, before)
}

/// Moves `work` from a machine of `before` CPUs to one of `cpus`, and adds the tasks that `edits` add.
pub(crate) fn grow(edits: &[Edit], work: &mut Workload, (before, cpus): (usize, usize)) {
    onto(work, before, cpus);
    let hogs = edits.iter().filter_map(Edit::hogs);
    work.tasks.extend(hogs.flat_map(|count| 0..count).map(|_| hog()));
}

/// Changes `work`, which is that of `source` for a machine of `before` CPUs, as `edits` say.
///
/// # Errors
/// A task that is not there; the nearest name is named.
pub(crate) fn apply(
    edits: &[Edit],
    work: &mut Workload,
    source: &dyn WorkloadSource,
    before: usize,
) -> Result<(), Refusal> {
    let shared = shared_cpus(edits, before);
    let mut own = shared;
    for edit in edits {
        match &edit.what {
            What::Group { whom, change } => change.apply(&edit.text, whom, work)?,
            What::Lock { whom, hold } => locks::apply(&edit.text, (whom, *hold), work, source)?,
            What::Disk { whom, change } => disks::apply(&edit.text, (whom, change), work)?,
            _ => {}
        }
        let What::Task { whom, change } = &edit.what else { continue };
        let mut found = false;
        if edit.gives_own_cpus() {
            found = apart::apart(whom, work, source, (shared, own));
            own += shared;
        }
        for (index, spec) in work.tasks.iter_mut().enumerate() {
            if is_meant(whom, &spec.name, source.id_of(TaskId(index as u32))) {
                change.apply(spec);
                found = true;
            }
        }
        if !found {
            let names: BTreeSet<&str> = work.tasks.iter().map(|spec| spec.name.as_str()).collect();
            let all = format!("{whom}-*");
            let is_numbered = names.iter().any(|name| matches(&all, name));
            let remedy = if is_numbered { format!("\"{all}\" names all of them") } else { suggest(whom, names) };
            return Err(wrong(&edit.text, &format!("no task is called \"{whom}\"")).remedy(remedy));
        }
    }
    Ok(())
}

/// A task that computes all the time: load added beside the work. Nothing is asked about it, so it is not judged.
fn hog() -> TaskSpec {
    TaskSpec {
        name: HOG.into(),
        start: Start::At(Time::ZERO),
        task: Task { address_space: Some(HOG_SPACE), ..Task::default() },
        behaviour: Box::new(|_: &mut StepContext| Step::Compute(Span::MAX)),
        judged: false,
    }
}

/// Moves work that was made for a machine with `before` CPUs to one with `cpus`, with the affinities that its tasks set
/// themselves.
pub(crate) fn onto(work: &mut Workload, before: usize, cpus: usize) {
    if before == cpus {
        return;
    }
    let groups: Vec<GroupId> = work.groups.iter().map(|(id, _)| id).collect();
    groups.into_iter().for_each(|id| stretch(&mut work.groups.edit(id).cpus, before, cpus));
    for spec in &mut work.tasks {
        move_to(&mut spec.task, before, cpus);
        apart::wrap(spec, move |mut step| {
            if let Step::SetAffinity(set) = &mut step {
                stretch(set, before, cpus);
            }
            step
        });
    }
}

/// A task that could use every CPU can use every CPU; one that loses its last may run anywhere, as Linux has it.
fn move_to(task: &mut Task, before: usize, cpus: usize) {
    stretch(&mut task.affinity, before, cpus);
    task.first_cpu = CpuId(task.first_cpu.0 % cpus as u32);
}

/// A set of every CPU, or of none that is left, is one of all.
fn stretch(set: &mut CpuSet, before: usize, cpus: usize) {
    let has = |count: usize| (0..count as u32).filter(|cpu| set.contains(CpuId(*cpu))).count();
    if has(before) == before || has(cpus) == 0 {
        *set = CpuSet::All;
    }
}

/// True if `whom`, a thread id or a name with `*` for anything, means the task.
pub(crate) fn is_meant(whom: &str, name: &str, id: u64) -> bool {
    whom.parse() == Ok(id) || matches(whom, name)
}

/// True if `name` has the form `pattern`, in which `*` matches any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, rest)) => {
            let Some(left) = name.strip_prefix(before) else { return false };
            (0..=left.len()).any(|at| left.is_char_boundary(at) && matches(rest, &left[at..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Workers;

    fn edit(text: &str) -> Edit {
        Edit::parse(text).unwrap_or_else(|why| panic!("{why}")).expect("an edit")
    }

    #[test]
    fn policies_are_no_edits_and_edits_name_a_task_or_the_machine() {
        for policy in ["eevdf", "linux-2.4", "eevdf:base_slice=1.5ms", "o1+cfq:quantum=8"] {
            assert_eq!(Edit::parse(policy).unwrap(), None, "{policy}");
        }
        assert_eq!(edit("cpus=4").what, What::Cpus(4));
        let nice = Change::Nice(Nice::new(-5).unwrap());
        assert_eq!(edit("web.1.nice=-5").what, What::Task { whom: "web.1".into(), change: nice });
        let affinity = Change::Affinity([0, 2, 3].map(CpuId).to_vec());
        assert_eq!(edit("7.affinity=0,2-3").what, What::Task { whom: "7".into(), change: affinity });
        assert_eq!(
            edit("x.class=fifo:50").what,
            What::Task { whom: "x".into(), change: Change::Class(Class::Fifo, 50) }
        );
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_could() {
        let cases = [
            ("redis.nice=-21", "from -20 to 19"),
            ("redis.nise=1", "nice"),
            ("redis.class=bach", "batch"),
            ("cpus=0", "from 1 to"),
            ("nice=4", "neither a task nor"),
            ("x.slice=3", "unit"),
            ("x.affinity=", "no number"),
        ];
        for (text, part) in cases {
            let why = Edit::parse(text).expect_err(text).to_string();
            assert!(why.contains(part) && why.contains(text), "{text}: {why}");
        }
    }

    #[test]
    fn a_pattern_stands_for_all_names_of_its_form() {
        assert!(matches("worker*", "worker-3") && matches("*er", "worker") && matches("w*k*r", "worker"));
        assert!(!matches("worker", "worker-3") && !matches("w*k", "worker"));
    }

    #[test]
    fn an_edited_nice_holds_against_what_the_task_sets_itself() {
        let mut steps = [Step::SetNice(Nice::new(3).unwrap()), Step::Exit].into_iter();
        let behaviour = Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit));
        let mut spec = TaskSpec {
            name: "a".into(),
            start: goodness_core::Start::At(goodness_core::Time::ZERO),
            task: Task::default(),
            behaviour,
            judged: true,
        };
        let nice = Nice::new(10).unwrap();
        Change::Nice(nice).apply(&mut spec);
        let mut rng = goodness_core::Seed(1).rng();
        let mut cx = StepContext { now: goodness_core::Time::ZERO, task: TaskId(0), rng: &mut rng };
        assert_eq!(spec.task.nice, nice);
        assert!(matches!(spec.behaviour.next(&mut cx), Step::SetNice(set) if set == nice));
        assert!(matches!(spec.behaviour.next(&mut cx), Step::Exit));
    }

    #[test]
    fn added_hogs_are_tasks_of_the_work_that_other_edits_can_name() {
        let source = goodness_work::models::BuiltIn::parse("sleepers:duration=300ms").unwrap();
        let edited = |text: &str| {
            let edits: Vec<Edit> = text.split(' ').map(edit).collect();
            let mut tasks = source.build(goodness_core::Seed(1), 0);
            let before = tasks.tasks.len();
            work(&edits, &mut tasks, &source, (1, 1)).map(|()| tasks.tasks.split_off(before))
        };
        let added = edited("added-hog.nice=5 hogs=2").unwrap();
        assert_eq!(added.len(), 2);
        assert!(added.iter().all(|it| it.name == HOG && it.task.nice == Nice::new(5).unwrap() && !it.judged));
        assert!(edited("added-hog.nice=5").is_err_and(|why| why.to_string().contains("no task is called")));
        assert!(Edit::parse("hogs=0").is_err_and(|why| why.to_string().contains("from 1 to")));
        assert!(edit("hogs=1").sets_as(&edit("hogs=2")), "two numbers of hogs contradict each other");
    }

    #[test]
    fn further_cpus_are_cores_and_keep_costs_and_threads_of_the_kernel() {
        let mut two = Machine::flat(2, 250).unwrap();
        two.costs.interrupt = Span(7);
        two.workers = Some(Workers { every: Span::from_ms(900), run: Span(7) });
        let four = machine(&[edit("cpus=4"), edit("hz=1000")], &two).unwrap();
        assert_eq!((four.cpu_count(), four.hz, four.costs.interrupt), (4, 1000, Span(7)));
        assert_eq!(four.workers, two.workers);
        two.costs.late_balance = Span::from_us(1_500);
        let late = machine(&[edit("hz=1000")], &two).unwrap_err().to_string();
        assert!(late.contains("late_balance = 1.5ms is no shorter than a tick"), "{late}");
        assert_eq!(four.cpu(CpuId(3)).core, 3);
        assert_eq!(machine(&[edit("cpus=1")], &four).unwrap().cpu_count(), 1);
    }

    #[test]
    fn who_could_run_anywhere_still_can_and_who_loses_its_cpu_may_run_anywhere() {
        let mut anywhere = Task { affinity: CpuSet::of(&[CpuId(0), CpuId(1)]), first_cpu: CpuId(1), ..Task::default() };
        let mut pinned = Task { affinity: CpuSet::of(&[CpuId(1)]), ..Task::default() };
        let mut kept = pinned.clone();
        move_to(&mut anywhere, 2, 4);
        move_to(&mut kept, 2, 4);
        move_to(&mut pinned, 2, 1);
        assert_eq!((anywhere.affinity, pinned.affinity), (CpuSet::All, CpuSet::All));
        assert_eq!(kept.affinity, CpuSet::of(&[CpuId(1)]));
    }

    #[test]
    fn affinities_that_tasks_set_themselves_are_moved_with_the_work() {
        let second = Step::SetAffinity(CpuSet::of(&[CpuId(1)]));
        for (cpus, set) in [(1, Step::SetAffinity(CpuSet::All)), (2, second.clone()), (4, second.clone())] {
            let mut own = Workload { tasks: vec![hog()], ..Workload::default() };
            let step = second.clone();
            own.tasks[0].behaviour = Box::new(move |_: &mut StepContext| step.clone());
            onto(&mut own, 2, cpus);
            let mut rng = goodness_core::Seed(1).rng();
            let mut cx = StepContext { now: Time::ZERO, task: TaskId(0), rng: &mut rng };
            assert_eq!(own.tasks[0].behaviour.next(&mut cx), set, "on {cpus} CPUs");
        }
    }
}
