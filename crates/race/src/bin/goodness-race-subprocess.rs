//! Subprocesses of loads, for tests and for programs that embed this crate. In `goodness` this is a hidden command.

use std::process::ExitCode;

fn main() -> ExitCode {
    goodness_race::subprocess::main(std::env::args().skip(1))
}
