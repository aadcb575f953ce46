//! Tests of the program as a black box: each file runs the binary and checks output, files and exit codes.

mod answer;
mod block_io;
#[cfg(feature = "live")]
mod calibrate;
mod commands;
mod common;
mod diff;
#[cfg(feature = "live")]
mod elevate;
mod examples;
mod help;
mod hostile_draws;
mod hostile_input;
#[cfg(not(all(feature = "live", feature = "tables")))]
mod not_built;
#[cfg(feature = "live")]
mod play;
#[cfg(feature = "live")]
mod race;
#[cfg(feature = "live")]
mod race_beside;
#[cfg(feature = "live")]
mod record_block;
mod same_bytes;
mod stop;
mod story;
mod study;
mod suite;
#[cfg(feature = "tables")]
mod sweep;
mod tables;
mod teach;
mod tune;
mod why;
