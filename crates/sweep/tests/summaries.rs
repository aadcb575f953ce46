//! Summaries of planted results: what is there is found, and what is not is undecided.

use goodness_core::Seed;
use goodness_sweep::cell::{Coordinates, Namer};
use goodness_sweep::compute::ByCell;
use goodness_sweep::{Definition, Summary};

const SPACE: &str = "metric = \"wakeup_latency_p99\"\nruns = 4\nseeds = [1, 2, 3]\ninputs = [\"mixed:hogs={h}\"]\n\
    arms = [\"cfs\", \"rr:timeslice={s}\"]\n[space]\nh = [1, 2, 4]\ns = [\"1ms\", \"2ms\", \"4ms\", \"8ms\"]\n";

/// The summary where run `run` of a cell has `value(coordinates, run)` times a factor that its seed and run share.
fn planted(text: &str, value: impl Fn(Coordinates, u64) -> f64) -> Summary {
    let definition = Definition::parse("s.toml", text).unwrap();
    let mut values = ByCell::new();
    for at in definition.coordinates() {
        let cell = Namer::default().cell(&definition, at).unwrap().name;
        let shared = |run| 1.0 + Seed(at.seed as u64).stream("shared", run).rng().below(1_000) as f64 / 100.0;
        let of = (0..4).map(|run| Some(1e6 * shared(run) * value(at, run))).collect();
        values.insert(cell, vec![("wakeup_latency_p99".to_string(), of)]);
    }
    Summary::of(&definition, &values).unwrap()
}

/// Chance of its own for each cell and run: 0.9 to 1.1.
fn noise(at: Coordinates, run: u64) -> f64 {
    // cfs names no slice: its cell is the same at every point of one load.
    let place = if at.arm == 0 { at.point / 4 } else { 100 + at.point };
    0.9 + Seed(at.seed as u64).stream("noise", 1_000 * place as u64 + run).rng().below(1_000) as f64 / 5_000.0
}

#[test]
fn the_arm_that_was_planted_as_winner_wins_and_where_both_are_equal_nothing_is_decided() {
    // rr is twice as good with slices up to 2 ms, and equal above.
    let summary = planted(SPACE, |at, run| noise(at, run) * if at.arm == 1 && at.point % 4 < 2 { 0.5 } else { 1.0 });
    let phase = summary.phase.as_ref().unwrap();
    assert_eq!((phase.x.as_str(), phase.y.as_deref()), ("h", Some("s")));
    for place in &phase.places {
        let expected = matches!(place.y.as_deref(), Some("1ms" | "2ms")).then_some("rr:timeslice={s}");
        assert_eq!(place.winner.as_deref(), expected, "{place:?}");
    }
    assert_eq!(phase.counts(&summary.arms), (vec![0, 6], 6));
    assert_eq!(
        summary.conclusion(),
        "Of 12 places, rr:timeslice={s} wins at 6, 6 undecided (wakeup_latency_p99, lower \
        is better)."
    );
}

#[test]
fn equal_arms_are_undecided_everywhere() {
    let summary = planted(SPACE, noise);
    assert_eq!(summary.phase.unwrap().counts(&summary.arms).1, 12);
}

#[test]
fn main_effects_are_ratios_with_all_else_equal() {
    // Twice for each step of h, threefold for rr, and nothing for the slice.
    let size = |at: Coordinates| [1.0, 2.0, 4.0][at.point / 4] * if at.arm == 1 { 3.0 } else { 1.0 };
    let summary = planted(SPACE, |at, _| size(at));
    let of = |name: &str| summary.effects.iter().find(|it| it.factor == name).unwrap();
    let ratios = |name: &str| of(name).levels.iter().map(|it| it.ratio.unwrap()).collect::<Vec<_>>();
    let near = |found: Vec<f64>, expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {expected:?}");
    };
    near(ratios("arm"), &[3.0]);
    near(ratios("h"), &[2.0, 4.0]);
    near(ratios("s"), &[1.0, 1.0, 1.0]);
    assert_eq!(of("s").levels[0].contexts, 3, "cfs names no slice, so it is no evidence about it");
    assert_eq!(summary.effects.len(), 3, "one input and no machine are no factors");
}

#[test]
fn cells_that_are_missing_are_said_first_and_one_run_decides_nothing() {
    let definition = Definition::parse("s.toml", SPACE).unwrap();
    let summary = Summary::of(&definition, &ByCell::new()).unwrap();
    assert!(summary.text(80).starts_with("45 of 45 cells are missing;"), "{}", summary.text(80));
    let one = SPACE.replace("runs = 4", "runs = 1").replace("[1, 2, 3]", "[1]");
    let mut values = ByCell::new();
    let definition = Definition::parse("s.toml", &one).unwrap();
    for at in definition.coordinates() {
        let cell = Namer::default().cell(&definition, at).unwrap().name;
        let value = if at.arm == 0 { 1.0 } else { 50.0 };
        values.insert(cell, vec![("wakeup_latency_p99".to_string(), vec![Some(value)])]);
    }
    let summary = Summary::of(&definition, &values).unwrap();
    assert_eq!(summary.effects[0].levels[0].ci95, None, "one run says nothing of chance");
    assert_eq!(summary.phase.unwrap().counts(&summary.arms).1, 12);
}

#[test]
fn the_text_fits_a_terminal_and_the_page_adds_no_element_from_names() {
    let summary = planted(SPACE, |at, run| noise(at, run) * if at.arm == 1 { 0.5 } else { 1.0 });
    let text = summary.text(80);
    assert!(text.lines().all(|line| line.chars().count() <= 80) && text.lines().count() <= 22, "{text}");
    assert!(text.contains("B rr:timeslice={s}") && text.contains("1ms | B B B"), "{text}");
    let page = summary.page("<img src=x>", "goodness sweep '<b>.toml'");
    assert!(!page.contains("<img") && !page.contains("<b>"));
    for forbidden in ["src=", "http:", "https:", "url(", "<script"] {
        assert!(!page.replace("src=x", "").contains(forbidden), "the page holds {forbidden}");
    }
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert!(page.matches("<svg").count() > 1);
}

const DRAWN: &str = "metric = \"wakeup_latency_p99\"\nruns = 4\nseeds = [1, 2, 3]\ninputs = [\"mixed:hogs={h}\"]\n\
    arms = [\"rr:timeslice={s}\", \"o1:max_timeslice={z}\"]\n[space]\nh = { from = 1, to = 64 }\n\
    s = { from = \"1ms\", to = \"8ms\" }\nz = { from = \"1ms\", to = \"200ms\" }\n[draw]\n\
    method = \"METHOD\"\npoints = 64\nseed = SEED\n";

fn drawn(method: &str, seed: u32) -> String {
    DRAWN.replace("METHOD", method).replace("SEED", &seed.to_string())
}

/// Number of the point's parameter, and chance of the point's own.
fn at_point(definition: &Definition, at: Coordinates, name: &str) -> f64 {
    goodness_sweep::space::number(&definition.points[at.point][name]).unwrap()
}

fn own_noise(at: Coordinates, run: u64) -> f64 {
    0.8 + Seed(at.point as u64).stream("own", run).rng().below(1_000) as f64 / 2_500.0
}

#[test]
fn effects_of_drawn_parameters_are_found_with_their_size_and_those_without_one_are_not_named() {
    let mut named = 0;
    for (method, seed) in [("sobol", 1), ("latin_hypercube", 2), ("sobol", 3), ("latin_hypercube", 4)] {
        let definition = Definition::parse("s.toml", &drawn(method, seed)).unwrap();
        // h doubles the metric from its first to its last quarter, evenly; s and z do nothing.
        let planted_at = |at, run| own_noise(at, run) * 2f64.powf(at_point(&definition, at, "h") / 48.0);
        let summary = planted(&drawn(method, seed), planted_at);
        let of = |name: &str| summary.effects.iter().find(|it| it.factor == name).unwrap();
        let last = of("h").levels.last().unwrap();
        let ci = last.ci95.unwrap();
        assert!(ci[0] < 2.0 && 2.0 < ci[1] && ci[1] < 2.6 && last.differs == Some(true), "{method} {seed}: {last:?}");
        assert_eq!((of("h").levels.len(), last.contexts), (3, 16));
        assert_eq!(of("arm").method, goodness_sweep::effects::Method::Paired);
        named += ["s", "z"].iter().filter(|it| of(it).levels.iter().any(|level| level.differs == Some(true))).count();
        let text = summary.text(80);
        assert!(text.contains("chance only (95 %, Holm)") && text.lines().all(|it| it.chars().count() <= 80), "{text}");
        assert!(named > 0 || text.matches("none found").count() == 2, "{text}");
    }
    assert_eq!(named, 0, "of 8 parameters without an effect");
}

#[test]
fn a_surface_shows_the_planted_response_as_numbers_or_digits_and_as_a_map() {
    let size = |at: Coordinates| [1.0, 2.0, 4.0][at.point / 4] * if at.arm == 1 { 3.0 } else { 1.0 };
    let summary = planted(SPACE, |at, _| size(at));
    let text = summary.surfaces_text(80);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = rows.iter().find(|row| row.first() == Some(&"1ms")).unwrap();
    let value = |place: usize| row[place].parse::<f64>().unwrap();
    assert!((value(4) / value(2) - 2.0).abs() < 0.02 && (value(6) / value(2) - 4.0).abs() < 0.04, "{text}");
    let narrow = summary.surfaces_text(30);
    assert!(narrow.contains("1ms | 0 3 5") && narrow.contains("1ms | 4 6 9"), "{narrow}");
    let page = summary.page("s", "goodness sweep s.toml");
    assert_eq!(page.matches("aria-label=\"response surface of").count(), 2);
    let drawn = planted(&drawn("sobol", 1), own_noise);
    let text = drawn.surfaces_text(80);
    assert!(text.matches('≥').count() >= 10 && text.lines().all(|it| it.chars().count() <= 80), "{text}");
}

#[test]
fn a_sweep_of_one_arm_has_its_responses_too() {
    let one = SPACE.replace("\"cfs\", ", "");
    let summary = planted(&one, noise);
    assert!(summary.phase.is_none() && summary.text(80).contains("wakeup_latency_p99 of rr:timeslice={s}, h across"));
    assert!(summary.page("s", "goodness sweep s.toml").contains("Response of each arm"));
}

/// Each file in `examples/sweeps` is a definition whose cells can be opened.
#[test]
fn the_examples_are_whole_definitions() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sweeps");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let cells = goodness_sweep::Cells::of(&Definition::open(&file).unwrap()).unwrap();
        let mut computer = goodness_sweep::Computer::default();
        let last = computer.compute(cells.all.last().unwrap());
        assert_eq!(last.failed, None, "{}", file.display());
        assert!(!last.values.is_empty());
    }
}
