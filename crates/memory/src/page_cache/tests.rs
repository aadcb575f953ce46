//! The page cache: reads, writes, waits and evictions.

use super::*;

const FILE: FileId = FileId(0);
const ME: u32 = 7;
const MINE: Owner = Owner { writer: ME, domain: 0 };

fn cache(pages: u32) -> PageCache {
    PageCache::new(Limits::linux(pages), 2, 2)
}

fn read(cache: &mut PageCache, first: u32, end: u32) -> (u32, Vec<TransferId>) {
    let mut out = Vec::new();
    let waits = cache.read(FILE, first, end, end, ME, &mut out);
    (waits, out)
}

fn done(cache: &mut PageCache, at: Time, ids: &[TransferId]) -> Vec<u32> {
    let mut woken = Vec::new();
    for id in ids {
        cache.done(at, *id, &mut woken);
    }
    woken
}

#[test]
fn pages_in_memory_are_not_fetched_again() {
    let mut cache = cache(1000);
    let (waits, ids) = read(&mut cache, 10, 14);
    assert_eq!((waits, ids.len()), (1, 1));
    assert_eq!(done(&mut cache, Time::ZERO, &ids), [ME]);
    let (waits, ids) = read(&mut cache, 8, 16);
    assert_eq!((waits, ids.len()), (2, 2), "before and behind what is there");
    let spans: Vec<_> = ids.iter().map(|id| (cache.transfer(*id).first, cache.transfer(*id).pages)).collect();
    assert_eq!(spans, [(8, 2), (14, 2)]);
}

#[test]
fn who_reads_what_is_on_its_way_waits_for_the_same_fetch() {
    let mut cache = cache(1000);
    let (_, ids) = read(&mut cache, 0, 8);
    let mut out = Vec::new();
    assert_eq!(cache.read(FILE, 2, 4, 4, 8, &mut out), 1);
    assert!(out.is_empty());
    assert_eq!(done(&mut cache, Time::ZERO, &ids), [ME, 8]);
}

#[test]
fn nobody_waits_for_what_is_read_ahead() {
    let mut cache = cache(1000);
    let mut out = Vec::new();
    assert_eq!(cache.read(FILE, 0, 0, 32, ME, &mut out), 0);
    assert_eq!(out.len(), 1);
    assert!(!cache.transfer(out[0]).sync);
}

#[test]
fn one_long_read_does_not_push_out_what_is_used_often() {
    let mut cache = cache(100);
    for _ in 0..3 {
        let (_, ids) = read(&mut cache, 0, 20);
        done(&mut cache, Time::ZERO, &ids);
    }
    for first in (1000..5000).step_by(10) {
        let (_, ids) = read(&mut cache, first, first + 10);
        done(&mut cache, Time::ZERO, &ids);
    }
    assert_eq!(read(&mut cache, 0, 20).0, 0, "still there");
    assert!(cache.table.len() <= 100);
}

#[test]
fn the_flusher_writes_above_the_background_share_and_what_is_old() {
    let mut cache = cache(1000);
    cache.write(Time::ZERO, MINE, FILE, 0, 100);
    let mut out = Vec::new();
    cache.write_back(Time::ZERO, |_| true, &mut out);
    assert!(out.is_empty(), "a tenth is allowed");
    cache.write(Time::ZERO, MINE, FILE, 100, 101);
    cache.write_back(Time::ZERO, |_| true, &mut out);
    assert_eq!(out.len(), 1, "101 adjacent pages are one piece");
    done(&mut cache, Time::ZERO, &out);
    cache.write(Time(1), MINE, FILE, 7, 8);
    let late = Time(1) + Span::from_s(30);
    out.clear();
    cache.write_back(Time(late.0 - 1), |_| true, &mut out);
    assert!(out.is_empty());
    cache.write_back(late, |_| true, &mut out);
    assert_eq!(out.len(), 1);
}

#[test]
fn writers_wait_while_a_fifth_is_dirty_or_being_written() {
    let mut cache = cache(1000);
    cache.write(Time::ZERO, MINE, FILE, 0, 201);
    assert!(cache.is_throttling(0));
    let mut out = Vec::new();
    cache.write_back(Time::ZERO, |_| true, &mut out);
    assert!(cache.is_throttling(0), "until it is written");
    done(&mut cache, Time::ZERO, &out);
    assert!(!cache.is_throttling(0));
    assert_eq!(cache.unclean(), 0);
}

#[test]
fn a_page_written_while_it_is_being_written_back_is_dirty_again() {
    let mut cache = cache(1000);
    cache.write(Time::ZERO, MINE, FILE, 0, 1);
    let mut out = Vec::new();
    assert_eq!(cache.sync(FILE, ME, &mut out), Synced { waits: 1, again: false });
    cache.write(Time(5), MINE, FILE, 0, 1);
    let mut more = Vec::new();
    assert_eq!(cache.sync(FILE, 8, &mut more), Synced { waits: 1, again: true }, "the write of before is under way");
    assert!(more.is_empty());
    assert_eq!(done(&mut cache, Time(9), &out), [ME, 8]);
    assert_eq!(cache.unclean(), 1);
    assert_eq!(cache.sync(FILE, 8, &mut more), Synced { waits: 1, again: false });
}

#[test]
fn a_page_that_is_read_ahead_cannot_be_written_over_before_it_came() {
    let mut cache = cache(1000);
    let mut out = Vec::new();
    cache.read(FILE, 0, 1, 8, ME, &mut out);
    assert_eq!(cache.wait_for_fetches(FILE, 4, 5, ME), 0, "it waits for that fetch already");
    assert_eq!(cache.wait_for_fetches(FILE, 4, 5, 9), 1);
    assert_eq!(cache.wait_for_fetches(FILE, 8, 9, 9), 0, "nobody fetches that one");
    assert_eq!(done(&mut cache, Time::ZERO, &out), [ME, 9]);
    cache.write(Time::ZERO, MINE, FILE, 4, 5);
    assert_eq!(cache.unclean(), 1);
}

#[test]
fn a_sync_waits_for_what_the_flusher_writes_already() {
    let mut cache = cache(1000);
    cache.write(Time::ZERO, MINE, FILE, 0, 150);
    cache.write(Time::ZERO, MINE, FileId(1), 0, 5);
    let mut flushed = Vec::new();
    let mut is_first = true;
    cache.write_back(Time::ZERO, |_| std::mem::take(&mut is_first), &mut flushed);
    cache.write(Time::ZERO, MINE, FILE, 500, 510);
    let mut out = Vec::new();
    assert_eq!(cache.sync(FILE, ME, &mut out).waits, 2);
    assert_eq!(out.len(), 1, "the other file is not concerned");
    assert!(done(&mut cache, Time(9), &out).contains(&ME));
    assert!(done(&mut cache, Time(9), &flushed).contains(&ME));
    assert_eq!(cache.unclean(), 5);
}

/// Of 1000 pages 100 may be dirty before the flusher writes, 200 before all writers wait, and 150 before those do
/// whose domain has more than its share.
#[test]
fn writers_of_a_domain_that_is_written_slowly_wait_first() {
    let mut cache = cache(1000);
    let other = Owner { writer: 9, domain: 1 };
    let mut out = Vec::new();
    for _ in 0..4 {
        cache.write(Time::ZERO, other, FileId(1), 0, 25);
        out.clear();
        assert_eq!(cache.sync(FileId(1), ME, &mut out).waits, 1);
        done(&mut cache, Time(1), &out);
    }
    cache.write(Time(2), MINE, FILE, 0, 140);
    assert!(!cache.is_throttling(0), "below the limit for all, everybody may go on");
    cache.write(Time(2), other, FileId(1), 0, 20);
    assert!(cache.is_throttling(0) && !cache.is_throttling(1), "domain 1 alone was written back of late");
    cache.write(Time(2), other, FileId(1), 20, 61);
    assert!(cache.is_throttling(0) && cache.is_throttling(1), "too many in all");
    let (mut refused, mut flushed) = (0, Vec::new());
    cache.write_back(
        Time(2),
        |domain| {
            refused += u32::from(domain == 0);
            domain == 1
        },
        &mut flushed,
    );
    assert!(refused > 0 && flushed.iter().all(|id| cache.transfer(*id).owner == other));
}

/// The control: one that writes to a file that is dirty already does not become its owner.
#[test]
fn a_file_belongs_to_whoever_made_it_dirty() {
    let mut cache = cache(1000);
    let other = Owner { writer: 9, domain: 1 };
    let owner_of_sync = |cache: &mut PageCache| {
        let mut out = Vec::new();
        cache.sync(FILE, ME, &mut out);
        let owner = cache.transfer(out[0]).owner;
        done(cache, Time(1), &out);
        owner
    };
    cache.write(Time::ZERO, MINE, FILE, 0, 5);
    cache.write(Time::ZERO, other, FILE, 5, 50);
    assert_eq!(owner_of_sync(&mut cache), MINE);
    cache.write(Time(2), other, FILE, 0, 5);
    assert_eq!(owner_of_sync(&mut cache), other, "it was clean in between");
}
