//! Passes the commit the program is built from, if it is in a repository.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    if let Ok(output) = output
        && output.status.success()
    {
        println!("cargo::rustc-env=GOODNESS_COMMIT={}", String::from_utf8_lossy(&output.stdout).trim());
    }
}
