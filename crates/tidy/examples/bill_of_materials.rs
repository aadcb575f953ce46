//! Reads `cargo metadata` from standard input and writes the program's bill of materials, as `scripts/package` does:
//!
//! ```text
//! cargo metadata --format-version 1 | cargo run -p goodness-tidy --example bill_of_materials
//! ```

use goodness_tidy::dependencies::bill_of_materials;
use std::path::Path;

fn main() {
    let metadata = serde_json::from_reader(std::io::stdin()).expect("cargo metadata writes JSON");
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = std::fs::read_to_string(lock).expect("there is a lock file");
    println!("{:#}", bill_of_materials(&metadata, &lock, "goodness-cli"));
}
