//! Numbers of the requests of one hardware queue of blk-mq: an elevator may leave a submitter only the first one.
//!
//! Linux keeps them in a bitmap. A CPU looks for a free number from its hint on. The hint is the number that it freed
//! last, so that it takes the same one again. One that looked in vain begins at the first number the next time.
//! A submitter that may only have the first waits until that is free when it looks. It is woken by a completion and
//! runs after those who submit at once, so it looks again at the completion after (a guess).

use goodness_core::RequestId;

/// Bits of a word.
const BITS: u32 = u64::BITS;

/// Numbers of one hardware queue.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// A bit for each free number.
    free: Vec<u64>,
    count: u32,
    /// By CPU: the number to look at first.
    hints: Vec<u32>,
    /// By request: its number.
    of: Vec<u32>,
    /// The first was freed after the last wake-up.
    first_is_fresh: bool,
}

impl Slots {
    /// `count` free numbers, taken by `cpus` CPUs.
    pub fn new(count: u32, cpus: u16) -> Slots {
        let words = count.div_ceil(BITS);
        let bits = |word| (0..BITS).filter(|bit| word * BITS + bit < count).fold(0, |bits, bit| bits | 1 << bit);
        let hints = vec![0; usize::from(cpus.max(1))];
        Slots { free: (0..words).map(bits).collect(), count, hints, of: Vec::new(), first_is_fresh: false }
    }

    /// Gives `request`, submitted on `cpu`, a free number: the first, if it is `limited`. One exists.
    pub fn take(&mut self, cpu: u16, request: RequestId, limited: bool) {
        let cpu = usize::from(cpu) % self.hints.len();
        let number = if limited { 0 } else { self.first_free_from(self.hints[cpu]) };
        if number == self.hints[cpu] {
            self.hints[cpu] = (number + 1) % self.count;
        }
        self.free[(number / BITS) as usize] &= !(1 << (number % BITS));
        if self.of.len() <= request.index() {
            self.of.resize(request.index() + 1, 0);
        }
        self.of[request.index()] = number;
    }

    /// Frees the number of a request that was submitted on `cpu`.
    pub fn give_back(&mut self, cpu: u16, request: RequestId) {
        let (number, cpus) = (self.of[request.index()], self.hints.len());
        self.free[(number / BITS) as usize] |= 1 << (number % BITS);
        self.hints[usize::from(cpu) % cpus] = number;
        self.first_is_fresh |= number == 0;
    }

    /// True if a submitter on `cpu` that may only have the first number gets it: one that was woken not if it was freed
    /// just now, unless nobody is there to take it first. If not, its CPU looks from the first number on next.
    pub fn may_take_first(&mut self, cpu: u16, woken: bool, used: u32) -> bool {
        let is_free = self.free[0] & 1 != 0;
        let may = is_free && (!woken || !self.first_is_fresh || used == 0);
        if !may {
            let cpus = self.hints.len();
            self.hints[usize::from(cpu) % cpus] = 0;
        }
        may
    }

    /// All that were woken have looked.
    pub fn have_looked(&mut self) {
        self.first_is_fresh = false;
    }

    fn first_free_from(&self, hint: u32) -> u32 {
        let (start, words) = ((hint / BITS) as usize, self.free.len());
        let above = self.free[start] & (u64::MAX << (hint % BITS));
        if above != 0 {
            return start as u32 * BITS + above.trailing_zeros();
        }
        let words = (1..=words).map(|ahead| (start + ahead) % words);
        let found = words.filter(|word| self.free[*word] != 0).map(|word| (word, self.free[word])).next();
        let (word, bits) = found.expect("the pool has a free request");
        word as u32 * BITS + bits.trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_takes_the_number_again_that_it_freed_last_and_then_the_ones_above() {
        let mut slots = Slots::new(100, 2);
        for request in 0..100 {
            slots.take(0, RequestId(request), false);
        }
        assert_eq!(slots.of, (0..100).collect::<Vec<_>>());
        for request in [70, 3, 71] {
            slots.give_back(0, RequestId(request));
        }
        for (request, number) in [(100, 71), (101, 3), (102, 70)] {
            slots.take(0, RequestId(request), false);
            assert_eq!(slots.of[request as usize], number);
        }
    }

    #[test]
    fn the_first_number_goes_to_a_limited_submitter_unless_it_was_freed_just_now() {
        let mut slots = Slots::new(64, 1);
        assert!(slots.may_take_first(0, false, 0));
        slots.take(0, RequestId(0), true);
        slots.take(0, RequestId(1), false);
        assert!(!slots.may_take_first(0, true, 2));
        slots.give_back(0, RequestId(0));
        assert!(!slots.may_take_first(0, true, 1), "others come first");
        assert!(slots.may_take_first(0, true, 0), "there are none");
        assert!(slots.may_take_first(0, false, 1), "one that comes now");
        slots.have_looked();
        assert!(slots.may_take_first(0, true, 1));
    }

    #[test]
    fn whoever_looks_in_vain_lets_the_next_on_its_cpu_begin_at_the_first_number() {
        let next = |vain: bool| {
            let mut slots = Slots::new(8, 2);
            (0..4).for_each(|request| slots.take(1, RequestId(request), false));
            (4..6).for_each(|request| slots.take(0, RequestId(request), false));
            slots.give_back(0, RequestId(5));
            if vain {
                assert!(!slots.may_take_first(0, true, 5));
            }
            slots.give_back(1, RequestId(0));
            slots.take(0, RequestId(6), false);
            slots.of[6]
        };
        assert_eq!([next(false), next(true)], [5, 0]);
    }
}
