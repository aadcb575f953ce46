//! `goodness race --predict`: predictions beside measurements.

use serde_json::Value;
use std::process::Command;

const RACE: &str = "name = \"x\"\nblocks = 2\nwarmup = 0\nstop = \"never\"\noutside_load = \"100%\"\n[load]\nuse \
    = \"spin\"\n\
                    work = 40\nhogs = 4\n[[arm]]\nname = \"as it is\"\n[[arm]]\nname = \"nice\"\nnice = 10\n\
                    [[arm]]\nname = \"variable\"\nenv = { A = 1 }\n";

#[test]
fn a_prediction_stands_beside_each_measure_that_the_simulator_models() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.toml");
    std::fs::write(&file, RACE).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodness"));
    let ran =
        command.arg("race").arg(&file).args(["--predict", "cpus=2,hz=250", "--json", "-"]).output().expect("runs");
    let errors = String::from_utf8_lossy(&ran.stderr);
    let found: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|why| panic!("{why}: {errors}"));
    let rows = found["predictions"].as_array().expect("predictions");
    let of = |arm: &str| rows.iter().find(|row| row["arm"] == arm).unwrap_or_else(|| panic!("no {arm}"));
    for arm in ["as it is", "nice"] {
        assert_eq!(of(arm)["measure"], "completion_time");
        let figure = |name: &str| of(arm)[name].as_f64().unwrap_or_else(|| panic!("{arm} has no {name}"));
        assert!((figure("measured") / figure("predicted") / figure("ratio") - 1.0).abs() < 1e-9);
    }
    // Weight 110 among four of 1024 on two CPUs: far slower than at nice 0, whatever else this machine does.
    assert!(of("nice")["predicted_vs_reference"].as_f64().expect("a ratio") > 3.0);
    assert!(of("variable")["why_not"].as_str().expect("a reason").contains("no model"));
}
