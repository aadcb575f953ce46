//! The running kernel: recording.
