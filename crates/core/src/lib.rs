//! The vocabulary: time, task, machine, policy, behaviour, event, tunables, registry, randomness.
