//! What a load runs as a process of its own, for tests and for who embeds this crate; `goodness` holds the same as a
//! hidden command.

use std::process::ExitCode;

fn main() -> ExitCode {
    goodness_race::part::main(std::env::args().skip(1))
}
