//! The statistics against SciPy's answers, against laws they must obey, and as verdicts.

mod coverage;
mod invariance;
mod scipy;
mod verdicts;
