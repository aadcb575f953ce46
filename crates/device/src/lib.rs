//! Models of devices, one file each.
