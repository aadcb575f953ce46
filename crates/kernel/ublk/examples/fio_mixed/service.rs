//! Writes the device model `service.toml` from the service times measured under none.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodness_core::{Operation, Service, Span};
use goodness_device::pace::{Stay, part};
use goodness_trace::block::{BlockStage, load_block_bytes};

/// Fewest requests of a kind for a sample.
const LEAST: usize = 1000;
/// Bins of equal count for each kind.
const BINS: usize = 1000;
/// Window for the pace: about ten requests at each of four servers, and shorter than a stall.
const WINDOW: Span = Span::from_ms(2);

/// The requests of a trace in the device.
pub fn stays(trace: &str) -> Vec<Stay> {
    let records = load_block_bytes("trace", trace.as_bytes()).expect("the kernel's own text").records;
    let mut issued = BTreeMap::new();
    let mut stays = Vec::new();
    for record in &records {
        match record.stage {
            BlockStage::Issue => _ = issued.insert(record.sector, record.at),
            BlockStage::Complete { .. } => {
                let Some(from) = issued.remove(&record.sector) else { continue };
                let op = if record.op == Operation::Read { Operation::Read } else { Operation::Write };
                stays.push(Stay { op, sectors: record.sectors, from, until: record.at });
            }
            _ => {}
        }
    }
    stays
}

/// The service-time model of all `runs` combined, as text.
pub fn service(mut runs: Vec<Vec<Stay>>, is_rotational: bool) -> String {
    let kind = |stay: &Stay| (stay.op == Operation::Read, stay.sectors);
    let mut counts: BTreeMap<(bool, u32), usize> = BTreeMap::new();
    runs.iter().flatten().for_each(|stay| *counts.entry(kind(stay)).or_default() += 1);
    runs.iter_mut().for_each(|run| run.retain(|stay| counts[&kind(stay)] >= LEAST));
    let requests: usize = runs.iter().map(Vec::len).sum();
    let (speeds, works) = part(&runs, WINDOW);
    let mut text = format!(
        "# Traced by scripts/measure-fio-mixed under none, a run in each of {} rounds, {requests} requests from issue \
            to completion.\n\
         # speeds: of the device in windows of window_ns, per mille of the usual. ns: what the requests of a kind \
         took, counted at\n\
         # those speeds, the means of {BINS} bins of equal count in order. rotational: what the device says of \
         itself.\n\n\
         rotational = {is_rotational}\nwindow_ns = {}\nspeeds = {speeds:?}\n",
        runs.len(),
        WINDOW.0
    );
    let mut kinds: BTreeMap<(bool, u32), Vec<u64>> = BTreeMap::new();
    for Service { op, sectors, span, .. } in works {
        kinds.entry((op == Operation::Read, sectors)).or_default().push(span.0);
    }
    for ((reads, sectors), mut spans) in kinds {
        spans.sort_unstable();
        let ns: Vec<u64> = (0..BINS).map(|bin| mean(&spans, bin)).collect();
        let _ = write!(text, "\n[[kind]]\nreads = {reads}\nsectors = {sectors}\nns = {ns:?}\n");
    }
    text
}

/// The mean of a bin of `spans`, which are in order and no fewer than bins.
fn mean(spans: &[u64], bin: usize) -> u64 {
    let part = &spans[spans.len() * bin / BINS..spans.len() * (bin + 1) / BINS];
    part.iter().sum::<u64>() / part.len() as u64
}
