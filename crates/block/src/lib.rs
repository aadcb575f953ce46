//! The block layer: plugging, merging, pools and tags around an elevator and a device.
