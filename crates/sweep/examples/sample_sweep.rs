//! Pages of sweeps with planted results, for the tests in a browser: `grid.html`, `drawn.html` and `one.html` in the
//! folder named.

use goodness_core::Seed;
use goodness_sweep::cell::Namer;
use goodness_sweep::compute::ByCell;
use goodness_sweep::{Definition, Summary};
use std::path::Path;

const HEAD: &str = "metric = \"wakeup_latency_p99\"\nruns = 3\nseeds = [1, 2]\ninputs = [\"mixed:hogs={hogs}\"]\n\
    machines = [\"cpus=2,hz=250\"]\n";
const ARMS: &str = "arms = [\"cfs\", \"eevdf:base_slice={slice},preempt=lazy db.nice=-5 web.cpu_weight=400\"]\n";
const GRID: &str =
    "[space]\nhogs = [1, 2, 4, 8, 16, 32]\nslice = { from = \"500us\", to = \"8ms\", points = 9, scale = \"log\" }\n";
const DRAWN: &str = "[space]\nhogs = { from = 1, to = 64 }\nslice = { from = \"500us\", to = \"8ms\" }\n[draw]\n\
    method = \"sobol\"\npoints = 64\n";

fn main() {
    let folder = std::env::args().nth(1).expect("a folder");
    let one = "arms = [\"eevdf:base_slice={slice}\"]\n";
    for (name, arms, space) in [("grid", ARMS, GRID), ("drawn", ARMS, DRAWN), ("one", one, GRID)] {
        let text = format!("{HEAD}{arms}{space}[phase]\nx = \"slice\"\ny = \"hogs\"\n");
        let definition = Definition::parse("slices.toml", &text).expect("a definition");
        let page = planted(&definition).page("slices", "goodness sweep slices.toml --html slices.html");
        std::fs::write(Path::new(&folder).join(format!("{name}.html")), page).expect("it can be written");
    }
}

/// A summary in which short slices are better with few hogs.
fn planted(definition: &Definition) -> Summary {
    let number = |text: &str| goodness_sweep::space::number(text).expect("a number");
    let mut values = ByCell::new();
    let mut namer = Namer::default();
    for at in definition.coordinates() {
        let point = &definition.points[at.point];
        let (hogs, slice) = (number(&point["hogs"]), number(&point["slice"]) / 1e6);
        let size = if at.arm == 0 { 2.0 * hogs } else { hogs * slice };
        let noise = |run| 0.9 + Seed(at.point as u64).stream("noise", run).rng().below(1_000) as f64 / 5_000.0;
        let of = (0..3).map(|run| Some(1e6 * size * noise(run + 10 * at.arm as u64))).collect();
        let cell = namer.cell(definition, at).expect("a cell").name;
        values.insert(cell, vec![("wakeup_latency_p99".to_string(), of)]);
    }
    Summary::of(definition, &values).expect("a summary")
}
