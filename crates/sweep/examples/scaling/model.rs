//! A discrete model of a sweep on Ray: one driver that hands out tasks and stores results, and workers that compute.
//! The driver is that of `python/goodness/_ray.py`; its times are measured. Networks, nodes and failures are left out.

use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What `scripts/measure-sweep` printed.
#[derive(Debug, Deserialize)]
pub struct Measured {
    /// Time of a cell on one thread.
    pub cell_ns: u64,
    /// Time that a task takes on a worker beyond its cells.
    pub task_ns: u64,
    /// Time of the driver for handing out a task and taking its result.
    pub hand_out_ns: u64,
    /// Time of the driver for storing a cell.
    pub store_ns: u64,
    /// Rates on Ray.
    pub ray: Vec<Rate>,
}

/// Cells a second with so many workers.
#[derive(Debug, Deserialize)]
pub struct Rate {
    pub workers: u64,
    pub rate: f64,
}

/// Least time of a task, tasks handed out a second at most, most cells of a task, and tasks in flight for each worker:
/// as in `python/goodness/_ray.py`.
const TASK_NS: u64 = 1_000_000_000;
const RATE: u64 = 300;
const MOST: u64 = 65_536;
const AHEAD: u64 = 2;
/// Tasks of a simulated sweep for each worker.
const ROUNDS: u64 = 20;

pub struct Model<'a> {
    measured: &'a Measured,
    cell_ns: u64,
}

impl Model<'_> {
    pub fn of(measured: &Measured, cell_ns: u64) -> Model<'_> {
        Model { measured, cell_ns }
    }

    /// Cells of a task.
    fn size(&self, workers: u64) -> u64 {
        let wanted = TASK_NS.max(workers * 1_000_000_000 / RATE);
        (wanted / self.cell_ns).clamp(1, MOST)
    }

    /// Cells a second with so many workers.
    pub fn rate(&self, workers: u64) -> f64 {
        let size = self.size(workers);
        let tasks = workers * ROUNDS;
        // Times at which workers are free, and at which results of tasks are there.
        let mut free: BinaryHeap<Reverse<u64>> = (0..workers).map(|_| Reverse(0)).collect();
        let mut results: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let (mut driver, mut handed_out, mut stored) = (0u64, 0, 0);
        while stored < tasks {
            while handed_out < tasks && results.len() < (AHEAD * workers) as usize {
                driver += self.measured.hand_out_ns;
                let begun = free.pop().expect("a worker").0.max(driver);
                let ended = begun + self.measured.task_ns + size * self.cell_ns;
                free.push(Reverse(ended));
                results.push(Reverse(ended));
                handed_out += 1;
            }
            driver = driver.max(results.peek().map_or(driver, |it| it.0));
            while results.peek().is_some_and(|it| it.0 <= driver) {
                results.pop();
                driver += size * self.measured.store_ns;
                stored += 1;
            }
        }
        (tasks * size) as f64 * 1e9 / driver as f64
    }
}
