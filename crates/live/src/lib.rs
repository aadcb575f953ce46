//! The running kernel. [`record`] writes down what the scheduler of this machine does, [`calibrate`]
//! measures what switching, waking and moving tasks cost on it.
//!
//! Linux only. The one crate of the workspace that may call the operating system directly, and the only one with
//! `unsafe`; all of it is in `sys` and in the watchdog, each with its reason.

pub mod calibrate;
pub mod record;
mod sys;
