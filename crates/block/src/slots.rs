//! Numbers of the requests of one hardware queue of blk-mq: an elevator may leave a submitter only some of them.
//!
//! Linux keeps them in a bitmap (lib/sbitmap.c of 7.3). Each word has the first numbers of a part of them. Who is
//! limited may have the first ones of every word, in proportion, whichever others are in use. A CPU begins with the
//! word of its hint: the number that it freed last, or the one behind if it got that. One that looked in vain begins at
//! the first number the next time. In the word it takes the lowest free number, and a limited one the next from the
//! hint on.
//!
//! Departures. A number that was freed can be had at once; in Linux once the others of its word are in use, but with
//! that alone those who may only have the first one had it too often (docs/fidelity/elevators.md). Hints begin at the
//! first number instead of a random one. All who wait look again at each completion, not in batches of an eighth of the
//! numbers. A submitter that may only have the first waits until that is free when it looks. It is woken by a
//! completion and runs after those who submit at once, so it looks again at the completion after (a guess).

use goodness_core::RequestId;

/// A depth that is no limit.
pub(crate) const ALL: u32 = u32::MAX;

/// Numbers of one word.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// A bit for each number in use.
    taken: u64,
    /// Its numbers.
    count: u32,
}

/// Numbers of one hardware queue.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    words: Vec<Word>,
    /// A word has two to this power of numbers.
    shift: u32,
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
        let shift = shift_for(count);
        let per_word = 1 << shift;
        let word = |first| Word { taken: 0, count: per_word.min(count - first) };
        let words = (0..count).step_by(per_word as usize).map(word).collect();
        let hints = vec![0; usize::from(cpus.max(1))];
        Slots { words, shift, count, hints, of: Vec::new(), first_is_fresh: false }
    }

    /// Gives `request`, submitted on `cpu`, a number below `depth`. One is free, as [`Slots::has_free`] said.
    pub fn take(&mut self, cpu: u16, request: RequestId, depth: u32) {
        let cpu = usize::from(cpu) % self.hints.len();
        let hint = self.hints[cpu];
        let number = self.find(hint, depth).expect("the pool has a free request");
        if number == hint {
            self.hints[cpu] = if number + 2 < self.count { number + 1 } else { 0 };
        }
        self.words[(number >> self.shift) as usize].taken |= 1 << (number & self.mask());
        if self.of.len() <= request.index() {
            self.of.resize(request.index() + 1, 0);
        }
        self.of[request.index()] = number;
    }

    /// Frees the number of a request that was submitted on `cpu`.
    pub fn give_back(&mut self, cpu: u16, request: RequestId) {
        let (number, cpus, mask) = (self.of[request.index()], self.hints.len(), self.mask());
        self.words[(number >> self.shift) as usize].taken &= !(1 << (number & mask));
        self.hints[usize::from(cpu) % cpus] = number;
        self.first_is_fresh |= number == 0;
    }

    /// True if a submitter on `cpu` that may only have the numbers below `depth` gets one. If that is the first alone,
    /// one that was woken does not get it if it was freed just now, unless nobody is there to take it first. If not,
    /// its CPU looks from the first number on next.
    pub fn has_free(&mut self, cpu: u16, depth: u32, woken: bool, used: u32) -> bool {
        let is_late = depth == 1 && woken && self.first_is_fresh && used > 0;
        let may = !is_late && (0..self.words.len()).any(|word| self.free_in(word, depth) != 0);
        if !may {
            self.in_vain(cpu);
        }
        may
    }

    /// A submitter on `cpu` found none free: its CPU looks from the first number on next.
    pub fn in_vain(&mut self, cpu: u16) {
        let cpus = self.hints.len();
        self.hints[usize::from(cpu) % cpus] = 0;
    }

    /// All that were woken have looked.
    pub fn have_looked(&mut self) {
        self.first_is_fresh = false;
    }

    /// The number that is next from `hint` on.
    fn find(&self, hint: u32, depth: u32) -> Option<u32> {
        let first = (hint >> self.shift) as usize;
        let mut from = if depth < self.count { hint & self.mask() } else { 0 };
        for ahead in 0..self.words.len() {
            let word = (first + ahead) % self.words.len();
            let free = self.free_in(word, depth);
            if free != 0 {
                let above = free & (u64::MAX << from);
                let bit = if above == 0 { free } else { above }.trailing_zeros();
                return Some(((word as u32) << self.shift) + bit);
            }
            from = 0;
        }
        None
    }

    /// Free bits of a word, as far as `depth` allows.
    fn free_in(&self, word: usize, depth: u32) -> u64 {
        !self.words[word].taken & low_bits(self.depth_of(word, depth))
    }

    /// Numbers of a word that a limit of `depth` over all words allows. What is left over goes to the first words.
    fn depth_of(&self, word: usize, depth: u32) -> u32 {
        let own = self.words[word].count;
        if depth >= self.count {
            return own;
        }
        let (own, count) = (u64::from(own), u64::from(self.count));
        let part = own * u64::from(depth);
        let more = part % count >= (word as u64 + 1) * own;
        (part / count) as u32 + u32::from(more)
    }

    fn mask(&self) -> u32 {
        (1 << self.shift) - 1
    }
}

/// The power of two that is the size of a word: 64 numbers, or so few that there are four words at least, where there
/// are four numbers.
fn shift_for(count: u32) -> u32 {
    let mut shift = u64::BITS.trailing_zeros();
    while count >= 4 && shift > 0 && 4 << shift > count {
        shift -= 1;
    }
    shift
}

fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(slots: &mut Slots, cpu: u16, request: u32, depth: u32) -> u32 {
        assert!(slots.has_free(cpu, depth, false, 0));
        slots.take(cpu, RequestId(request), depth);
        slots.of[request as usize]
    }

    #[test]
    fn a_cpu_takes_the_lowest_number_of_the_word_in_which_it_freed_one_until_that_is_full() {
        let mut slots = Slots::new(256, 2);
        let first: Vec<u32> = (0..40).map(|request| take(&mut slots, 0, request, ALL)).collect();
        assert_eq!(first, (0..40).collect::<Vec<_>>());
        for request in [30, 3] {
            slots.give_back(0, RequestId(request));
        }
        let next: Vec<u32> = (40..66).map(|request| take(&mut slots, 0, request, ALL)).collect();
        assert_eq!(next, [3, 30].into_iter().chain(40..64).collect::<Vec<_>>());
        assert_eq!(take(&mut slots, 0, 66, ALL), 64, "the word is full");
        slots.give_back(1, RequestId(41));
        slots.give_back(0, RequestId(66));
        assert_eq!([take(&mut slots, 0, 67, ALL), take(&mut slots, 1, 68, ALL)], [64, slots.of[41]]);
    }

    #[test]
    fn whoever_is_limited_gets_the_first_numbers_of_each_word_whatever_others_use() {
        let mut slots = Slots::new(64, 1);
        assert_eq!(slots.words.len(), 4);
        for request in 0..64 {
            take(&mut slots, 0, request, ALL);
        }
        assert!(!slots.has_free(0, 48, true, 64));
        for above in [12, 31, 63] {
            slots.give_back(0, RequestId(above));
            assert!(!slots.has_free(0, 48, true, 63), "{above} is not one of the first 12 of 16");
        }
        slots.give_back(0, RequestId(16 + 11));
        assert_eq!(take(&mut slots, 0, 64, 48), 16 + 11, "60 others are in use");
        let depths = |count, depth| {
            let slots = Slots::new(count, 1);
            (0..slots.words.len()).map(|word| slots.depth_of(word, depth)).collect::<Vec<_>>()
        };
        assert_eq!(depths(256, 192), [48; 4]);
        assert_eq!(depths(256, 1), [1, 0, 0, 0]);
        assert_eq!(depths(256, 130), [33, 33, 32, 32]);
        assert_eq!(depths(2, 1), [1]);
    }

    #[test]
    fn the_first_number_goes_to_a_limited_submitter_unless_it_was_freed_just_now() {
        let mut slots = Slots::new(64, 1);
        take(&mut slots, 0, 0, 1);
        take(&mut slots, 0, 1, ALL);
        assert!(!slots.has_free(0, 1, true, 2));
        slots.give_back(0, RequestId(0));
        assert!(!slots.has_free(0, 1, true, 1), "others come first");
        assert!(slots.has_free(0, 2, true, 1), "one that may have more");
        assert!(slots.has_free(0, 1, true, 0), "there are none");
        assert!(slots.has_free(0, 1, false, 1), "one that comes now");
        slots.have_looked();
        assert!(slots.has_free(0, 1, true, 1));
    }

    #[test]
    fn whoever_looks_in_vain_lets_the_next_on_its_cpu_begin_at_the_first_number() {
        let next = |vain: bool| {
            let mut slots = Slots::new(256, 2);
            for request in 0..65 {
                take(&mut slots, 0, request, ALL);
            }
            slots.give_back(1, RequestId(3));
            slots.give_back(0, RequestId(64));
            if vain {
                slots.in_vain(0);
            }
            take(&mut slots, 0, 65, ALL)
        };
        assert_eq!([next(false), next(true)], [64, 3]);
    }
}
