//! Statistics, comparison and rendering.
