//! Tests of the statistics against SciPy, for invariants, and by their verdicts.

mod coverage;
mod invariance;
mod scipy;
mod verdicts;
