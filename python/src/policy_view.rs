//! What a policy written in Python sees: the time, the machine, and the tasks it was told about.

use goodness_core::{CpuId, CpuSet, Effort, TaskId, TaskTable};
use pyo3::prelude::*;

/// A task, the same object for the whole run. A policy may set attributes of its own.
#[pyclass(dict, weakref, module = "goodness")]
pub struct Task {
    pub id: TaskId,
    cpu: usize,
    nice: i64,
    class: &'static str,
    rt_priority: u8,
    allowed: CpuSet,
}

impl Task {
    /// The task as `tasks` has it.
    pub fn of(tasks: &TaskTable, id: TaskId) -> Task {
        let task = &tasks[id];
        Task {
            id,
            cpu: tasks.cpu(id).index(),
            nice: task.nice.get(),
            class: task.class.name(),
            rt_priority: task.rt_priority,
            allowed: task.affinity.clone(),
        }
    }
}

#[pymethods]
impl Task {
    /// Number in the run, from 1.
    #[getter]
    fn id(&self) -> u32 {
        self.id.0 + 1
    }

    /// CPU it last ran on, or is queued on.
    #[getter]
    fn cpu(&self) -> usize {
        self.cpu
    }

    /// Nice, -20 to 19.
    #[getter]
    fn nice(&self) -> i64 {
        self.nice
    }

    /// Class: normal, batch, idle, fifo, rr, iso or deadline.
    #[getter]
    fn cls(&self) -> &'static str {
        self.class
    }

    /// Real-time priority, 1 to 99; else 0.
    #[getter]
    fn rt_priority(&self) -> u8 {
        self.rt_priority
    }

    /// True if its affinity has this CPU.
    fn may_run(&self, cpu: u32) -> bool {
        self.allowed.contains(CpuId(cpu))
    }

    fn __repr__(&self) -> String {
        format!("<task {} nice={} cpu={}>", self.id.0 + 1, self.nice, self.cpu)
    }
}

/// The system during one call.
#[pyclass(module = "goodness")]
pub struct Context {
    /// Time in ns since the start.
    #[pyo3(get)]
    pub now: u64,
    /// CPUs of the machine.
    #[pyo3(get)]
    pub cpus: usize,
    /// Frequency of the tick.
    #[pyo3(get)]
    pub hz: u32,
    /// The task that woke the one in question; None for interrupts and timers, and outside wake-ups.
    #[pyo3(get)]
    pub waker: Option<Py<Task>>,
    /// CPU on which the wake-up was executed; None outside wake-ups.
    #[pyo3(get)]
    pub waking_cpu: Option<usize>,
    /// True if the waker announced that it is about to sleep.
    #[pyo3(get)]
    pub sync: bool,
    /// Elements examined since the last call, by kind.
    pub examined: [u32; 4],
}

#[pymethods]
impl Context {
    /// Reports that `elements` were examined: for search, recalculate, insert or balance. The machine's costs turn them
    /// into CPU time.
    #[pyo3(name = "examined")]
    fn examine(&mut self, kind: &str, elements: u32) -> PyResult<()> {
        let place = ["search", "recalculate", "insert", "balance"].iter().position(|known| *known == kind);
        let place = place.ok_or_else(|| {
            crate::error::usage(format!(
                "there is no kind of effort {kind:?}; write search, recalculate, insert or balance"
            ))
        })?;
        self.examined[place] = self.examined[place].saturating_add(elements);
        Ok(())
    }
}

impl Context {
    /// Hands over what was examined.
    pub fn report(&mut self, cx: &goodness_core::Context) {
        for (kind, elements) in Effort::ALL.into_iter().zip(std::mem::take(&mut self.examined)) {
            if elements > 0 {
                cx.examined(kind, elements);
            }
        }
    }
}
