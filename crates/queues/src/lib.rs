//! Data structures named by structure, free of scheduling words.
