//! CPU scheduling policies, one file each.
