//! Figures are readable in grey: what colour tells, dashes, marks or lightness tell, too.

use super::{Colour, Drawing, Part, Shape};
use crate::every_run::{PolicyRuns, RunValues};
use crate::figures::{FIGURES, draw};
use crate::model::{Distribution, MetricSummary, PolicyReport, QUANTILES, Report};

/// Two greys that differ by less, of 255, are one to a reader. A choice: an eighth of the scale.
const APART: f32 = 32.0;

/// Lightness of a colour on a grey printer (ITU-R BT.601).
fn lightness(Colour(red, green, blue): Colour) -> f32 {
    0.299 * f32::from(red) + 0.587 * f32::from(green) + 0.114 * f32::from(blue)
}

/// What a reader may tell series by.
type Look = (&'static [f32], Shape, Colour);

/// The looks of a drawing's series: of a legend's entries (line, mark and text), else of all marks.
fn looks(drawing: &Drawing) -> Vec<Look> {
    let mut looks = Vec::new();
    for parts in drawing.parts.windows(3) {
        if let [Part::Line { dashes, .. }, Part::Mark { shape, colour, .. }, Part::Text { .. }] = parts {
            looks.push((*dashes, *shape, *colour));
        }
    }
    if looks.is_empty() {
        let marks = drawing.parts.iter().filter_map(|part| match part {
            Part::Mark { shape, colour, .. } => Some((&[][..], *shape, *colour)),
            _ => None,
        });
        marks.for_each(|look| {
            if !looks.contains(&look) {
                looks.push(look)
            }
        });
    }
    looks
}

/// Two series of the drawing that are one in grey.
fn lost_in_grey(drawing: &Drawing) -> Option<(Look, Look)> {
    let looks = looks(drawing);
    let is_lost = |(a, b): &(Look, Look)| a.0 == b.0 && a.1 == b.1 && (lightness(a.2) - lightness(b.2)).abs() < APART;
    let pairs = looks.iter().enumerate().flat_map(|(at, a)| looks[..at].iter().map(|b| (*a, *b)));
    pairs.into_iter().find(is_lost)
}

/// A report of so many arms with every figure.
fn report(arms: usize) -> Report {
    let metric = "wakeup_latency_p99";
    let policy = |at: usize| {
        let value = Some(1e6 + at as f64 * 1e5);
        let quantiles = QUANTILES.map(|quantile| [quantile, 1e4 * (1.0 + at as f64 + quantile)]).into();
        let family = Distribution { metric: "wakeup_latency".into(), unit: "ns".into(), samples: 9, quantiles };
        PolicyReport {
            name: format!("arm{at}"),
            metrics: vec![MetricSummary { name: metric.into(), unit: "ns".into(), value, ..Default::default() }],
            distributions: vec![family],
            ..PolicyReport::default()
        }
    };
    let runs = |at: usize| {
        let values = vec![RunValues { name: metric.into(), values: vec![Some(1e6), Some(2e6)] }];
        PolicyRuns { policy: format!("arm{at}"), input: "mixed".into(), first: 0, values, requests: Vec::new() }
    };
    Report { policies: (0..arms).map(policy).collect(), runs: (0..arms).map(runs).collect(), ..Report::default() }
}

/// Replaces each series' look by one that differs from the others in hue alone.
fn by_hue_alone(drawing: &mut Drawing) {
    // Red, green and blue of about one lightness.
    const HUES: [Colour; 3] = [Colour(213, 60, 30), Colour(0, 170, 30), Colour(90, 75, 255)];
    let mut seen: Vec<Colour> = Vec::new();
    for part in &mut drawing.parts {
        if let Part::Mark { shape, colour, .. } = part {
            if !seen.contains(colour) {
                seen.push(*colour);
            }
            let place = seen.iter().position(|it| it == colour).unwrap_or_default();
            (*shape, *colour) = (Shape::Circle, HUES[place % HUES.len()]);
        }
        if let Part::Line { dashes, .. } = part {
            *dashes = &[];
        }
    }
}

#[test]
fn every_figure_is_readable_in_grey() {
    for (name, _) in FIGURES {
        let drawing = draw(&report(20), name).expect("all is measured");
        assert!(!looks(&drawing).is_empty(), "{name} has no marks");
        assert_eq!(lost_in_grey(&drawing), None, "{name}");
    }
    assert_eq!(looks(&draw(&report(20), "distribution").expect("measured")).len(), 20, "each arm in the legend");
}

#[test]
fn a_figure_whose_series_differ_by_hue_alone_is_rejected() {
    let mut planted = draw(&report(3), "distribution").expect("measured");
    assert_eq!(lost_in_grey(&planted), None);
    by_hue_alone(&mut planted);
    assert!(lost_in_grey(&planted).is_some(), "three hues of one lightness");
    let mut rows = draw(&report(2), "ranking").expect("measured");
    let second = rows.parts.iter_mut().rev().find_map(|part| match part {
        Part::Mark { colour, .. } => Some(colour),
        _ => None,
    });
    // As light as the first, and orange.
    *second.expect("a mark") = Colour(190, 50, 0);
    assert!(lost_in_grey(&rows).is_some(), "marks of one shape in two hues");
}
