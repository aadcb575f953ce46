//! Ends of bursts and slices: one time per CPU, with the earliest found in constant time.
//!
//! A tournament tree over the CPUs. Setting a time costs at most one comparison per level (none on one CPU), and unlike
//! in a queue, a replaced time leaves no stale entry. Equal times come out in the order they were set.

use goodness_core::{CpuId, Time};

/// One CPU's time, and the serial number of its setting, which makes keys unique.
type Key = (Time, u64);

/// The end of a burst on each CPU.
#[derive(Debug)]
pub struct Bursts {
    first: (Time, CpuId),
    keys: Box<[Key]>,
    /// Winner at each inner node; node 1 is the root, the children of n are 2n and 2n + 1.
    winners: Box<[u32]>,
    serial: u64,
}

impl Bursts {
    /// No times for `cpus` CPUs.
    pub fn new(cpus: usize) -> Bursts {
        let leaves = cpus.next_power_of_two();
        let mut bursts = Bursts {
            first: (Time::NEVER, CpuId(0)),
            keys: vec![(Time::NEVER, 0); leaves].into_boxed_slice(),
            winners: vec![0; leaves.max(2)].into_boxed_slice(),
            serial: 0,
        };
        for node in (1..leaves).rev() {
            bursts.winners[node] = bursts.contender(2 * node);
        }
        bursts
    }

    /// Earliest time and its CPU; `Time::NEVER` if there is none.
    #[inline]
    pub fn first(&self) -> (Time, CpuId) {
        self.first
    }

    /// Sets the time of `cpu`; `Time::NEVER` for none.
    #[inline]
    pub fn set(&mut self, cpu: CpuId, at: Time) {
        if self.keys.len() == 1 {
            self.first = (at, cpu);
        } else {
            self.replay(cpu, at);
        }
    }

    /// Replays the matches above `cpu`, up to the first whose winner is another CPU and stays the winner.
    fn replay(&mut self, cpu: CpuId, at: Time) {
        self.serial += 1;
        self.keys[cpu.index()] = (at, self.serial);
        let mut node = (cpu.index() + self.keys.len()) / 2;
        while node > 0 {
            let (left, right) = (self.contender(2 * node), self.contender(2 * node + 1));
            let winner = if self.keys[left as usize] < self.keys[right as usize] { left } else { right };
            if self.winners[node] == winner && winner != cpu.0 {
                return;
            }
            self.winners[node] = winner;
            node /= 2;
        }
        let first = self.winners[1];
        self.first = (self.keys[first as usize].0, CpuId(first));
    }

    /// The CPU that advances from `node`: the CPU itself, or the winner of an inner node.
    #[inline]
    fn contender(&self, node: usize) -> u32 {
        match node.checked_sub(self.keys.len()) {
            Some(cpu) => cpu as u32,
            None => self.winners[node],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_time_wins_and_the_first_set_of_equals() {
        for cpus in [1usize, 2, 3, 7, 64, 100] {
            let (mut bursts, mut plain) = (Bursts::new(cpus), vec![(Time::NEVER, 0u64); cpus]);
            let mut state = 0x9e37_79b9_7f4a_7c15u64;
            for serial in 1..5_000u64 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (cpu, draw) = ((state >> 33) as usize % cpus, (state >> 20) % 50);
                let at = if draw < 10 { Time::NEVER } else { Time(draw) };
                bursts.set(CpuId(cpu as u32), at);
                plain[cpu] = (at, serial);
                let best = *plain.iter().min().unwrap();
                assert_eq!(bursts.first().0, best.0);
                if best.0 != Time::NEVER {
                    assert_eq!(plain[bursts.first().1.index()], best, "{cpus} CPUs, step {serial}");
                }
            }
        }
    }
}
