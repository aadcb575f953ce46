//! The running kernel. For now: [`record`], which writes down what the scheduler of this machine does.
//!
//! Linux only. The one crate of the workspace that may call the operating system directly, and the only one with
//! `unsafe`; all of it is in `sys` and in the watchdog, each with its reason.

pub mod record;
mod sys;
