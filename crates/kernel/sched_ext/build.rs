//! With the feature `sched_ext`: compiles the kernel's half of live policies for the BPF virtual machine.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Path of the source file.
const SHIM: &str = "src/shim.bpf.c";
/// Remedy if a build tool is missing.
const REMEDY: &str = "the feature `sched_ext` needs clang 14 or later and the headers of libbpf, libelf and zlib. \
    On Debian: apt-get install clang libbpf-dev libelf-dev zlib1g-dev. Without the feature everything but \
    `goodness live` is built.";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SHIM}");
    println!("cargo:rerun-if-changed=src/shim.h");
    if env::var_os("CARGO_FEATURE_SCHED_EXT").is_none() {
        return;
    }
    let missing: Vec<&str> = ["bpf/bpf_helpers.h", "gelf.h", "zlib.h"].into_iter().filter(|h| !is_there(h)).collect();
    if !missing.is_empty() {
        panic!("{} not found; {REMEDY}", missing.join(", "));
    }
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("shim.bpf.o");
    let mut clang = Command::new(env::var_os("CLANG").unwrap_or_else(|| "clang".into()));
    clang.args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-c", SHIM, "-o"]).arg(&object);
    // The headers of the machine it is built on: clang looks for those of a machine called bpf.
    clang.arg(format!("-I/usr/include/{}-linux-gnu", env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it")));
    match clang.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("clang could not compile {SHIM} ({status}); {REMEDY}"),
        Err(error) => panic!("clang could not be run ({error}); {REMEDY}"),
    }
}

fn is_there(header: &str) -> bool {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let places = ["/usr/include".to_string(), "/usr/local/include".into(), format!("/usr/include/{arch}-linux-gnu")];
    places.iter().any(|place| Path::new(place).join(header).exists())
}
