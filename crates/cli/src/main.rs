//! The program `goodness`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(goodness_cli::main(std::env::args_os().skip(1).collect()))
}
