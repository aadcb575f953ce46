//! Common parts of the schedulers of BeOS and Haiku: the scale of priorities, the 15-bit draw, the ordered run queue of
//! threads linked in one direction, and queues by level.
//!
//! Source: specs 7.1 (scale) and 7.3 (draw, list). Priorities are larger-is-better: 1 to 99 share time, 100 to 120 are
//! real time. The mapping of POSIX classes and nice is ours, because these systems had only their own scale: nice 0 is
//! normal (10), +19 the lowest active (1), −20 urgent display (20), linear between; SCHED_IDLE is the lowest active,
//! SCHED_BATCH at most low (5), and the real-time classes spread over 100 to 120. SCHED_ISO and SCHED_DEADLINE, which
//! they lacked, count as normal. A real-time class goes before a priority that shares time.

use goodness_core::{Class, Context, CpuId, Effort, Seed, Span, Task, TaskId};
use goodness_queues::{Links, List};

/// Priorities by name (specs 7.1).
pub const LOWEST_ACTIVE: u8 = 1;
/// Background work.
pub const LOW: u8 = 5;
/// Default priority of a thread.
pub const NORMAL: u8 = 10;
/// The first priority that does not share time.
pub const FIRST_REAL_TIME: u8 = 100;
/// The highest.
pub const REAL_TIME: u8 = 120;

/// The quantum of all Haiku versions before 2013 (specs 7.2, 7.3).
pub const QUANTUM: Span = Span::from_us(3_000);

/// The priority of a task on the scale of Be and Haiku.
#[must_use]
pub fn priority_of(task: &Task) -> u8 {
    let own = task.priority.map(|it| it.clamp(LOWEST_ACTIVE, REAL_TIME));
    if task.class.is_realtime() {
        let step = u32::from(task.rt_priority.clamp(1, 99) - 1) * u32::from(REAL_TIME - FIRST_REAL_TIME) / 98;
        return own.filter(|it| *it >= FIRST_REAL_TIME).unwrap_or(FIRST_REAL_TIME + step as u8);
    }
    match task.class {
        Class::Idle => LOWEST_ACTIVE,
        Class::Batch => own.unwrap_or(of_nice(task)).min(LOW),
        _ => own.unwrap_or(of_nice(task)),
    }
}

fn of_nice(task: &Task) -> u8 {
    let (nice, normal) = (task.nice.get(), i64::from(NORMAL));
    let priority = if nice > 0 { normal - nice * 9 / 19 } else { normal - nice / 2 };
    priority as u8
}

/// The random source of Haiku's scheduler: a linear congruential sequence of which 15 bits are used.
#[derive(Clone, Copy, Debug)]
pub struct Draw(u32);

impl Draw {
    /// Starts from `seed`; Haiku seeded from the time of day.
    #[must_use]
    pub fn new(seed: Seed) -> Draw {
        Draw(seed.stream("be draw", 0).rng().bits() as u32)
    }

    /// The next draw, 0 to 32767.
    #[inline]
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        self.0 >> 16 & 0x7fff
    }
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    priority: u8,
}

/// The links of all threads. A thread is on at most one list.
#[derive(Clone, Debug, Default)]
pub struct Threads(Vec<Link>);

impl Threads {
    /// Reserves room for `task`.
    pub fn admit(&mut self, task: TaskId) {
        if task.index() >= self.0.len() {
            self.0.resize(task.index() + 1, Link { next: NONE, priority: 0 });
        }
    }

    /// The priority under which `task` was last inserted.
    #[inline]
    #[must_use]
    pub fn priority(&self, task: TaskId) -> u8 {
        self.0[task.index()].priority
    }
}

/// Threads by priority, FIFO within a priority, in a singly linked list. Insertion walks past all threads of the same
/// or a higher priority.
#[derive(Clone, Copy, Debug)]
pub struct OrderedList {
    head: u32,
    len: u32,
}

impl Default for OrderedList {
    fn default() -> Self {
        OrderedList { head: NONE, len: 0 }
    }
}

/// A thread on the list, and its predecessor, which is needed to remove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    before: u32,
    at: u32,
}

impl Place {
    /// The thread.
    #[must_use]
    pub fn task(self) -> TaskId {
        TaskId(self.at)
    }
}

impl OrderedList {
    /// Threads on the list.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The first thread.
    #[must_use]
    pub fn front(&self) -> Option<TaskId> {
        (self.head != NONE).then_some(TaskId(self.head))
    }

    /// All threads from the first.
    pub fn iter<'a>(&self, threads: &'a Threads) -> impl Iterator<Item = TaskId> + use<'a> {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let task = (at != NONE).then_some(TaskId(at))?;
            at = threads.0[task.index()].next;
            Some(task)
        })
    }

    /// Puts `task` behind all threads of its priority or a higher one.
    pub fn insert(&mut self, cx: &Context, threads: &mut Threads, task: TaskId, priority: u8) {
        let (mut before, mut at, mut passed) = (NONE, self.head, 0);
        while at != NONE && threads.0[at as usize].priority >= priority {
            (before, at) = (at, threads.0[at as usize].next);
            passed += 1;
        }
        cx.examined(Effort::Insert, passed);
        threads.0[task.index()] = Link { next: at, priority };
        match before {
            NONE => self.head = task.0,
            it => threads.0[it as usize].next = task.0,
        }
        self.len += 1;
    }

    /// Removes the thread at `place`.
    #[inline]
    pub fn take(&mut self, threads: &mut Threads, place: Place) {
        let next = threads.0[place.at as usize].next;
        match place.before {
            NONE => self.head = next,
            it => threads.0[it as usize].next = next,
        }
        self.len -= 1;
    }

    /// Removes `task` from the list, after walking to it.
    pub fn remove(&mut self, cx: &Context, threads: &mut Threads, task: TaskId) {
        let (mut place, mut passed) = (Place { before: NONE, at: self.head }, 1);
        while place.at != task.0 {
            place = Place { before: place.at, at: threads.0[place.at as usize].next };
            passed += 1;
        }
        cx.examined(Effort::Search, passed);
        self.take(threads, place);
    }
}

/// The walk of an election along a list. Skips threads that may not run on the CPU.
pub struct Walk<'a> {
    cx: &'a Context,
    threads: &'a Threads,
    cpu: CpuId,
    head: u32,
    looked_at: u32,
}

impl<'a> Walk<'a> {
    /// An election of `cpu` on `list`.
    pub fn new(cx: &'a Context, threads: &'a Threads, list: &OrderedList, cpu: CpuId) -> Self {
        Walk { cx, threads, cpu, head: list.head, looked_at: 0 }
    }

    /// The first thread that may run here.
    #[inline]
    pub fn first(&mut self) -> Option<Place> {
        self.allowed_from(Place { before: NONE, at: self.head })
    }

    /// The next thread after `place` that may run here.
    #[inline]
    pub fn after(&mut self, place: Place) -> Option<Place> {
        self.allowed_from(Place { before: place.at, at: self.threads.0[place.at as usize].next })
    }

    #[inline]
    fn allowed_from(&mut self, mut place: Place) -> Option<Place> {
        while place.at != NONE {
            self.looked_at += 1;
            if self.cx.tasks.may_run(TaskId(place.at), self.cpu) {
                return Some(place);
            }
            place = Place { before: place.at, at: self.threads.0[place.at as usize].next };
        }
        None
    }

    /// Priority of the thread at `place`.
    #[inline]
    #[must_use]
    pub fn priority(&self, place: Place) -> u8 {
        self.threads.0[place.at as usize].priority
    }

    /// The first thread of the next lower level.
    pub fn next_level(&mut self, place: Place) -> Option<Place> {
        let mut next = self.after(place)?;
        while self.priority(next) == self.priority(place) {
            next = self.after(next)?;
        }
        Some(next)
    }

    /// Reports the number of entries examined.
    pub fn report(self) {
        self.cx.examined(Effort::Search, self.looked_at);
    }
}

/// Levels 0 to [`REAL_TIME`].
const LEVELS: usize = REAL_TIME as usize + 1;

/// A queue for each priority and one bit for each that is occupied.
#[derive(Clone, Debug)]
pub struct Levels {
    lists: [List; LEVELS],
    /// Bit p: a thread of priority p waits.
    occupied: u128,
}

impl Default for Levels {
    fn default() -> Self {
        Levels { lists: [List::default(); LEVELS], occupied: 0 }
    }
}

impl Levels {
    /// Behind its equals.
    #[inline]
    pub fn push_back(&mut self, links: &mut Links, priority: u8, task: TaskId) {
        self.lists[usize::from(priority)].push_back(links, task.0);
        self.occupied |= 1 << priority;
    }

    /// Before its equals.
    pub fn push_front(&mut self, links: &mut Links, priority: u8, task: TaskId) {
        self.lists[usize::from(priority)].push_front(links, task.0);
        self.occupied |= 1 << priority;
    }

    /// Removes `task`, which waits at `priority`.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, priority: u8, task: TaskId) {
        let list = &mut self.lists[usize::from(priority)];
        list.remove(links, task.0);
        if list.is_empty() {
            self.occupied &= !(1 << priority);
        }
    }

    /// The threads that wait at `priority`.
    #[inline]
    #[must_use]
    pub fn len(&self, priority: u8) -> usize {
        self.lists[usize::from(priority)].len()
    }

    /// The occupied real-time levels as bits.
    #[inline]
    #[must_use]
    pub fn real_time(&self) -> u128 {
        self.occupied >> FIRST_REAL_TIME << FIRST_REAL_TIME
    }

    /// The occupied levels that share time, as bits.
    #[inline]
    #[must_use]
    pub fn sharing(&self) -> u128 {
        self.occupied & ((1 << FIRST_REAL_TIME) - 1)
    }

    /// The first thread that may run on `cpu`, in `levels` from the highest.
    #[inline]
    #[must_use]
    pub fn first_allowed(&self, cx: &Context, links: &Links, levels: u128, cpu: CpuId) -> Option<(TaskId, u8)> {
        descending(levels).find_map(|level| {
            let allowed = |task: &u32| {
                cx.examined(Effort::Search, 1);
                cx.tasks.may_run(TaskId(*task), cpu)
            };
            self.lists[usize::from(level)].iter(links).find(allowed).map(|task| (TaskId(task), level))
        })
    }

    /// All occupied levels.
    #[inline]
    #[must_use]
    pub fn all(&self) -> u128 {
        self.occupied
    }
}

/// The numbers of the bits that are set, the highest first.
#[inline]
pub fn descending(mut bits: u128) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let highest = (bits != 0).then(|| 127 - bits.leading_zeros() as u8)?;
        bits ^= 1 << highest;
        Some(highest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Machine, Nice, TaskTable};

    fn task(class: Class, nice: i64, rt_priority: u8, priority: Option<u8>) -> u8 {
        priority_of(&Task { class, nice: Nice::new(nice).unwrap(), rt_priority, priority, ..Task::default() })
    }

    /// specs/cpu-schedulers.md 7.1
    #[test]
    fn nice_and_classes_map_into_the_scale_of_be() {
        let normal = |nice| task(Class::Normal, nice, 0, None);
        assert_eq!([-20, -1, 0, 1, 19].map(normal), [20, 10, 10, 10, 1]);
        let fifo = |rt| task(Class::Fifo, 0, rt, None);
        assert_eq!([1, 50, 99].map(fifo), [100, 110, 120]);
        assert_eq!((task(Class::Idle, -20, 0, Some(90)), task(Class::Batch, 0, 0, None)), (1, 5));
        let own = |priority| task(Class::Normal, 0, 0, Some(priority));
        assert_eq!([0, 15, 110, 200].map(own), [1, 15, 110, 120]);
        assert_eq!((task(Class::Fifo, 0, 1, Some(15)), task(Class::Fifo, 0, 1, Some(105))), (100, 105));
    }

    /// specs/cpu-schedulers.md 7.3 "Random source"
    #[test]
    fn draws_have_15_even_bits() {
        let mut draw = Draw(1);
        assert_eq!([draw.next(), draw.next(), draw.next()], [16_838, 5_758, 10_113]);
        let below = (0..100_000).filter(|_| draw.next() <= 0x1a00).count();
        // 20 316 expected, standard deviation 127.
        assert!(below.abs_diff(20_316) < 400, "{below}");
    }

    #[test]
    fn inserting_walks_past_everyone_of_the_same_or_a_higher_priority() {
        let mut cx = Context::new(Machine::flat(1, 100).unwrap(), TaskTable::default());
        let (mut threads, mut list) = (Threads::default(), OrderedList::default());
        for priority in [10, 20, 10, 15] {
            let task = cx.tasks.push(Task::default());
            threads.admit(task);
            list.insert(&cx, &mut threads, task, priority);
        }
        assert_eq!(list.iter(&threads).map(|t| t.0).collect::<Vec<_>>(), [1, 3, 0, 2]);
        // 0 and 1 passed no thread, 2 both others, 3 only thread 1.
        assert_eq!(cx.effort.take()[Effort::Insert as usize], 3);
        list.remove(&cx, &mut threads, TaskId(0));
        assert_eq!((list.iter(&threads).map(|t| t.0).collect::<Vec<_>>(), list.len()), (vec![1, 3, 2], 3));
        assert_eq!(cx.effort.take()[Effort::Search as usize], 3);
    }

    #[test]
    fn occupied_levels_are_named_from_the_highest() {
        assert_eq!(descending(1 | 1 << 20 | 1 << 120).collect::<Vec<_>>(), [120, 20, 0]);
    }
}
