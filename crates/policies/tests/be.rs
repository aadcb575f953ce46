//! The schedulers of BeOS and Haiku: the checkable numbers of specs 7.10, the loads of 7.6, and textbook schedules.
//! Tolerances are the sampling errors of a multinomial draw; seeds are fixed.

mod harness;

use goodness_core::*;
use goodness_policies::beos::BeOs;
use goodness_policies::beosrt::BeOsRt;
use goodness_policies::haiku_2pow::Haiku2Pow;
use goodness_policies::haiku_2009::Haiku2009;
use goodness_policies::haiku_2013::Haiku2013;
use goodness_policies::haiku_affine::HaikuAffine;
use goodness_policies::haiku_fair::HaikuFair;
use goodness_sim::{Options, simulate};
use harness::*;

const QUANTUM: Span = Span::from_us(3000);
/// Threads by priority, the highest first (specs 7.6).
const LOAD_A: &[(u8, usize)] = &[(20, 20), (15, 478), (12, 6), (10, 479), (5, 15), (1, 2)];
const LOAD_B: &[(u8, usize)] = &[(99, 4093), (1, 2)];
/// Quanta measured in 10 s (specs 7.6).
const QUANTA: u64 = 3327;
const SEEDS: u64 = 12;

fn at(priority: u8, mut spec: TaskSpec) -> TaskSpec {
    spec.task.priority = Some(priority);
    spec
}

fn woken(ms: u64, spec: TaskSpec) -> TaskSpec {
    starting(Start::WokenAt(Time(ms * 1_000_000)), spec)
}

/// CPU time of each level.
struct Shares {
    level_of: Vec<usize>,
    time: Vec<u64>,
    running: Option<TaskId>,
    since: Time,
}

impl Shares {
    fn settle(&mut self, now: Time) {
        if let Some(task) = self.running {
            self.time[self.level_of[task.index()]] += (now - self.since).0;
        }
        self.since = now;
    }
}

impl Observer for Shares {
    fn observe(&mut self, now: Time, event: &Event) {
        if let Event::Switch { next, .. } = event {
            self.settle(now);
            self.running = *next;
        }
    }
}

/// Quanta per level in a run of `quanta` quanta, on one CPU without overhead.
fn quanta_of<P: Registered>(settings: &[(&str, &str)], load: &[(u8, usize)], quanta: u64, seed: u64) -> Vec<u64> {
    let mut typed = P::Settings::default();
    for (name, value) in settings {
        typed.set(name, value).expect("the setting is valid");
    }
    let mut level_of = Vec::new();
    let mut tasks = Vec::new();
    for (level, (priority, threads)) in load.iter().enumerate() {
        level_of.extend(std::iter::repeat_n(level, *threads));
        tasks.extend((0..*threads).map(|_| at(*priority, hog())));
    }
    let horizon = Time(quanta * QUANTUM.0);
    let work = Workload { tasks, horizon: Some(horizon), ..Workload::default() };
    let mut shares = Shares { level_of, time: vec![0; load.len()], running: None, since: Time::ZERO };
    let options = Options { seed: Seed(seed), ..Options::default() };
    simulate::<P>(&one_cpu(100), typed, work, &mut shares, options).expect("the run is sound");
    shares.settle(horizon);
    shares.time.iter().map(|ns| ns / QUANTUM.0).collect()
}

/// Mean quanta of each level over the seeds.
fn mean_quanta<P: Registered>(settings: &[(&str, &str)], load: &[(u8, usize)], quanta: u64) -> Vec<f64> {
    let mut sums = vec![0; load.len()];
    for seed in 1..=SEEDS {
        for (sum, count) in sums.iter_mut().zip(quanta_of::<P>(settings, load, quanta, seed)) {
            *sum += count;
        }
    }
    sums.iter().map(|sum| *sum as f64 / SEEDS as f64).collect()
}

/// Standard deviation of a count with probability `share` in `quanta` draws.
fn deviation(share: f64, quanta: u64) -> f64 {
    (quanta as f64 * share * (1.0 - share)).sqrt()
}

/// Means of several runs lie within 3.5 standard errors of the derived counts. A count that is almost never above 0 has
/// no normal error: half a quantum is allowed in any case.
fn assert_derived(means: &[f64], shares: &[f64], quanta: u64) {
    for (mean, share) in means.iter().zip(shares) {
        let bound = 3.5 * deviation(*share, quanta) / (SEEDS as f64).sqrt() + 0.5;
        let expected = share * quanta as f64;
        assert!((mean - expected).abs() <= bound, "{mean} instead of {expected} ± {bound}: {means:?}");
    }
}

/// Asserts that the published counts lie within 2.5 standard deviations of the derived shares.
fn assert_published(counts: &[u64], shares: &[f64]) {
    let quanta = counts.iter().sum();
    for (count, share) in counts.iter().zip(shares) {
        let expected = share * quanta as f64;
        let bound = 2.5 * deviation(*share, quanta) + 0.5;
        assert!((*count as f64 - expected).abs() <= bound, "{count} published, {expected} ± {bound} derived");
    }
}

/// Shares of the levels if it takes two skips to leave a level of several threads (specs 7.3).
fn two_skips(load: &[(u8, usize)]) -> Vec<f64> {
    let skip = 6657.0 / 32_768.0;
    let mut reached = 1.0;
    let last = load.len() - 1;
    let share = |(level, (_, threads)): (usize, &(u8, usize))| {
        let leaves = if level == last { 0.0 } else { skip * if *threads > 1 { skip } else { 1.0 } };
        let stays = reached * (1.0 - leaves);
        reached *= leaves;
        stays
    };
    load.iter().enumerate().map(share).collect()
}

/// Shares of the levels if each counts its threads plus half of the level above (specs 7.7).
fn halving(load: &[(u8, usize)]) -> Vec<f64> {
    let weight = |(rank, (_, threads)): (usize, &(u8, usize))| *threads as f64 / f64::from(1 << rank);
    let weights: Vec<f64> = load.iter().enumerate().map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// specs/cpu-schedulers.md 7.10 (1): 3190, 132, 5.4, 0.2 and 0 quanta of 3327
#[test]
fn load_a_on_haiku_2009_gives_the_derived_quanta() {
    let shares = two_skips(LOAD_A);
    let derived: Vec<f64> = shares.iter().map(|share| (share * QUANTA as f64 * 10.0).round() / 10.0).collect();
    assert_eq!(derived, [3189.7, 131.6, 5.4, 0.2, 0.0, 0.0]);
    assert_derived(&mean_quanta::<Haiku2009>(&[], LOAD_A, QUANTA), &shares, QUANTA);
    assert_published(&[3201, 121, 5, 0, 0, 0], &shares);
}

/// specs/cpu-schedulers.md 7.8 "Haiku": one skip of 4 % a level would fit as well
#[test]
fn load_a_on_a_single_skip_of_four_percent_fits_as_well() {
    let leaves = 1352.0 / 32_768.0;
    let shares: Vec<f64> = (0..6).map(|k| (1.0 - if k < 5 { leaves } else { 0.0 }) * f64::powi(leaves, k)).collect();
    let settings = [("rule", "single-skip"), ("threshold", "1351")];
    assert_derived(&mean_quanta::<Haiku2009>(&settings, LOAD_A, QUANTA), &shares, QUANTA);
}

/// specs/cpu-schedulers.md 7.8 "Haiku2": 134 ± 11 quanta of 3247 below 4093 threads at 99, 123 published
#[test]
fn load_b_on_haiku_2009_gives_the_derived_quanta() {
    let shares = two_skips(LOAD_B);
    assert_eq!((shares[1] * 3247.0).round(), 134.0);
    assert_derived(&mean_quanta::<Haiku2009>(&[], LOAD_B, 3247), &shares, 3247);
    assert_published(&[3124, 123], &shares);
}

/// specs/cpu-schedulers.md 7.10 (5): 6.22, 74.37, 0.467, 18.63, 0.292 and 0.019 %
#[test]
fn load_a_on_haiku_fair_gives_the_derived_shares() {
    let shares = halving(LOAD_A);
    let percent: Vec<f64> = shares.iter().map(|share| (share * 1e5).round() / 1e3).collect();
    assert_eq!(percent, [6.223, 74.368, 0.467, 18.631, 0.292, 0.019]);
    let means = mean_quanta::<HaikuFair>(&[], LOAD_A, 3326);
    assert_derived(&means, &shares, 3326);
    assert_published(&[207, 2489, 15, 610, 4, 1], &shares);
    assert_eq!(means, mean_quanta::<BeOsRt>(&[], LOAD_A, 3326), "beosrt is the same algorithm");
}

/// specs/cpu-schedulers.md 7.10 (5): a thread has half the share of one on the occupied level above
#[test]
fn a_thread_under_haiku_fair_gets_half_of_one_a_level_above() {
    let counts = quanta_of::<HaikuFair>(&[], LOAD_A, 200_000, 5);
    let each: Vec<f64> = counts.iter().zip(LOAD_A).map(|(n, (_, threads))| *n as f64 / *threads as f64).collect();
    // Level 12: 934 ± 31 quanta on six threads.
    assert!((each[2] / each[1] - 0.5).abs() < 0.06, "{each:?}");
    assert!((each[1] / each[0] - 0.5).abs() < 0.02, "{each:?}");
    assert!((each[2] / 200_000.0 - 0.000_778).abs() < 0.000_09, "0.0778 % of the CPU: {each:?}");
}

/// specs/cpu-schedulers.md 7.7: 0.81 quanta of 3327 for the two threads at priority 1, 2 published
#[test]
fn load_b_on_beosrt_gives_the_derived_quanta() {
    let shares = halving(LOAD_B);
    assert_eq!((shares[1] * 332_700.0).round(), 81.0);
    assert_derived(&mean_quanta::<BeOsRt>(&[], LOAD_B, QUANTA), &shares, QUANTA);
    assert_published(&[3325, 2], &shares);
}

/// specs/cpu-schedulers.md 7.2: 2^−98 is never
#[test]
fn load_b_on_beos_gives_nothing_to_priority_1() {
    assert_eq!(mean_quanta::<BeOs>(&[], LOAD_B, 3227)[1], 0.0);
}

/// specs/cpu-schedulers.md 7.10 (6)
#[test]
fn priorities_8_and_6_share_80_to_20_under_beos() {
    assert_derived(&mean_quanta::<BeOs>(&[], &[(8, 1), (6, 1)], 5_000), &[0.8, 0.2], 5_000);
    assert_derived(&mean_quanta::<BeOs>(&[], &[(8, 1), (6, 4)], 5_000), &[0.5, 0.5], 5_000);
}

/// specs/cpu-schedulers.md 7.10 (3)
#[test]
fn the_rule_of_powers_of_two_depends_on_the_gap() {
    let lower = |high: u8, low: u8| {
        let counts = quanta_of::<Haiku2Pow>(&[], &[(high, 1), (low, 1)], 100_000, 3);
        counts[1] as f64
    };
    // 2^-10: 97.7 ± 9.9; 2^-5: 3125 ± 55.
    assert!((lower(20, 10) - 97.7).abs() < 30.0, "{}", lower(20, 10));
    assert!((lower(15, 10) - 3125.0).abs() < 165.0, "{}", lower(15, 10));
    assert_eq!(lower(30, 10), 0.0);
    assert_eq!(lower(99, 1), 0.0);
}

/// specs/cpu-schedulers.md 7.8: 3223, 91, 9.7 and 3.1 on load A; the size of a level does not count
#[test]
fn load_a_on_the_rule_of_powers_of_two_gives_the_derived_quanta() {
    let leaves = [1.0 / 32.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 32.0, 1.0 / 16.0, 0.0];
    let mut reached = 1.0;
    let share = |leave: &f64| {
        let stays = reached * (1.0 - leave);
        reached *= leave;
        stays
    };
    let shares: Vec<f64> = leaves.iter().map(share).collect();
    assert_eq!((shares[0] * 3327.0).round(), 3223.0);
    assert_eq!((shares[1] * 3327.0).round(), 91.0);
    assert_derived(&mean_quanta::<Haiku2Pow>(&[], LOAD_A, QUANTA), &shares, QUANTA);
}

/// specs/cpu-schedulers.md 7.10 (4)
#[test]
fn a_single_skip_gives_20_percent_whatever_the_gap() {
    let skip = 6657.0 / 32_768.0;
    for high in [20, 15] {
        let means = mean_quanta::<Haiku2009>(&[("rule", "single-skip")], &[(high, 1), (10, 1)], 5_000);
        assert_derived(&means, &[1.0 - skip, skip], 5_000);
    }
}

/// specs/cpu-schedulers.md 7.3 "Threshold history"
#[test]
fn each_version_skips_with_the_probability_of_its_threshold() {
    let history = [
        ("2004", 0x3000, 37.5),
        ("2007-01", 0x1000, 12.5),
        ("2007-02", 0x500, 3.9),
        ("2007-03", 0x1500, 16.4),
        ("2007-04", 0x2000, 25.0),
        ("2007-10", 0x1a00, 20.3),
    ];
    for (version, threshold, percent) in history {
        let skip = f64::from(threshold + 1) / 32_768.0;
        assert_eq!((skip * 1000.0).round() / 10.0, percent);
        let means = mean_quanta::<Haiku2009>(&[("version", version)], &[(20, 1), (10, 1)], 5_000);
        assert_derived(&means, &[1.0 - skip, skip], 5_000);
    }
}

/// specs/cpu-schedulers.md 7.3: the last thread of a level has 16.9 % of the picks that stay in it. The last is the one
/// that has just run; everyone else is served in turns.
#[test]
fn in_a_level_only_the_first_and_the_last_are_elected() {
    let tasks = vec![at(10, hog()), at(10, hog()), at(10, hog()), at(10, hog()), at(5, hog())];
    let until = QUANTUM * 30_000;
    let history = run::<Haiku2009>(&one_cpu(100), &[], tasks, until);
    let mut order = Vec::new();
    for (from, _, task, to) in stretches(&history, until) {
        order.extend(std::iter::repeat_n(task.0, ((to - from).0 / QUANTUM.0) as usize));
    }
    order.retain(|task| *task < 4);
    let again = order.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let next = order.windows(2).filter(|pair| (pair[0] + 1) % 4 == pair[1]).count();
    assert_eq!(again + next, order.len() - 1, "nobody in the middle is ever elected");
    let share = again as f64 / order.len() as f64;
    // Standard deviation 0.0022.
    assert!((share - 0.169).abs() < 0.008, "{share}");
}

/// specs/cpu-schedulers.md 7.10 (7): 3000 µs in all
#[test]
fn a_quantum_is_3_ms_in_all() {
    let hogs = || vec![hog(), hog()];
    let shown = "a 0..3  b 3..6  a 6..9  b 9..12";
    assert_eq!(schedule::<Haiku2009>(100, &[("threshold", "0")], hogs(), MS(12)), shown);
    assert_eq!(schedule::<Haiku2Pow>(100, &[], hogs(), MS(12)), shown);
    assert_eq!(schedule::<BeOs>(100, &[], hogs(), MS(12)), shown);
    assert_eq!(schedule::<HaikuFair>(100, &[], hogs(), MS(12)), shown);
    assert_eq!(schedule::<BeOsRt>(100, &[], hogs(), MS(12)), shown);
}

fn real_time_rules<P: Registered>() {
    let runs = |ms, priority, spec| woken(ms, at(priority, spec));
    let brief = || task(&[Step::Compute(MS(5))]);
    let history = schedule::<P>(100, &[], vec![at(99, hog()), runs(4, 100, brief()), runs(6, 120, brief())], MS(20));
    assert_eq!(history, "a 0..4  b 4..6  c 6..11  b 11..14  a 14..20", "{}", P::ABOUT.name);
    let two = vec![at(110, hog()), at(110, hog()), at(20, hog())];
    assert_eq!(schedule::<P>(100, &[], two, MS(9)), "a 0..3  b 3..6  a 6..9", "{}", P::ABOUT.name);
    let fifo = vec![class(Class::Fifo, 9, task(&[Step::Compute(MS(10))])), class(Class::Fifo, 9, hog())];
    assert_eq!(schedule::<P>(100, &[], fifo, MS(15)), "a 0..10  b 10..15", "{}", P::ABOUT.name);
    // specs 7.2: on several CPUs a real-time thread stops nobody elsewhere.
    let four = vec![at(110, hog()), at(10, hog())];
    assert_eq!(schedule_of(&run::<P>(&Machine::flat(2, 100).unwrap(), &[], four, MS(9)), MS(9)), "a 0..9  b@1 0..9");
}

/// specs/cpu-schedulers.md 7.1 and 7.2
#[test]
fn real_time_threads_run_at_once_and_until_they_block() {
    real_time_rules::<Haiku2009>();
    real_time_rules::<Haiku2Pow>();
    real_time_rules::<BeOs>();
    real_time_rules::<HaikuFair>();
}

/// specs/cpu-schedulers.md 7.3 "Wake", "Yield"
#[test]
fn a_woken_thread_preempts_only_those_below_it_and_a_yield_goes_behind_equals() {
    let brief = || woken(1, task(&[Step::Compute(MS(1))]));
    let never = [("threshold", "0")];
    let history = schedule::<Haiku2009>(100, &never, vec![at(10, hog()), at(10, brief())], MS(6));
    assert_eq!(history, "a 0..3  b 3..4  a 4..6");
    let history = schedule::<Haiku2009>(100, &never, vec![at(10, hog()), at(11, brief())], MS(6));
    assert_eq!(history, "a 0..1  b 1..2  a 2..6");
    let yielder = task(&[Step::Compute(MS(1)), Step::Yield, Step::Compute(MS(1))]);
    let history = schedule::<Haiku2009>(100, &never, vec![yielder, hog(), at(5, hog())], MS(8));
    assert_eq!(history, "a 0..1  b 1..4  a 4..5  b 5..8");
}

/// specs/cpu-schedulers.md 7.9: load A leaves 981 threads below 20 with 4 % of the CPU, and the lowest with nothing
#[test]
fn close_priorities_starve_under_haiku_2009() {
    let counts = quanta_of::<Haiku2009>(&[], LOAD_A, QUANTA, 1);
    let each = |level: usize| counts[level] as f64 / LOAD_A[level].1 as f64;
    assert!(each(0) > 300.0 * each(1), "{counts:?}");
    assert_eq!((counts[4], counts[5]), (0, 0));
}

#[test]
fn a_woken_thread_preempts_the_least_urgent() {
    let machine = Machine::flat(2, 100).unwrap();
    let tasks = vec![at(20, hog()), at(10, hog()), woken(1, at(15, task(&[Step::Compute(MS(1))])))];
    let history = run::<HaikuFair>(&machine, &[], tasks, MS(3));
    assert!(schedule_of(&history, MS(3)).contains("b@1 0..1  c@1 1..2"), "{}", schedule_of(&history, MS(3)));
}

/// specs/cpu-schedulers.md 7.4: the election is that of 7.3
#[test]
fn load_a_on_haiku_affine_gives_the_quanta_of_haiku_2009() {
    assert_derived(&mean_quanta::<HaikuAffine>(&[], LOAD_A, QUANTA), &two_skips(LOAD_A), QUANTA);
}

/// specs/cpu-schedulers.md 7.4 "Affine queues"
#[test]
fn an_idle_cpu_steals_where_two_wait_and_leaves_one_alone() {
    let machine = Machine::flat(2, 100).unwrap();
    let brief = || task(&[Step::Compute(MS(2))]);
    let history = run::<HaikuAffine>(&machine, &[], vec![hog(), brief(), hog(), brief(), hog(), brief()], MS(30));
    let on = |cpu: u32, task: u32| stretches(&history, MS(30)).iter().any(|s| s.1.0 == cpu && s.2.0 == task);
    let told_all = schedule_of(&history, MS(30));
    assert!([0, 2, 4].iter().any(|hog| on(1, *hog)), "one of three hogs was stolen at 6 ms: {told_all}");
    let alone = schedule_of(&run::<HaikuAffine>(&machine, &[], vec![hog(), brief(), hog()], MS(30)), MS(30));
    assert_eq!(alone.matches("@1").count(), 1, "one waiting hog is left where it is: {alone}");
}

#[test]
fn a_woken_thread_of_haiku_affine_returns_to_its_cpu() {
    let machine = Machine::flat(2, 100).unwrap();
    let sleeper = || cycle(&[Step::Compute(MS(1)), Step::Sleep(MS(2))]);
    let history = run::<HaikuAffine>(&machine, &[], vec![at(20, sleeper()), at(10, sleeper())], MS(20));
    assert!(
        !history.iter().any(|(_, event)| matches!(event, Event::Migrate { .. })),
        "{}",
        schedule_of(&history, MS(20))
    );
}

/// specs/cpu-schedulers.md 7.5: what a hog loses in priority lets a lower one run; without penalties it would not
#[test]
fn penalties_let_a_lower_hog_run_under_haiku_2013() {
    let shares = |high| {
        let history = run::<Haiku2013>(&one_cpu(100), &[], vec![at(high, hog()), at(5, hog())], Span::from_s(2));
        cpu_time(&history, Span::from_s(2), 1).0 as f64 / 2e9
    };
    let (near, far) = (shares(10), shares(40));
    assert!(near > 0.2 && near < 0.8, "{near}");
    assert!(far > 0.0 && far < near, "{far}");
    assert_eq!(shares(100), 0.0, "real-time threads have no penalty");
}

/// specs/cpu-schedulers.md 7.10 (8), in a run
#[test]
fn haiku_2013_gives_urgent_threads_1_ms_each() {
    let shown = "a 0..1  b 1..2  c 2..3  a 3..4";
    let urgent = || vec![at(110, hog()), at(110, hog()), at(110, hog())];
    assert_eq!(schedule::<Haiku2013>(100, &[], urgent(), MS(4)), shown);
    let shown = "a 0..2  b 2..4  c 4..6";
    assert_eq!(schedule::<Haiku2013>(100, &[("mode", "power-saving")], urgent(), MS(6)), shown);
    let ten = (0..10).map(|_| at(110, hog())).collect();
    assert!(schedule::<Haiku2013>(100, &[], ten, MS(2)).starts_with("a 0..0.5  b 0.5..1  c 1..1.5"));
}

/// specs/cpu-schedulers.md 7.5: the two modes
#[test]
fn power_saving_gathers_light_threads_and_low_latency_leaves_them_apart() {
    let cpus_used = |mode: &str| {
        let light = || (0..4).map(|_| cycle(&[Step::Compute(MS(1)), Step::Sleep(MS(29))])).collect();
        let until = Span::from_s(2);
        let history = run::<Haiku2013>(&Machine::flat(4, 100).unwrap(), &[("mode", mode)], light(), until);
        let late = stretches(&history, until).into_iter().filter(|stretch| stretch.0.0 > 1_000_000_000);
        late.map(|stretch| stretch.1).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!((cpus_used("power-saving"), cpus_used("low-latency")), (1, 4));
}

#[test]
fn a_thread_moves_to_a_core_that_is_less_loaded_when_its_quantum_ends() {
    let brief = || task(&[Step::Compute(MS(10))]);
    let machine = Machine::flat(2, 100).unwrap();
    let history = run::<Haiku2013>(&machine, &[], vec![hog(), brief(), hog(), brief()], MS(60));
    let late = stretches(&history, MS(60)).into_iter().filter(|stretch| stretch.3.0 == 60_000_000);
    assert_eq!(late.count(), 2, "both CPUs work at the end: {}", schedule_of(&history, MS(60)));
}

#[test]
fn the_textbook_schedules_are_as_blessed() {
    golden("haiku-2009", &schedule::<Haiku2009>(1000, &[], textbook(), MS(150)));
    golden("haiku-2pow", &schedule::<Haiku2Pow>(1000, &[], textbook(), MS(150)));
    golden("beos", &schedule::<BeOs>(1000, &[], textbook(), MS(150)));
    golden("haiku-affine", &schedule::<HaikuAffine>(1000, &[], textbook(), MS(150)));
    golden("haiku-2013", &schedule::<Haiku2013>(1000, &[], textbook(), MS(60)));
    golden("haiku-fair", &schedule::<HaikuFair>(1000, &[], textbook(), MS(150)));
    golden("beosrt", &schedule::<BeOsRt>(1000, &[], textbook(), MS(150)));
}
