//! Next direction of the deadline elevators (`specs/io-schedulers.md` sections 4 and 8): reads, unless writes were
//! passed over too often.

/// [`Operation::direction`](goodness_core::Operation::direction) of reads.
pub const READ: usize = 0;
/// Direction of all other operations.
pub const WRITE: usize = 1;

/// Number of times reads were selected over waiting writes since the last write selection.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassedOver(u64);

impl PassedOver {
    /// Reads, unless there are none or writes were passed over `limit` times; `None` if nothing waits.
    pub fn choose(&mut self, waits: [bool; 2], limit: u64) -> Option<usize> {
        let [reads, writes] = waits;
        if reads {
            let is_starved = writes && self.0 >= limit;
            self.0 += u64::from(writes);
            if !is_starved {
                return Some(READ);
            }
        }
        if writes {
            self.0 = 0;
            return Some(WRITE);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_passed_over_so_often_and_then_served() {
        let mut passed = PassedOver::default();
        let mut choose = |waits| passed.choose(waits, 2);
        assert_eq!([[true, false]; 3].map(&mut choose), [Some(READ); 3], "nobody is passed over");
        assert_eq!([[true, true]; 4].map(&mut choose), [Some(READ), Some(READ), Some(WRITE), Some(READ)]);
        assert_eq!([choose([false, true]), choose([false, false])], [Some(WRITE), None]);
    }
}
