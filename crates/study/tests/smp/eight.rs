//! Twice the tasks on eight CPUs (`fidelity/eight`), played once the model and its error were done.
