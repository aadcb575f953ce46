//! Groups by the I/O controller: to which of them a request belongs, and their weights.

use super::queue::SHARED;
use super::wf2q::Share;
use goodness_core::{Group, GroupId, Groups};

/// The group of the schedule, by group of the run; nothing for the root alone.
#[derive(Clone, Debug, Default)]
pub struct Attribution {
    groups: Vec<u32>,
    /// Groups of the schedule without the root.
    count: u32,
}

impl Attribution {
    /// The groups to which the I/O controller attributes requests, with their weights.
    pub fn new(groups: &Groups) -> (Attribution, Vec<Share>) {
        let mut numbers = vec![0; groups.count()];
        let mut shares = Vec::new();
        for (id, group) in groups.iter() {
            if groups.of_io(id) == id {
                let parent = numbers[group.parent.index()];
                shares.push(Share { weight: group.io_weight.unwrap_or(Group::IO_WEIGHT), parent });
                numbers[id.index()] = shares.len() as u32;
            } else {
                numbers[id.index()] = numbers[group.parent.index()];
            }
        }
        (Attribution { groups: numbers, count: shares.len() as u32 }, shares)
    }

    /// Number of the group of a request, in the schedule.
    pub fn of(&self, group: GroupId) -> u32 {
        self.groups.get(group.index()).copied().unwrap_or(0)
    }

    /// Groups, the root included.
    pub fn count(&self) -> u32 {
        self.count + 1
    }

    /// Number of asynchronous queues of all groups, which come before those of processes.
    pub fn shared_queues(&self) -> u32 {
        SHARED * self.count()
    }
}
