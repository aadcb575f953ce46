//! The effect of each knob on the objective: an additive model of the first round's candidates.

use super::knob::{Knob, Space};
use super::proposer::Candidate;
use super::race::MARGIN;
use goodness_report::tune::{self, Told};
use goodness_stats::summary::mean;

/// Rounds of backfitting: each takes the effects of the other knobs out. Enough for designs that are nearly balanced.
const FITS: usize = 30;

/// Candidates with the logarithm of their ratio to the default.
type Rows<'a> = [(&'a Candidate, f64)];

/// The effect of each knob of `space`. Levels that differ by a factor of at most 1 + `least` are not told apart.
pub(crate) fn effects(space: &Space, rows: &Rows, least: f64) -> Vec<tune::Knob> {
    let mut fitted: Vec<Vec<f64>> = space.knobs.iter().map(|knob| vec![0.0; knob.places()]).collect();
    let logs: Vec<f64> = rows.iter().map(|(_, log)| *log).collect();
    let level = mean(&logs).unwrap_or(0.0);
    for _ in 0..FITS {
        for knob in 0..space.knobs.len() {
            let of_place = |place: usize| {
                let here = rows.iter().filter(|(it, _)| place_of(space, it, knob) == Some(place));
                let rest = here.map(|(it, log)| log - level - predicted(space, &fitted, it, Some(knob)));
                mean(&rest.collect::<Vec<f64>>()).unwrap_or(0.0)
            };
            fitted[knob] = (0..space.knobs[knob].places()).map(of_place).collect();
        }
    }
    let rest = rows.iter().map(|(it, log)| log - level - predicted(space, &fitted, it, None));
    let parameters: usize = 1 + space.knobs.iter().map(|knob| knob.places() - 1).sum::<usize>();
    let freedom = rows.len().saturating_sub(parameters).max(1) as f64;
    let deviation = (rest.map(|it| it * it).sum::<f64>() / freedom).sqrt();
    let told = space.knobs.iter().zip(&fitted).enumerate();
    told.map(|(place, (knob, fitted))| told_of(knob, (space, place), rows, (level, fitted), (deviation, least)))
        .collect()
}

/// The effect of one knob, as told.
fn told_of(
    knob: &Knob,
    (space, number): (&Space, usize),
    rows: &Rows,
    (level, fitted): (f64, &[f64]),
    (deviation, least): (f64, f64),
) -> tune::Knob {
    let levels = fitted.iter().enumerate().map(|(place, effect)| {
        let candidates = rows.iter().filter(|(it, _)| place_of(space, it, number) == Some(place)).count();
        let ratio = (candidates > 0).then(|| (level + effect).exp());
        tune::Level { values: knob.described(place), candidates, ratio }
    });
    let levels: Vec<tune::Level> = levels.collect();
    let run: Vec<(f64, usize)> = levels.iter().filter_map(|it| Some((it.ratio?.ln(), it.candidates))).collect();
    let lowest = run.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let highest = run.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let apart = lowest.zip(highest).filter(|_| run.len() > 1).map(|(low, high)| {
        let error = deviation * (1.0 / low.1 as f64 + 1.0 / high.1 as f64).sqrt();
        (high.0 - low.0, error)
    });
    let effect = apart.map(|(apart, _)| apart.exp());
    tune::Knob::new(&knob.name, levels, (effect, apart.map_or(Told::TooFew, |apart| told(apart, least))))
}

/// What levels tell that are `apart`, with a standard error, both as logarithms.
fn told((apart, error): (f64, f64), least: f64) -> Told {
    let (chance, margin) = (2.0 * error, MARGIN.ln_1p());
    match apart {
        _ if apart + chance <= margin => Told::Same,
        _ if apart <= chance => Told::WithinChance,
        _ if apart <= margin => Told::Same,
        _ if apart <= least.ln_1p() => Told::WithinError,
        _ => Told::Apart,
    }
}

/// The place of a candidate's value of a knob; `None` if the knob is as it is.
fn place_of(space: &Space, candidate: &Candidate, knob: usize) -> Option<usize> {
    candidate.shares[knob].map(|share| space.knobs[knob].place(share))
}

/// What the effects of all knobs but `except` add up to.
fn predicted(space: &Space, fitted: &[Vec<f64>], candidate: &Candidate, except: Option<usize>) -> f64 {
    let others = (0..fitted.len()).filter(|knob| Some(*knob) != except);
    others.filter_map(|knob| Some(fitted[knob][place_of(space, candidate, knob)?])).sum()
}

#[cfg(test)]
mod tests {
    use super::super::proposer::Proposer;
    use super::*;
    use crate::contender::Contender;
    use crate::spec::PolicySpec;

    #[test]
    fn a_knob_beside_a_strong_one_is_flat_if_it_does_nothing() {
        let knobs = ["base_slice=0.3ms..12ms", "x.nice=-10..10", "run_to_parity=on|off"].map(String::from);
        let space = Space::of(&knobs, Contender::policy(PolicySpec::parse("eevdf").unwrap())).unwrap();
        let proposer = Proposer { space: &space, seed: 5, first: 16, last: 3 };
        let first = proposer.first(&Candidate::default_of(&space)).unwrap();
        let log = |it: &Candidate| {
            let [slice, parity] = [0, 2].map(|knob| space.knobs[knob].place(it.shares[knob].unwrap()) as f64);
            0.5 * slice - 0.4 * parity
        };
        let rows: Vec<(&Candidate, f64)> = first.iter().map(|it| (it, log(it))).collect();
        let all = effects(&space, &rows, 0.01);
        let near = |knob: usize, effect: f64| {
            let found = all[knob].effect.unwrap().ln();
            assert!((found - effect).abs() < 0.02, "{:?}", all[knob]);
        };
        near(0, 1.0);
        near(2, 0.4);
        assert_eq!([0, 1, 2].map(|knob| all[knob].is_flat), [false, true, false], "{all:?}");
        assert!(effects(&space, &rows, 2.0).iter().all(|knob| knob.is_flat), "within an error of a factor of three");
        assert_eq!(told((0.28, 0.1), 0.4), Told::WithinError, "0.90× and 0.68× are no flat knob");
        assert_eq!(
            [(0.28, 0.2), (0.28, 0.01), (0.005, 0.001)].map(|it| told(it, 0.1)),
            [Told::WithinChance, Told::Apart, Told::Same]
        );
        assert!(effects(&space, &rows[..1], 0.01).iter().all(|knob| knob.effect.is_none()));
    }
}
