//! Affinities recovered from a trace that states none.

use super::recorder::{planned, run};
use goodness_core::{CpuId, CpuSet, Event, Machine, Observer, Span, Start, Step, Time};
use goodness_policies::eevdf::Eevdf;
use goodness_replay::{History, Replay, ReplayOptions, machine_of, recover};
use goodness_trace::{FtraceWriter, Input, Recording, load_input};

struct Migrations(u32);

impl Observer for Migrations {
    fn observe(&mut self, _: Time, event: &Event) {
        self.0 += u32::from(matches!(event, Event::Migrate { .. }));
    }
}

/// A plain trace of four tasks that compute on CPU 0, or where they like, and one that sleeps most of the time.
fn recorded(is_pinned: bool) -> Recording {
    let now = Start::WokenAt(Time::ZERO);
    let hog = || (now, vec![Step::Compute(Span::from_ms(500)), Step::Exit]);
    let blinks = (0..150).flat_map(|_| [Step::Sleep(Span::from_ms(10)), Step::Compute(Span::from_us(100))]);
    let blinker = (now, blinks.chain([Step::Exit]).collect());
    let mut source = planned(0, vec![hog(), hog(), hog(), hog(), blinker]);
    if is_pinned {
        source.0.tasks[..4].iter_mut().for_each(|it| it.task.affinity = CpuSet::of(&[CpuId(0)]));
    }
    let machine = Machine::flat(2, 250).expect("a machine");
    let mut writer = FtraceWriter::new(Vec::new(), 2, &[]);
    run::<Eevdf>(&machine, &source, 0, &mut writer);
    let text = writer.finish().expect("memory");
    load_input(Input::bytes("plain", &text).expect("text")).expect("a trace")
}

/// Affinities of the hogs, and migrations of a replay.
fn replayed(recording: &Recording) -> (Vec<CpuSet>, u32) {
    let history = History::of(recording);
    let affinities = history.participants.iter().take(4).map(|it| it.task.affinity.clone()).collect();
    let recovered = recover(&history, ReplayOptions::default());
    let machine = machine_of(recording, &history, recovered.grid).expect("a machine").machine;
    let mut migrations = Migrations(0);
    run::<Eevdf>(&machine, &Replay::new("plain", recovered), 0, &mut migrations);
    (affinities, migrations.0)
}

#[test]
fn tasks_that_were_pinned_stay_where_they_were() {
    let (affinities, migrations) = replayed(&recorded(true));
    assert_eq!(affinities, vec![CpuSet::of(&[CpuId(0)]); 4]);
    assert!(migrations <= 1, "{migrations}");
}

#[test]
fn tasks_that_were_not_pinned_go_where_they_like() {
    let (affinities, _) = replayed(&recorded(false));
    assert_eq!(affinities, vec![CpuSet::All; 4]);
}
