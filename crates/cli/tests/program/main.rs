//! The program from outside: every file runs the binary and looks at what it prints, writes and answers.

mod block_io;
mod calibrate;
mod commands;
mod common;
mod elevate;
mod examples;
mod hostile_input;
mod play;
mod race;
mod race_beside;
mod record_block;
mod study;
