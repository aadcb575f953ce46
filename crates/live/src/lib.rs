//! The running kernel. [`record`] writes down what the scheduler of this machine does, [`calibrate`]
//! measures what switching, waking and moving tasks cost on it, [`disks`] makes a disk for real elevators.
//!
//! Linux only. The one crate of the workspace that may call the operating system directly, and the only one with
//! `unsafe`; all of it is in `sys`, in the watchdog and in what `disks` asks of the kernel, each with its reason.

pub mod calibrate;
pub mod disks;
pub mod record;
mod sys;
