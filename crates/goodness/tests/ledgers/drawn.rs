//! Fixed drawn simulations under each policy, and with a disk under each elevator beside round robin: decisions in all
//! and a hash of every metric; for some, why latencies are long.

use super::draw::Drawn;
use super::outcome::{Outcome, contender, values};
use super::{EMPTY, explained, folded, hold, keep, told};
use goodness::{Contender, Work};
use goodness_work::experiment::Experiment;

/// Progress messages, of at most 1024 events each, after which a simulation is left.
const PATIENCE: u64 = 4_000;

/// Drawn simulations a line; of the fair classes of Linux, which have most rules, ten times as many.
const DRAWS: u64 = 40;
const FAIR: [&str; 2] = ["cfs", "eevdf"];
/// Simulations of each line that are explained, too.
const EXPLAINED: u64 = 12;

/// The causes of long latencies in a drawn simulation.
fn why(drawn: &Drawn, contender: Contender) -> String {
    let experiment = Experiment::read("drawn.toml", &drawn.experiment).expect("it was simulated");
    let machine = experiment.machine().expect("each names one").clone();
    let work = Work::of(experiment, machine, Default::default());
    told(explained(&work, contender, drawn.seed))
}

/// `eevdf   12345 decisions   0123456789abcdef`: the sum of decisions, and a hash of all that is told of all draws.
fn line(name: &str, draw: fn(&str, u64) -> Drawn) -> String {
    let (mut decisions, mut texts) = (0, Vec::new());
    for number in 0..if FAIR.contains(&name) { 10 * DRAWS } else { DRAWS } {
        let drawn = draw(name, number);
        let contender = match contender(&drawn) {
            Ok(contender) => contender,
            Err(refusal) => {
                texts.push(refusal.to_string());
                continue;
            }
        };
        match values(&drawn, &contender, PATIENCE) {
            Ok((made, metrics)) => {
                decisions += made;
                texts.push(format!("{metrics:?}"));
                texts.extend((number < EXPLAINED).then(|| why(&drawn, contender)));
            }
            Err(Outcome::Broken(why)) => panic!("draw {number} of {name}: {why}"),
            Err(outcome) => texts.push(format!("{outcome:?}")),
        }
    }
    keep("drawn", name, &texts);
    let hash = texts.iter().fold(EMPTY, |hash, it| folded(hash, it.bytes()));
    format!("{name:<16}{decisions:>9} decisions  {hash:016x}")
}

#[test]
fn drawn_simulations_come_to_what_the_ledger_says() {
    let policies = goodness_policies::ALL.iter().map(|it| line(it.name, Drawn::under_policy));
    let elevators = goodness_elevators::ALL.iter().map(|it| line(it.name, Drawn::under_elevator));
    hold("drawn", &Vec::from_iter(policies.chain(elevators)));
}
