//! Policies written in Python: each verb is a call of the method of that name.

use crate::error::usage;
use crate::policy_view::{Context, Task};
use crate::waiting::Cancel;
use goodness::Own;
use goodness_core::policy::previous_cpu;
use goodness_core::{
    About, Context as View, CpuId, CpuPolicy, CpuSet, Dequeue, Enqueue, GroupId, Idle, Machine, Needs, Pick,
    PolicyEntry, Pull, Rejected, Resched, Seed, Span, Stop, TaskId, Time,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

/// The policy that `class` describes. Its exceptions end the work and wish to `cancel` the rest of it.
pub fn own(class: &Bound<PyAny>, cancel: &Cancel) -> PyResult<Own> {
    let name: String = class.getattr("__name__")?.extract()?;
    let summary: String = class.getattr("__doc__")?.extract().unwrap_or_default();
    let entry = described(&name, summary.lines().next().unwrap_or_default(), needs(class)?);
    let (class, cancel) = (class.clone().unbind(), cancel.clone());
    Ok(Own::new(entry, move |machine, seed| {
        let made = Python::attach(|py| Scripted::new(class.bind(py), machine, seed, &cancel));
        Box::new(made.unwrap_or_else(|error| cancel.fail(error)))
    }))
}

fn needs(class: &Bound<PyAny>) -> PyResult<Needs> {
    let mut needs = Needs::default();
    for need in class.getattr("needs")?.try_iter()? {
        let need: String = need?.extract()?;
        match need.as_str() {
            "tick" => needs.tick = true,
            "timer" => needs.timer = true,
            "balance" => needs.balance = true,
            "global_lock" => needs.global_lock = true,
            _ => return Err(usage(format!("needs has {need:?}; write tick, timer, balance or global_lock"))),
        }
    }
    Ok(needs)
}

/// The description with these facts, kept for the life of the process: one for each.
fn described(name: &str, summary: &str, needs: Needs) -> &'static PolicyEntry {
    static KNOWN: Mutex<Vec<&'static PolicyEntry>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |it: &About| it.name == name && it.summary == summary && it.needs == needs;
    if let Some(entry) = known.iter().find(|entry| is_it(entry.about)) {
        return entry;
    }
    let kept = |text: &str| -> &'static str { String::from(text).leak() };
    let about = About { name: kept(name), summary: kept(summary), source: "a policy of your own", needs };
    let entry: &'static PolicyEntry = Box::leak(Box::new(Own::described(Box::leak(Box::new(about)))));
    known.push(entry);
    entry
}

/// A policy of one run.
struct Scripted {
    object: Py<PyAny>,
    name: String,
    view: Py<Context>,
    /// Tasks by number.
    tasks: Vec<Py<Task>>,
    cpus: u32,
    selects: bool,
    balances: bool,
    has_timer: bool,
    /// True once CPUs have gone offline: affinities of queued tasks change without a verb.
    knows_offline: Cell<bool>,
    cancel: Cancel,
}

/// An argument of a verb.
enum Word {
    Task(TaskId),
    Parent(Option<TaskId>),
    Number(u64),
    Text(&'static str),
}

impl Word {
    fn cpu(cpu: CpuId) -> Word {
        Word::Number(cpu.index() as u64)
    }
}

impl Scripted {
    fn new(class: &Bound<PyAny>, machine: &Machine, seed: Seed, cancel: &Cancel) -> PyResult<Scripted> {
        let py = class.py();
        let (cpus, hz) = (machine.cpu_count(), machine.hz);
        let object = class.call0()?;
        object.call_method1("_begin", (cpus, hz, seed.stream("policy", 0).0))?;
        let base = py.import("goodness._policy")?.getattr("Policy")?;
        let overrides = |verb: &str| -> PyResult<bool> { Ok(!class.getattr(verb)?.is(&base.getattr(verb)?)) };
        let view = Context { now: 0, cpus, hz, waker: None, waking_cpu: None, sync: false, examined: [0; 4] };
        Ok(Scripted {
            name: class.getattr("__name__")?.extract()?,
            view: Py::new(py, view)?,
            tasks: Vec::new(),
            cpus: cpus as u32,
            selects: overrides("select_cpu")?,
            balances: overrides("balance")?,
            has_timer: overrides("next_timer")?,
            knows_offline: Cell::new(false),
            cancel: cancel.clone(),
            object: object.unbind(),
        })
    }

    /// Calls `verb` and reads its answer. An exception, or a wish to end, ends the run.
    fn call<T>(&self, cx: &View, verb: &str, words: &[Word], read: impl FnOnce(&Bound<PyAny>) -> PyResult<T>) -> T {
        self.tried(cx, verb, words, read).unwrap_or_else(|error| self.cancel.fail(error))
    }

    fn tried<T>(
        &self,
        cx: &View,
        verb: &str,
        words: &[Word],
        read: impl FnOnce(&Bound<PyAny>) -> PyResult<T>,
    ) -> PyResult<T> {
        if self.cancel.is_wished() {
            self.cancel.end();
        }
        Python::attach(|py| {
            let view = self.view.bind(py);
            view.borrow_mut().now = cx.now.0;
            self.refresh(py, cx);
            let words = words.iter().map(|word| self.given(py, cx, word));
            let given: Vec<_> = std::iter::once(Ok(view.clone().into_any())).chain(words).collect::<PyResult<_>>()?;
            let answer = self.object.bind(py).call_method1(verb, PyTuple::new(py, given)?)?;
            view.borrow_mut().report(cx);
            read(&answer).map_err(|why| match why.is_instance_of::<PyTypeError>(py) {
                true => usage(format!("{}.{verb} returned {answer}; {}", self.name, answers(verb))),
                false => why,
            })
        })
    }

    /// Brings all tasks up to date in a run in which CPUs go offline.
    fn refresh(&self, py: Python<'_>, cx: &View) {
        let changes = self.knows_offline.get() || cx.groups[GroupId::ROOT].cpus != CpuSet::All;
        self.knows_offline.set(changes);
        if changes {
            for (object, number) in self.tasks.iter().zip(0..) {
                *object.bind(py).borrow_mut() = Task::of(&cx.tasks, TaskId(number));
            }
        }
    }

    fn given<'py>(&self, py: Python<'py>, cx: &View, word: &Word) -> PyResult<Bound<'py, PyAny>> {
        match *word {
            Word::Text(text) => Ok(PyString::intern(py, text).into_any()),
            Word::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
            Word::Parent(None) => Ok(py.None().into_bound(py)),
            Word::Task(task) | Word::Parent(Some(task)) => {
                let object = self.tasks[task.index()].bind(py);
                // Nice, class and affinity of a running task change without a verb.
                *object.borrow_mut() = Task::of(&cx.tasks, task);
                Ok(object.clone().into_any())
            }
        }
    }

    fn cpu(&self, answer: &Bound<PyAny>) -> PyResult<CpuId> {
        let cpu: u32 = answer.extract()?;
        match cpu < self.cpus {
            true => Ok(CpuId(cpu)),
            false => Err(usage(format!("{} named CPU {cpu}; the machine has CPUs 0 to {}", self.name, self.cpus - 1))),
        }
    }

    fn resched(&self, answer: &Bound<PyAny>) -> PyResult<Resched> {
        if answer.is_none() { Ok(Resched::Keep) } else { Ok(Resched::Preempt(self.cpu(answer)?)) }
    }

    /// Shows who woke the task, for the verbs of a wake-up.
    fn tell(&self, why: &Enqueue) {
        Python::attach(|py| {
            let mut view = self.view.bind(py).borrow_mut();
            (view.waker, view.waking_cpu, view.sync) = match why {
                Enqueue::Wakeup { waker, on, sync, .. } => {
                    let waker = waker.and_then(|task| self.tasks.get(task.index()));
                    (waker.map(|task| task.clone_ref(py)), Some(on.index()), *sync)
                }
                _ => (None, None, false),
            };
        });
    }
}

/// What a verb may return.
fn answers(verb: &str) -> &'static str {
    match verb {
        "pick_next" => "it returns a task, a task and its timeslice in ns, or None",
        "select_cpu" => "it returns a CPU, or None for the last one",
        "balance" => "it returns (task, from, to), or None",
        "next_timer" => "it returns a time in ns, or None",
        _ => "it returns the CPU that must pick again, or None",
    }
}

fn enqueued(why: &Enqueue) -> &'static str {
    match why {
        Enqueue::Fork { .. } => "fork",
        Enqueue::Wakeup { .. } => "wakeup",
        Enqueue::Preempted => "preempted",
        Enqueue::SliceEnd => "slice_end",
        Enqueue::Yielded => "yielded",
        Enqueue::Migrated => "migrated",
        Enqueue::Restored => "restored",
    }
}

fn dequeued(why: Dequeue) -> &'static str {
    match why {
        Dequeue::Migrate => "migrate",
        Dequeue::Change => "change",
        Dequeue::Kill => "kill",
    }
}

fn stopped(why: Stop) -> &'static str {
    match why {
        Stop::Tick => "tick",
        Stop::SliceEnd => "slice_end",
        Stop::Preempted => "preempted",
        Stop::Yielded => "yielded",
        Stop::Blocked { .. } => "blocked",
        Stop::Exited => "exited",
    }
}

impl CpuPolicy for Scripted {
    fn admit(&mut self, cx: &View, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        let made = Python::attach(|py| {
            while self.tasks.len() <= task.index() {
                self.tasks.push(Py::new(py, Task::of(&cx.tasks, TaskId(self.tasks.len() as u32)))?);
            }
            Ok(())
        });
        made.unwrap_or_else(|error| self.cancel.fail(error));
        match self.tried(cx, "admit", &[Word::Task(task), Word::Parent(parent)], |_| Ok(())) {
            Ok(()) => Ok(()),
            Err(error) => match Python::attach(|py| rejection(py, &error)) {
                Some(reason) => Err(Rejected { reason }),
                None => self.cancel.fail(error),
            },
        }
    }

    fn exit(&mut self, cx: &View, task: TaskId) {
        self.call(cx, "exit", &[Word::Task(task)], |_| Ok(()));
    }

    fn select_cpu(&mut self, cx: &View, task: TaskId, why: &Enqueue) -> CpuId {
        if !self.selects {
            return previous_cpu(cx, task);
        }
        self.tell(why);
        let read = |answer: &Bound<PyAny>| match answer.is_none() {
            true => Ok(previous_cpu(cx, task)),
            false => self.cpu(answer),
        };
        self.call(cx, "select_cpu", &[Word::Task(task), Word::Text(enqueued(why))], read)
    }

    fn enqueue(&mut self, cx: &View, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.tell(&why);
        let words = [Word::cpu(cpu), Word::Task(task), Word::Text(enqueued(&why))];
        self.call(cx, "enqueue", &words, |answer| self.resched(answer))
    }

    fn dequeue(&mut self, cx: &View, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.call(cx, "dequeue", &[Word::cpu(cpu), Word::Task(task), Word::Text(dequeued(why))], |_| Ok(()));
    }

    fn pick_next(&mut self, cx: &View, cpu: CpuId) -> Option<Pick> {
        let read = |answer: &Bound<PyAny>| {
            if answer.is_none() {
                return Ok(None);
            }
            if let Ok(task) = answer.cast::<Task>() {
                return Ok(Some(Pick { task: task.borrow().id, timeslice: None }));
            }
            let (task, timeslice): (Bound<Task>, Option<u64>) = answer.extract()?;
            let task = task.borrow().id;
            Ok(Some(Pick { task, timeslice: timeslice.map(Span) }))
        };
        self.call(cx, "pick_next", &[Word::cpu(cpu)], read)
    }

    fn charge(&mut self, cx: &View, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let words = [Word::cpu(cpu), Word::Task(task), Word::Number(ran.0), Word::Text(stopped(why))];
        self.call(cx, "charge", &words, |answer| self.resched(answer))
    }

    fn balance(&mut self, cx: &View, cpu: CpuId, idle: Idle) -> Option<Pull> {
        if !self.balances {
            return None;
        }
        let idle = if idle == Idle::Newly { "newly" } else { "busy" };
        let read = |answer: &Bound<PyAny>| {
            if answer.is_none() {
                return Ok(None);
            }
            let (task, from, to): (Bound<Task>, Bound<PyAny>, Bound<PyAny>) = answer.extract()?;
            let task = task.borrow().id;
            Ok(Some(Pull { task, from: self.cpu(&from)?, to: self.cpu(&to)? }))
        };
        self.call(cx, "balance", &[Word::cpu(cpu), Word::Text(idle)], read)
    }

    fn next_timer(&self) -> Option<Time> {
        if !self.has_timer {
            return None;
        }
        let at = Python::attach(|py| self.object.bind(py).call_method0("next_timer")?.extract::<Option<u64>>());
        at.unwrap_or_else(|error| self.cancel.fail(error)).map(Time)
    }

    fn timer(&mut self, cx: &View) -> Resched {
        self.call(cx, "timer", &[], |answer| self.resched(answer))
    }
}

/// The reason, if the exception is a rejection of the task.
fn rejection(py: Python, error: &PyErr) -> Option<String> {
    let class = py.import("goodness._errors").and_then(|it| it.getattr("Rejected")).ok()?;
    error.is_instance(py, &class).then(|| error.value(py).to_string())
}
