//! The running kernel. [`record`] writes down what the scheduler of this machine does, [`calibrate`]
//! measures what switching, waking and moving tasks cost on it, [`disks`] makes a disk for real elevators, [`elevate`] puts
//! one of ours before a disk, [`ext`] lets a policy decide for real threads, [`restore`] undoes what any of them has changed.
//!
//! Linux only. The one crate of the workspace that may call the operating system directly, and the only one with
//! `unsafe`; all of it is in `sys`, in `restore`, in `forked` and in what `disks`, `elevate` and `ext` ask of the
//! kernel, each with its reason.

pub mod calibrate;
pub mod cpu_list;
pub mod disks;
pub mod elevate;
pub mod ext;
pub mod forked;
pub mod player;
pub mod process;
pub mod record;
pub mod restore;
#[cfg_attr(not(feature = "sched_ext"), allow(dead_code))]
mod sys;
