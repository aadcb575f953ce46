//! The deterministic discrete-event host.
