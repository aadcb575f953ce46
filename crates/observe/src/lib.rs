//! Metrics and checkers: observers of the event stream.
