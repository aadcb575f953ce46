//! Why a load could not be prepared or run.

/// Why a load could not be prepared or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub String);
