//! Cause of each wait of a submitter: which of its completions frees a place for it, and how long it thinks then.
//!
//! A submitter lets the number of its I/Os in flight fall to a *level* before it submits more: 0 if it waits for each,
//! 31 if it keeps 32 in flight, 0 again if it submits 8 at a time and waits for all. What was in flight at an arrival
//! may be less, because the submitter was busy, so the level is taken from the arrivals around it: the most that was in
//! flight at those that follow a completion. If that is half the depth or more, the submitter keeps its depth full, and
//! waits for one free place.
//!
//! An arrival then follows the later of two events, after the recorded time: its submitter's previous arrival, and the
//! completion with which the number in flight fell to the level. Under the recorded completions, this gives exactly the
//! recorded arrivals.

use goodness_core::{Span, Time};
use std::collections::VecDeque;

/// Arrivals of a submitter that follow each other faster than this are taken as one plug …
const PLUG_GAP: Span = Span::from_us(10);
/// Longest duration of a plug. A choice: preparing an I/O takes a few microseconds.
const PLUG: Span = Span::from_us(100);
/// Arrivals before and after one that tell its level, of those that follow a completion. A choice.
const AROUND: usize = 128;
/// Percentile of what was in flight at them that counts: exceptions do not. A choice.
const PERCENT: usize = 98;

/// An arrival as recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Time from the start.
    pub at: Time,
    /// The submitter's I/Os in flight before it.
    pub in_flight: u32,
    /// True if one completed since the previous arrival.
    pub done: bool,
}

/// Event that an I/O waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Most I/Os of the submitter in flight before it; `None` if it waits for none.
    pub at_most: Option<u32>,
    /// Time after that, or after the previous arrival if that was later.
    pub think: Span,
}

/// Cause of the wait of each of `arrivals`, given the times of all completions.
pub(super) fn waits(arrivals: &[Arrival], completions: &[Time]) -> Vec<Wait> {
    let mut levels = Levels::of(arrivals);
    let (mut last, mut plug) = (Time::ZERO, Time::ZERO);
    let wait = |(index, arrival): (usize, &Arrival)| {
        let level = levels.at(index);
        // An arrival that follows without a completion, where more was in flight, waits for nothing.
        let waits = arrival.done || level >= arrival.in_flight;
        let level = level.max(arrival.in_flight);
        // The first ones wait in later laps only.
        let freed = (waits && index > level as usize).then(|| completions[index - level as usize - 1]);
        let is_plugged = index > 0
            && !arrival.done
            && arrival.in_flight > 0
            && arrival.at.since(last) <= PLUG_GAP
            && arrival.at.since(plug) <= PLUG;
        last = arrival.at;
        if is_plugged {
            return Wait { at_most: waits.then_some(level), think: Span::ZERO };
        }
        let think = match index {
            0 => Span::ZERO,
            _ => arrival.at.since(freed.map_or(plug, |freed| freed.max(plug))),
        };
        plug = arrival.at;
        Wait { at_most: waits.then_some(level), think }
    };
    arrivals.iter().enumerate().map(wait).collect()
}

/// Evidence from an arrival that follows a completion.
#[derive(Clone, Copy, Debug)]
struct Told {
    place: usize,
    /// I/Os in flight before it.
    in_flight: u32,
    /// The most that was in flight, with it and those up to the next that follows a completion.
    depth: u32,
}

/// The level at each arrival, asked for in order.
struct Levels {
    ahead: VecDeque<Told>,
    /// Those around the present one.
    around: VecDeque<Told>,
    /// Number of the surrounding ones that lie before the present one.
    before: usize,
    /// I/Os in flight at them, and the most after them, each in order.
    in_flight: Vec<u32>,
    depths: Vec<u32>,
}

impl Levels {
    fn of(arrivals: &[Arrival]) -> Levels {
        let mut ahead: VecDeque<Told> = VecDeque::new();
        for (place, arrival) in arrivals.iter().enumerate() {
            let depth = arrival.in_flight + 1;
            match ahead.back_mut().filter(|_| !arrival.done) {
                None if !arrival.done => {}
                None => ahead.push_back(Told { place, in_flight: arrival.in_flight, depth }),
                Some(told) => told.depth = told.depth.max(depth),
            }
        }
        Levels { ahead, around: VecDeque::new(), before: 0, in_flight: Vec::new(), depths: Vec::new() }
    }

    fn at(&mut self, place: usize) -> u32 {
        while self.around.get(self.before).is_some_and(|told| told.place < place) {
            self.before += 1;
        }
        while self.before > AROUND
            && let Some(gone) = self.around.pop_front()
        {
            self.before -= 1;
            remove(&mut self.in_flight, gone.in_flight);
            remove(&mut self.depths, gone.depth);
        }
        while self.around.len() - self.before <= AROUND
            && let Some(told) = self.ahead.pop_front()
        {
            self.before += usize::from(told.place < place);
            self.around.push_back(told);
            insert(&mut self.in_flight, told.in_flight);
            insert(&mut self.depths, told.depth);
        }
        let high = |sorted: &[u32]| sorted.get(sorted.len() * PERCENT / 100).or(sorted.last()).copied().unwrap_or(0);
        let (level, full) = (high(&self.in_flight), high(&self.depths).saturating_sub(1));
        // It submits more while most of its depth is in flight, so it waits for one free place only.
        if 2 * level >= full { full } else { level }
    }
}

fn insert(sorted: &mut Vec<u32>, value: u32) {
    let at = sorted.partition_point(|it| *it < value);
    sorted.insert(at, value);
}

fn remove(sorted: &mut Vec<u32>, value: u32) {
    let at = sorted.partition_point(|it| *it < value);
    sorted.remove(at);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrivals and completions from their times, in us.
    fn told(arrivals: &[u64], completions: &[u64]) -> Vec<(Option<u32>, u64)> {
        let mut done = 0;
        let mut list = Vec::new();
        for (index, at) in arrivals.iter().enumerate() {
            let before = done;
            done = completions.iter().filter(|it| *it <= at).count();
            list.push(Arrival { at: Time(at * 1000), in_flight: (index - done) as u32, done: done > before });
        }
        let completions: Vec<Time> = completions.iter().map(|us| Time(us * 1000)).collect();
        waits(&list, &completions).iter().map(|wait| (wait.at_most, wait.think.0 / 1000)).collect()
    }

    #[test]
    fn one_at_a_time_waits_for_each() {
        let expected = [(Some(0), 0), (Some(0), 20), (Some(0), 30), (Some(0), 40)];
        assert_eq!(told(&[0, 120, 250, 390], &[100, 220, 350, 490]), expected);
    }

    #[test]
    fn three_kept_in_flight_wait_for_a_free_place_even_if_the_submitter_was_busy_once() {
        // The fourth to sixth follow a completion each; then it is busy, and three places are free.
        let found = told(&[0, 20, 40, 110, 130, 150, 400, 430, 460], &[100, 120, 140, 210, 230, 250, 500, 530, 560]);
        assert_eq!(found[3..6], [(Some(2), 10), (Some(2), 10), (Some(2), 10)]);
        assert_eq!(found[6..], [(Some(2), 190), (Some(2), 30), (Some(2), 30)], "the completion at 210 freed the place");
        assert_eq!(found[..3], [(Some(2), 0), (Some(2), 20), (Some(2), 20)]);
    }

    #[test]
    fn what_is_submitted_together_and_waited_for_together_stays_together() {
        let found = told(&[0, 20, 40, 200, 220, 240, 400], &[100, 110, 150, 300, 310, 350, 500]);
        assert_eq!(found[3..], [(Some(0), 50), (None, 20), (None, 20), (Some(0), 50)]);
    }
}
