//! Cells a second of a sweep on Ray, over the number of workers: as measured, and as a model of driver and workers has
//! it beyond. Reads what `scripts/measure-sweep` printed; prints a table, and writes the figure to the file named.
//!
//! ```sh
//! scripts/measure-sweep > measured.json
//! cargo run --release -p goodness-sweep --example scaling docs/sweep-scale.svg < measured.json
//! ```

mod model;

use goodness_report::drawing::{Anchor, BLACK, Drawing, GRID, Part, Style};
use model::{Measured, Model};

/// Times of a cell in ns: that of the measurement is first.
const CELLS: [u64; 2] = [200_000_000, 1_000_000_000];
const SIZE: [f32; 2] = [504.0, 320.0];
/// Edges of the diagram: left, right, top, bottom.
const EDGES: [f32; 4] = [64.0, 350.0, 14.0, 276.0];
/// Powers of ten of the axes: workers across, cells a second up.
const DECADES: [f32; 2] = [5.0, 6.0];

/// One line of the figure: its name, and cells a second by number of workers.
struct Series {
    name: String,
    points: Vec<(u64, f64)>,
    is_measured: bool,
}

fn main() {
    let measured: Measured = serde_json::from_reader(std::io::stdin()).expect("what scripts/measure-sweep prints");
    let workers: Vec<u64> = (0..=16).map(|power| 1 << power).collect();
    let mut series = vec![Series {
        name: format!("{} ms a cell, measured", measured.cell_ns / 1_000_000),
        points: measured.ray.iter().map(|it| (it.workers, it.rate)).collect(),
        is_measured: true,
    }];
    for cell_ns in std::iter::once(measured.cell_ns).chain(CELLS) {
        let rates = workers.iter().map(|workers| (*workers, Model::of(&measured, cell_ns).rate(*workers)));
        let name = format!("{} ms a cell, model", cell_ns / 1_000_000);
        series.push(Series { name, points: rates.collect(), is_measured: false });
    }
    println!("workers {}", series.iter().map(|it| format!("| {} ", it.name)).collect::<String>());
    for workers in &workers {
        let value = |it: &Series| it.points.iter().find(|(count, _)| count == workers).map(|(_, rate)| *rate);
        let cells = series.iter().map(|it| value(it).map_or("| ".into(), |rate| format!("| {rate:.1} ")));
        println!("{workers} {}", cells.collect::<String>());
    }
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, figure(&series).svg()).expect("the figure can be written");
    }
}

fn place(workers: u64, rate: f64) -> [f32; 2] {
    let [left, right, top, bottom] = EDGES;
    let x = (workers as f64).log10() as f32 / DECADES[0];
    let y = rate.max(1.0).log10() as f32 / DECADES[1];
    [left + x * (right - left), bottom - y * (bottom - top)]
}

fn figure(series: &[Series]) -> Drawing {
    let title = "Cells a second over workers".to_string();
    let mut drawing = Drawing { title, width: SIZE[0], height: SIZE[1], parts: Vec::new() };
    let [left, right, top, bottom] = EDGES;
    for power in 0..=DECADES[0] as u32 {
        let [x, _] = place(10u64.pow(power), 1.0);
        drawing.line(vec![[x, top], [x, bottom]], GRID, 0.5);
        drawing.text([x, bottom + 13.0], 10u64.pow(power).to_string(), Anchor::Middle);
    }
    for power in 0..=DECADES[1] as u32 {
        let [_, y] = place(1, 10f64.powi(power as i32));
        drawing.line(vec![[left, y], [right, y]], GRID, 0.5);
        drawing.text([left - 5.0, y + 3.0], 10u64.pow(power).to_string(), Anchor::End);
    }
    drawing.line(vec![[left, top], [left, bottom], [right, bottom]], BLACK, 0.8);
    drawing.text([f32::midpoint(left, right), bottom + 30.0], "workers", Anchor::Middle);
    let at = [16.0, f32::midpoint(top, bottom)];
    let text = "cells a second".to_string();
    drawing.parts.push(Part::Text { at, text, size: 9.0, anchor: Anchor::Middle, is_upright: true });
    for (index, it) in series.iter().enumerate() {
        let style = Style::of(index);
        let points: Vec<[f32; 2]> = it.points.iter().map(|(workers, rate)| place(*workers, *rate)).collect();
        let key = [right + 16.0, top + 10.0 + 16.0 * index as f32];
        if it.is_measured {
            points.iter().chain([&[key[0] + 10.0, key[1]]]).for_each(|at| drawing.mark(*at, style, 3.5));
        } else {
            let key = vec![key, [key[0] + 20.0, key[1]]];
            for points in [points, key] {
                drawing.parts.push(Part::Line { points, colour: style.colour, width: 1.2, dashes: style.dashes });
            }
        }
        drawing.text([key[0] + 26.0, key[1] + 3.0], it.name.clone(), Anchor::Start);
    }
    drawing
}
