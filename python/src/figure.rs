//! Figures for print.

use crate::error::{exception, failure, usage};
use goodness::Refusal;
use goodness_core::spelling::suggest;
use goodness_report::drawing::Drawing;
use goodness_report::figures::{self, FIGURES};
use goodness_report::{Report, atomic};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A figure for print; a notebook shows it.
#[pyclass(frozen, module = "goodness")]
pub struct Figure(Drawing);

impl Figure {
    /// The figure `name` of `report`.
    pub fn of(report: &Report, name: &str) -> PyResult<Figure> {
        if !FIGURES.iter().any(|(known, _)| *known == name) {
            let names: Vec<&str> = FIGURES.iter().map(|(known, _)| *known).collect();
            let remedy = format!("{}; there are {}", suggest(name, names.iter().copied()), names.join(", "));
            return Err(exception(&Refusal::usage(format!("there is no figure \"{name}\"")).remedy(remedy), None));
        }
        let drawing = figures::draw(report, name);
        drawing.map(Figure).ok_or_else(|| usage(format!("nothing that the figure {name} shows was measured")))
    }
}

#[pymethods]
impl Figure {
    /// The figure as SVG.
    fn to_svg(&self) -> String {
        self.0.svg()
    }

    /// Writes a file: .svg or .pdf.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let bytes = match path.extension().and_then(|it| it.to_str()) {
            Some("svg") => self.0.svg().into_bytes(),
            Some("pdf") => self.0.pdf(),
            _ => return Err(usage(format!("{}: name a file that ends with .svg or .pdf", path.display()))),
        };
        atomic::write(&path, &bytes).map_err(failure)
    }

    fn _repr_svg_(&self) -> String {
        self.0.svg()
    }
}
