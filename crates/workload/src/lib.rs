//! Behaviours: experiment files, rt-app files and work recovered from a recording.
