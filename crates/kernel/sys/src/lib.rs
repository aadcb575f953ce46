//! Linux system calls that the standard library lacks, behind safe functions, and processes with scheduling attributes.

pub mod aio;
pub mod cgroup;
pub mod cpu_list;
pub mod forked;
pub mod process;
pub mod program;
pub mod topology;

mod affinity;
mod child;
mod class;
mod clock;
mod command;
mod filesystem;
mod kernel;
mod pipe;
mod readiness;
mod signals;
mod thread;

pub use affinity::{affinity_of, confine, pin};
pub use child::{STOP, close_first, echo_process, end_with_parent, has_ended, process_descriptor, reap, send_signal};
pub use class::{SCHED_EXT, become_least_urgent, class_of, is_fair, nice, set_class, set_nice, submit};
pub use clock::{
    clock_ns, coarse_ns, end_waits_on_time, local_time, monotonic_ns, sleep_until, thread_cpu_ns, tick_ns, user_hz,
};
pub use command::{Exit, Running};
pub use filesystem::{c_path, is_open_elsewhere, listed, mount_tracefs, name_file};
pub use kernel::{AUTOGROUP, kernel_release};
pub use pipe::{pipe, read_byte, write_byte};
pub use process::effective_user;
pub use readiness::{Watch, wait_readable};
pub use signals::Signals;
pub use thread::{errno, switches, thread_id};
