//! The contract of built-in policies, for policies of Python.

use crate::waiting::{self, Cancel};
use goodness_contract::{Broken, Contract};
use pyo3::prelude::*;

/// Number of CPUs, seed and sentence of a contract that was broken.
type Found = (u32, u64, String);

/// Holds the class `policy` to the contract on drawn machines with each number of `cpus`, for `draws` seeds from `seed`
/// on. Returns the first break.
#[pyfunction]
#[pyo3(signature = (policy, *, cpus, seed, draws))]
pub fn check_contract(
    py: Python,
    policy: &Bound<PyAny>,
    cpus: Vec<u32>,
    seed: u64,
    draws: u64,
) -> PyResult<Option<Found>> {
    let cancel = Cancel::default();
    let own = crate::policy::own(policy, &cancel)?;
    waiting::run(py, "", cancel.clone(), move |_| {
        let contracts = (seed..seed.saturating_add(draws))
            .flat_map(|seed| cpus.iter().map(move |cpus| Contract { cpus: *cpus, seed, is_unequal: false }));
        for contract in contracts {
            if cancel.is_wished() {
                return Err(goodness::Refusal::cancelled());
            }
            if let Err(Broken { on, what }) = contract.hold(&|machine, seed| own.made(machine, seed)) {
                return Ok(Some((on.cpus, on.seed, what)));
            }
        }
        Ok(None)
    })
}
