//! Error of preparing or running a load.

/// Error of preparing or running a load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub String);
