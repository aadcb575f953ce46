//! Report pages of documents in which names, sentences and, where commands read them from files, figures are hostile:
//! whatever they hold, a page lets no markup in, its data are JSON, and nothing panics.
#![no_main]

mod documents;
mod edits;
#[path = "../../../crates/report/tests/pages/markup.rs"]
mod markup;

use documents::Documents;
use edits::{Editable, text};
use goodness::{Report, diff::results};
use goodness_report::suite::Suite;
use goodness_report::{Timeline, html, verification};
use goodness_report::{diff::Diff, teach::Lesson, tune::Tuning, why::Why};
use std::sync::LazyLock;

/// Edits of one document.
const MOST: usize = 24;

struct Pages {
    report: Editable,
    why: Editable,
    diff: Editable,
    documents: Documents,
}

static PAGES: LazyLock<Pages> = LazyLock::new(|| {
    let documents = Documents::new();
    let json = |it| serde_json::to_value(it).expect("it has string keys only");
    let report = Editable::new::<Report>(json(&documents.report), true);
    let why = Editable::new::<Why>(serde_json::to_value(&documents.why).expect("JSON"), false);
    let diff = Editable::new::<Diff>(serde_json::to_value(&documents.diff).expect("JSON"), false);
    Pages { report, why, diff, documents }
});

/// The page of kind `kind`, unless the edits leave no document.
fn page(kind: u8, edits: &[[u8; 4]]) -> Option<String> {
    let command = text(edits.first().map_or(0, |it| it[3]), "goodness");
    let report = || PAGES.report.edited::<Report>(edits);
    match kind % 8 {
        0 | 1 => Some(html::render(&report()?, &timelines(edits))),
        2 => Some(Suite::of(&command, vec![report()?, PAGES.documents.report.clone()]).ok()?.page(&command)),
        3 => {
            let (one, other) = (report()?, &PAGES.documents.report);
            let label = one.labels().first().cloned();
            let found = results(("a.json", &one), ("b.json", other), label.as_deref()).ok()?;
            Some(goodness_report::diff::page::render(&found, &command))
        }
        4 => {
            let report = report()?;
            let found = [(report.input.name, report.fidelity?)];
            Some(verification::page(&found, &[report.details], &command))
        }
        5 => Some(goodness_report::why::page(&PAGES.why.edited::<Why>(edits)?, &command)),
        6 => Some(goodness_report::diff::page::render(&PAGES.diff.edited::<Diff>(edits)?, &command)),
        _ if edits.len() % 2 == 0 => Some(goodness_report::teach::page::render(&lesson(edits), &command)),
        _ => Some(goodness_report::tune::page(&tuning(edits), &command)),
    }
}

/// The schedules, with other names.
fn timelines(edits: &[[u8; 4]]) -> Vec<Timeline> {
    let mut timelines = PAGES.documents.timelines.clone();
    for [which, task, change, number] in edits {
        let count = timelines.len();
        let timeline = &mut timelines[usize::from(*which) % count];
        match timeline.tasks.len() {
            0 => {}
            tasks if change % 2 == 0 => {
                let name = &mut timeline.tasks[usize::from(*task) % tasks].name;
                *name = text(*number, name);
            }
            _ => {}
        }
    }
    timelines
}

/// Edits one of the texts, as each edit says.
fn edit_texts(mut texts: Vec<&mut String>, edits: &[[u8; 4]]) {
    for [_, low, _, number] in edits {
        let at = usize::from(*low) % texts.len();
        *texts[at] = text(*number, texts[at]);
    }
}

fn lesson(edits: &[[u8; 4]]) -> Lesson {
    let mut lesson = PAGES.documents.lesson.clone();
    let mut texts: Vec<&mut String> = lesson.jobs.iter_mut().map(|it| &mut it.name).collect();
    for schedule in &mut lesson.policies {
        texts.push(&mut schedule.policy);
        for piece in &mut schedule.slices {
            texts.push(&mut piece.then);
            texts.extend(piece.ahead_of.iter_mut().flat_map(|it| [&mut it.rule.name, &mut it.rule.said]));
        }
    }
    edit_texts(texts, edits);
    lesson
}

fn tuning(edits: &[[u8; 4]]) -> Tuning {
    let mut tuning = PAGES.documents.tuning.clone();
    let it = &mut tuning;
    let mut texts = vec![&mut it.headline, &mut it.default, &mut it.objective.metric, &mut it.objective.unit];
    texts.extend(it.searched.iter_mut().chain(&mut it.held_out).chain(&mut it.guards).chain(&mut it.notes));
    texts.extend(it.best.iter_mut().chain(it.finalists.iter_mut().map(|it| &mut it.arm)));
    texts
        .extend(it.knobs.iter_mut().flat_map(|it| it.levels.iter_mut().map(|it| &mut it.values).chain([&mut it.name])));
    texts.extend(it.candidates.iter_mut().flat_map(|it| it.values.iter_mut().flatten().chain([&mut it.arm])));
    texts.extend(it.application.iter_mut().flat_map(|it| it.apply.iter_mut().chain(&mut it.undo)));
    texts.extend(it.race.iter_mut().flat_map(|it| it.file.iter_mut().chain(&mut it.why_not)));
    edit_texts(texts, edits);
    tuning
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let edits: Vec<[u8; 4]> = rest.chunks_exact(4).take(MOST).map(|it| [it[0], it[1], it[2], it[3]]).collect();
    if let Some(page) = page(*kind, &edits)
        && let Err(why) = markup::check(&page)
    {
        panic!("kind {kind}, {edits:?}: {why}");
    }
});
