//! The pace of a device: its speed over time, in windows.
//!
//! A disk that shares its hardware or its CPUs with others is slow for a while and then stalls all requests in flight
//! at once. Independent draws per request cannot reproduce that. So [`part`] splits the measured times in two. The
//! *speed* of a window is the mean speed of its requests, relative to the mean time of their kind. The *work* of a
//! request is its time at those speeds. In playback, the windows pass in real time in the measured order, and a request
//! completes when its work is done.
//!
//! Not modelled: slowness caused by the requests themselves.

use goodness_core::{Operation, Service, Span, Time};

/// Speed of a device at its average pace.
const USUAL: u128 = 1000;
/// The slowest that a window can be.
const SLOWEST: u32 = 1;

/// One measured request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Operation.
    pub op: Operation,
    /// Its size in sectors.
    pub sectors: u32,
    /// Issue time.
    pub from: Time,
    /// Completion time.
    pub until: Time,
}

/// Splits `runs` of measured requests into the speeds of windows of length `window`, per mille, and the work of each
/// request. The mean time of a kind is taken over all runs.
///
/// # Panics
/// `window` is zero.
#[must_use]
pub fn part(runs: &[Vec<Stay>], window: Span) -> (Vec<u32>, Vec<Service>) {
    assert!(window > Span::ZERO, "a window has a length");
    let means = Means::of(runs);
    let (mut speeds, mut works) = (Vec::new(), Vec::new());
    for run in runs {
        let Some(begin) = run.iter().map(|stay| stay.from).min() else { continue };
        let own = windows(run, begin, window, &means);
        let work = |stay: &Stay| {
            let parts = overlaps(stay, begin, window);
            let work: u128 = parts.map(|(at, length)| u128::from(length) * u128::from(own[at])).sum();
            Service {
                op: stay.op,
                sectors: stay.sectors,
                is_sequential: false,
                span: Span(u64::try_from(work / USUAL).unwrap_or(u64::MAX)),
            }
        };
        works.extend(run.iter().map(work));
        speeds.extend(own);
    }
    (speeds, works)
}

/// Mean time of each kind: few kinds, so a list.
struct Means(Vec<(Operation, u32, u128)>);

impl Means {
    fn of(runs: &[Vec<Stay>]) -> Means {
        let mut sums: Vec<(Operation, u32, u128, u128)> = Vec::new();
        for stay in runs.iter().flatten() {
            let span = u128::from(stay.until.since(stay.from).0);
            match sums.iter_mut().find(|sum| (sum.0, sum.1) == (stay.op, stay.sectors)) {
                Some(sum) => (sum.2, sum.3) = (sum.2 + span, sum.3 + 1),
                None => sums.push((stay.op, stay.sectors, span, 1)),
            }
        }
        Means(sums.into_iter().map(|(op, sectors, sum, count)| (op, sectors, sum / count)).collect())
    }

    fn of_kind(&self, stay: &Stay) -> u128 {
        let kind = self.0.iter().find(|mean| (mean.0, mean.1) == (stay.op, stay.sectors));
        kind.map_or(0, |mean| mean.2)
    }
}

/// Speed of each window from `begin` on. Requests are weighted by their time in the window.
fn windows(run: &[Stay], begin: Time, window: Span, means: &Means) -> Vec<u32> {
    let mut sums: Vec<(u128, u128)> = Vec::new();
    for stay in run {
        let speed = means.of_kind(stay) * USUAL / u128::from(stay.until.since(stay.from).0.max(1));
        for (at, length) in overlaps(stay, begin, window) {
            sums.resize(sums.len().max(at + 1), (0, 0));
            sums[at].0 += u128::from(length) * speed;
            sums[at].1 += u128::from(length);
        }
    }
    // Without I/O in flight, the pace is unknown.
    let speed = |(sum, length): (u128, u128)| sum.checked_div(length).unwrap_or(USUAL);
    sums.into_iter().map(|sum| u32::try_from(speed(sum)).unwrap_or(u32::MAX).max(SLOWEST)).collect()
}

/// The windows in which a request was there, and for how long.
fn overlaps(stay: &Stay, begin: Time, window: Span) -> impl Iterator<Item = (usize, u64)> {
    let (from, until) = (stay.from.since(begin).0, stay.until.since(begin).0);
    let pieces = from / window.0..=until.saturating_sub(1).max(from) / window.0;
    pieces.map(move |at| {
        let (first, end) = ((at * window.0).max(from), ((at + 1) * window.0).min(until));
        (at as usize, end.saturating_sub(first))
    })
}

/// Speeds, played round and round.
#[derive(Clone, Debug)]
pub struct Pace {
    window: u64,
    speeds: Vec<u32>,
    /// Start position in the speeds.
    shift: u64,
    /// A time, and the device clock at that time, in thousandths of ns.
    at: u64,
    shown: u128,
}

impl Pace {
    /// Windows of length `window` with `speeds` per mille, starting with window `first`.
    ///
    /// # Errors
    /// No speed, a speed of zero, or a window of no length, as a sentence.
    pub fn new(window: Span, speeds: Vec<u32>, first: usize) -> Result<Pace, String> {
        if window == Span::ZERO || speeds.is_empty() {
            return Err(format!(
                "{} windows of {window} are no pace; give at least one, longer than nothing",
                speeds.len()
            ));
        }
        if let Some(at) = speeds.iter().position(|speed| *speed == 0) {
            return Err(format!(
                "speed {at} of the pace is 0, and nothing would ever be done; give 1 or more per mille"
            ));
        }
        let shift = (first % speeds.len()) as u64 * window.0;
        Ok(Pace { window: window.0, speeds, shift, at: 0, shown: 0 })
    }

    /// Device clock after `span` at normal speed.
    pub(crate) fn work(span: Span) -> u128 {
        u128::from(span.0) * USUAL
    }

    /// Time at which a device clock at normal speed shows `shown`.
    pub(crate) fn usual(shown: u128) -> Time {
        Time(u64::try_from(shown.div_ceil(USUAL)).unwrap_or(u64::MAX))
    }

    /// The speed at `at` and until when it lasts.
    fn speed(&self, at: u64) -> (u128, u64) {
        let window = (at + self.shift) / self.window;
        let speed = self.speeds[(window % self.speeds.len() as u64) as usize];
        (u128::from(speed), (window + 1) * self.window - self.shift)
    }

    /// Device clock at `now`, which must not go back.
    pub(crate) fn show(&mut self, now: Time) -> u128 {
        while self.at < now.0 {
            let (speed, end) = self.speed(self.at);
            let next = end.min(now.0);
            self.shown += u128::from(next - self.at) * speed;
            self.at = next;
        }
        self.shown
    }

    /// Time the device clock will show `wanted`.
    pub(crate) fn when(&self, wanted: u128) -> Time {
        let (mut at, mut shown) = (self.at, self.shown);
        while shown < wanted {
            let (speed, end) = self.speed(at);
            let whole = shown + u128::from(end - at) * speed;
            if whole >= wanted {
                return Time(at + (wanted - shown).div_ceil(speed) as u64);
            }
            (at, shown) = (end, whole);
        }
        Time(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_ms(1);

    fn read(from_us: u64, until_us: u64) -> Stay {
        Stay { op: Operation::Read, sectors: 8, from: Time(from_us * 1000), until: Time(until_us * 1000) }
    }

    #[test]
    fn a_clock_at_half_speed_shows_half_and_needs_twice_as_long() {
        let mut pace = Pace::new(MS, vec![1000, 500, 2000], 0).unwrap();
        assert_eq!(pace.when(Pace::work(Span::from_us(1250))), Time(1_500_000));
        assert_eq!(pace.show(Time(1_500_000)), Pace::work(Span::from_us(1250)));
        assert_eq!(pace.when(Pace::work(Span::from_us(2500))), Time(2_500_000), "from there on");
        assert_eq!(pace.show(Time(3_000_000)), Pace::work(Span::from_us(3500)));
        assert_eq!(pace.show(Time(3_500_000)), Pace::work(Span::from_us(4000)), "it begins anew");
    }

    #[test]
    fn a_pace_begins_at_the_window_it_is_told() {
        let mut pace = Pace::new(MS, vec![1000, 500], 3).unwrap();
        assert_eq!(pace.show(Time(1_000_000)), Pace::work(Span::from_us(500)));
        assert_eq!(pace.show(Time(2_000_000)), Pace::work(Span::from_us(1500)));
    }

    #[test]
    fn a_stall_that_holds_all_up_becomes_slow_windows_and_usual_work() {
        // Four at a time take 100 us each; then four take 3 ms.
        let mut run: Vec<Stay> = (0..400).map(|n| read(n / 4 * 100, n / 4 * 100 + 100)).collect();
        run.extend([read(10_000, 13_000); 4]);
        let (speeds, works) = part(&[run], MS);
        let usual = speeds[0];
        assert!(speeds[1..10].iter().all(|speed| *speed == usual), "{speeds:?}");
        assert!(speeds[10..13].iter().all(|speed| speed * 29 <= usual && usual <= speed * 32), "{speeds:?}");
        let works: Vec<u64> = works.iter().map(|work| work.span.0 / 1000).collect();
        let (least, most) = (works.iter().min().unwrap(), works.iter().max().unwrap());
        assert!(most * 100 <= least * 110, "all did the same: {least} to {most}");
    }

    #[test]
    fn one_slow_request_among_quick_ones_did_more_work() {
        let mut run: Vec<Stay> = (0..100).flat_map(|n| [read(n * 100, n * 100 + 100); 3]).collect();
        run.push(read(0, 2_000));
        let (speeds, works) = part(&[run], MS);
        assert!(speeds[0] * 10 > speeds[9] * 7, "the others went on: {speeds:?}");
        assert!(works[300].span.0 > 12 * works[0].span.0, "{:?}", works[300]);
    }

    #[test]
    fn means_are_those_of_all_runs_so_that_a_slow_run_is_slow() {
        let run = |us: u64| (0..100).map(|n| read(n * us, n * us + us)).collect::<Vec<Stay>>();
        let (speeds, works) = part(&[run(100), run(300)], MS);
        assert_eq!((speeds[0], *speeds.last().unwrap()), (2000, 666), "200 us on average");
        assert_eq!(speeds.len(), 10 + 30);
        assert!(works.iter().all(|work| (199_000..=200_000).contains(&work.span.0)));
    }

    #[test]
    fn a_pace_that_goes_nowhere_is_refused() {
        assert!(Pace::new(MS, Vec::new(), 0).unwrap_err().contains("0 windows"));
        assert!(Pace::new(Span::ZERO, vec![1], 0).unwrap_err().contains("longer than nothing"));
        assert!(Pace::new(MS, vec![1000, 0], 0).unwrap_err().contains("speed 1 of the pace is 0"));
    }
}
