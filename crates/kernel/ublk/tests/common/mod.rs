//! What the tests with real elevators share.

pub mod replay;
pub mod scene;
