//! The ledger: what fixed drawn simulations under each policy, and with a disk under each elevator beside round robin,
//! come to: decisions in all and every metric. A change that was not meant to change what anybody decides leaves it as
//! it is; for almost any that was, the ledger's difference names whom it concerns.

use super::{Drawn, Outcome, PATIENCE, contender, values};
use std::fmt::Write as _;
use std::path::Path;

/// Drawn simulations a line; of the fair classes of Linux, which have most rules, ten times as many.
const DRAWS: u64 = 40;
const FAIR: [&str; 2] = ["cfs", "eevdf"];
const BLESS: &str = "BLESS=1 cargo test -p goodness --test swarm ledger";

/// FNV-1a over the words.
fn folded(hash: u64, words: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = words.into_iter().flat_map(u64::to_le_bytes);
    bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// `eevdf   12345 decisions   0123456789abcdef`: the sum of decisions, and a hash of all metrics of all draws.
fn line(name: &str, draw: fn(&str, u64) -> Drawn) -> String {
    let (mut decisions, mut hash) = (0, 0xcbf2_9ce4_8422_2325);
    for number in 0..if FAIR.contains(&name) { 10 * DRAWS } else { DRAWS } {
        let drawn = draw(name, number);
        let found = contender(&drawn).map_err(|it| Outcome::Refused(it.to_string()));
        match found.and_then(|contender| values(&drawn, &contender, PATIENCE)) {
            Ok((made, metrics)) => {
                decisions += made;
                hash = folded(hash, metrics.iter().map(|it| it.unwrap_or(u64::MAX)));
            }
            Err(Outcome::Broken(why)) => panic!("draw {number} of {name}: {why}"),
            Err(_) => hash = folded(hash, [number]),
        }
    }
    format!("{name:<16}{decisions:>9} decisions  {hash:016x}")
}

#[test]
fn drawn_simulations_come_to_what_the_ledger_says() {
    let policies = goodness_policies::ALL.iter().map(|it| line(it.name, Drawn::under_policy));
    let elevators = goodness_elevators::ALL.iter().map(|it| line(it.name, Drawn::under_elevator));
    let found: Vec<String> = policies.chain(elevators).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/swarm/ledger.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found.join("\n") + "\n").expect("the ledger can be written");
    }
    let ledger = std::fs::read_to_string(&path).unwrap_or_default();
    let mut said: Vec<&str> = ledger.lines().collect();
    let mut told = String::new();
    for line in &found {
        match said.iter().position(|it| it == line) {
            Some(at) => drop(said.remove(at)),
            None => writeln!(told, "now:    {line}").expect("text"),
        }
    }
    said.iter().for_each(|line| writeln!(told, "ledger: {line}").expect("text"));
    assert!(told.is_empty(), "{told}if that is meant: {BLESS}");
}
