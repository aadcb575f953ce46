//! Reports and their renderers.
//!
//! A [`Report`] holds all results of a comparison; [`json`], [`text`] and [`html`] render it. A [`Timeline`] is the
//! schedule of one run, kept separately because it is large; [`html`] and [`perfetto`] render it.

mod caveats;
pub mod change;
pub mod chart;
pub mod citation;
mod colour;
mod conclusion;
mod details;
pub mod diff;
pub mod drawing;
pub mod every_run;
pub mod figure;
pub mod figures;
pub mod groups;
pub mod html;
pub mod json;
mod keyed;
mod legend;
pub mod limits;
pub mod model;
pub mod offline;
mod pack;
pub mod perfetto;
mod ranking;
pub mod rule;
pub mod schedule;
pub mod shell;
pub mod suite;
pub mod table;
pub mod tables;
pub mod teach;
pub mod text;
pub mod throttled;
pub mod timeline;
mod trust;
pub mod tune;
pub mod verification;
pub mod why;

/// Writes them to files that appear whole or not at all.
pub use goodness_output as atomic;
pub use model::Report;
pub use timeline::Timeline;
