//! The command line of goodness.
fn main() {}
