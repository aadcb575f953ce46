//! Trace formats, each read and, where sensible, written.
