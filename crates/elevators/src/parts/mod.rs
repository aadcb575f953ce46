//! Parts shared by several elevators. None is registered.

pub mod decaying_mean;
pub mod direction;
pub mod dispatch_list;
pub mod edge_sweep;
pub mod fifo;
pub mod kind;
pub mod nearest_request;
pub mod sector_order;
pub mod selected;
pub mod sorted;
#[cfg(test)]
pub mod testbed;
#[cfg(test)]
pub mod verb_driver;
