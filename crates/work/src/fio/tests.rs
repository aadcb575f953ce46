//! Typical job files and the resulting jobs.

use super::*;
use goodness_core::{IoClass, IoPriority, Seed, Span};
use std::collections::BTreeSet;

fn jobs(text: &str) -> Vec<FioJob> {
    read("t.fio", text, &Outside::NOTHING).expect("a job file")
}

fn job(options: &str) -> FioJob {
    jobs(&format!("[j]\n{options}")).remove(0)
}

fn refusal(options: &str) -> String {
    read("t.fio", &format!("[j]\n{options}"), &Outside::NOTHING).expect_err(options)
}

fn ios(options: &str, bytes: u64) -> Vec<FioIo> {
    let job = job(options);
    let sizes = vec![bytes; job.files.len()];
    FioStream::new(&job, &sizes, Seed(1)).expect("it fits").take(100_000).collect()
}

fn places(options: &str, bytes: u64) -> Vec<u64> {
    ios(options, bytes).iter().map(|io| io.offset).collect()
}

#[test]
fn globals_count_for_the_jobs_below_them_and_later_keys_win() {
    let jobs =
        jobs("[global]\nbs=8k\nioengine=libaio\niodepth=4\n[a]\nbs=4k\nbs=16k\n[global]\niodepth=8\n[b]\nname=other\n");
    assert_eq!(jobs.iter().map(|j| (j.name.as_str(), j.in_flight())).collect::<Vec<_>>(), [("a", 4), ("other", 8)]);
    assert_eq!(jobs[0].sizes, [const { Sizes::Fixed(16384) }; 3]);
    assert_eq!((jobs[1].engine, jobs[1].sizes[0].clone()), (Engine::Async, Sizes::Fixed(8192)));
}

#[test]
fn options_mean_what_they_mean_to_fio() {
    let job = job(
        "rw=randrw:4\nrwmixwrite=30\nbsrange=4k-16k,8k\nsize=25%\noffset=1m\nioengine=io_uring\niodepth=32\n\
                   iodepth_batch=8\niodepth_batch_complete_min=2\niodepth_batch_complete_max=16\niodepth_low=4\ndirect\n\
                   thinktime=5ms\nthinktime_spin=100\nthinktime_blocks=3\nrate=1m,512k\nrate_iops=100\nrate_process=poisson\n\
                   prio=2\nprioclass=1\nruntime=30\ntime_based=1\nramp_time=2s\nstartdelay=10ms\nfsync=32\nend_fsync=1\n\
                   filename=/dev/sda:/dev/sd\\:b\nrandseed=9\nallrandrepeat=1\nnorandommap\nsync=dsync\nloops=2\n",
    );
    assert_eq!(job.pattern, Pattern { direction: Direction::Mixed, random: true, number: 4 });
    assert_eq!((job.read_percent, job.in_flight(), job.batch), (70, 32, 8));
    assert_eq!(job.sizes, [Sizes::Range(4096, 16384), Sizes::Fixed(8192), Sizes::Fixed(8192)]);
    assert_eq!((job.size, job.offset), (Some(Amount::Percent(25)), Amount::Bytes(1 << 20)));
    assert_eq!((job.batch_complete, job.depth_low, job.direct), ((2, 16), 4, true));
    assert_eq!(job.think, Think { time: Span::from_ms(5), spin: Span::from_us(100), blocks: 3 });
    assert_eq!((job.rate, job.rate_iops), ([1 << 20, 1 << 19, 1 << 19], [100; 3]));
    assert_eq!(job.priority, Some(IoPriority { class: IoClass::RealTime, level: 2 }));
    assert_eq!((job.runtime, job.time_based, job.ramp_time), (Some(Span::from_s(30)), true, Span::from_s(2)));
    assert_eq!((job.start_delay, job.syncs.fsync, job.syncs.at_end), (Span::from_ms(10), 32, true));
    assert_eq!(job.files, ["/dev/sda", "/dev/sd:b"]);
    assert_eq!(job.chance, Chance { seed: Some(9), places_repeat: true, all_repeats: true });
    assert_eq!((job.no_map, job.durability, job.loops), (true, Durability::DataSync, 2));
}

#[test]
fn a_synchronous_engine_has_one_io_at_a_time() {
    assert_eq!(job("iodepth=32\n").in_flight(), 1);
    assert_eq!(job("iodepth=32\nioengine=libaio\n").in_flight(), 32);
}

#[test]
fn a_priority_without_class_is_best_effort_and_without_both_none() {
    assert_eq!(job("prio=3").priority, Some(IoPriority { class: IoClass::BestEffort, level: 3 }));
    assert_eq!(job("prioclass=3").priority, Some(IoPriority { class: IoClass::Idle, level: 0 }));
    assert_eq!(job("bs=4k").priority, None);
}

#[test]
fn files_get_their_names_from_job_clone_and_number() {
    let jobs = jobs("[j]\nnumjobs=2\nnrfiles=2\ndirectory=/mnt/\n");
    let files: Vec<&str> = jobs.iter().flat_map(|j| &j.files).map(String::as_str).collect();
    assert_eq!(files, ["/mnt/j.0.0", "/mnt/j.0.1", "/mnt/j.1.0", "/mnt/j.1.1"]);
}

#[test]
fn stonewalls_make_waves_and_group_reporting_joins_clones() {
    let jobs = jobs("[a]\nnumjobs=2\ngroup_reporting\n[b]\nstonewall\n[c]\nnumjobs=2\n[d]\nwait_for_previous\n");
    assert_eq!(
        jobs.iter().map(|j| (j.wave, j.group, j.clone)).collect::<Vec<_>>(),
        [(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 2, 0), (1, 3, 1), (2, 4, 0)]
    );
    assert_eq!(jobs.iter().map(|j| j.number).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn what_is_wrong_is_named_with_file_line_and_the_nearest() {
    assert_eq!(
        refusal("bs=4k\niodpeth=4"),
        "t.fio, line 3: there is no option \"iodpeth\"; the nearest is \"iodepth\""
    );
    assert!(refusal("zonemode=zbd").starts_with("t.fio, line 2: "));
    assert!(refusal("rw=randrwx").contains("the nearest is \"randrw\""));
    assert!(refusal("ioengine=libaoi").contains("the nearest is \"libaio\""));
    assert!(refusal("ioengine=rados").contains("not honoured"));
    assert!(refusal("bs").contains("has no value"));
    assert!(refusal("bs=0").contains("at least 1"));
    assert!(refusal("direct=2").contains("neither 0 nor 1"));
    assert!(refusal("bssplit=4k/60:8k/60").contains("add up to 120"));
    assert!(refusal("time_based").contains("needs a runtime"));
    assert!(refusal("numjobs=5000").contains("more than 4096"));
    assert!(refusal("flow=18446744073709551615").contains("more than 1000"));
    assert!(refusal("zonemode=strided").contains("needs a zonesize"));
    assert!(refusal("zonemode=none\nzonesize=4k").contains("contradicts"));
    assert!(refusal("zonesize=8k\nzonerange=4k").contains("zonerange is 4096"));
    assert!(refusal("ioscheduler=bfq").contains("--elevator"));
    assert!(refusal("iodepth=4\niodepth_low=8\nioengine=libaio").contains("iodepth_low"));
    assert_eq!(
        read("t.fio", "[global]\nbs=4k\n", &Outside::NOTHING).unwrap_err(),
        "t.fio: there is no job; write [NAME] and its options"
    );
}

#[test]
fn every_option_listed_as_honoured_is_known() {
    for key in coverage::KEYS.iter().filter(|k| k.coverage == coverage::Coverage::Honoured) {
        for name in [key.name].iter().chain(key.aliases) {
            let answer = read("t.fio", &format!("[j]\n{name}=?\n"), &Outside::NOTHING).err().unwrap_or_default();
            assert!(!answer.contains("listed as honoured and is not known"), "{answer}");
        }
    }
}

#[test]
fn a_sequential_job_goes_through_its_part_once() {
    assert_eq!(places("rw=write\nbs=4k\nsize=16k\noffset=8k", 1 << 20), [8192, 12288, 16384, 20480]);
    assert_eq!(places("rw=read\nbs=4k\nsize=10k", 1 << 20), [0, 4096]);
    assert_eq!(places("rw=read\nbs=4k", 12288), [0, 4096, 8192], "the whole disk");
    assert_eq!(places("rw=read\nbs=4k\nloops=2", 8192), [0, 4096, 0, 4096]);
    assert_eq!(places("rw=read:4k\nbs=4k", 16384), [0, 8192, 0, 8192], "every second block");
    assert_eq!(places("rw=read:-8k\nbs=4k\nnumber_ios=4", 16384), [0, 8192, 4096, 0]);
}

#[test]
fn a_sequential_job_leaves_gaps_between_zones_and_does_not_align() {
    for zones in
        ["zonesize=8k\nzonerange=16k", "zonesize=8k\nzoneskip=8k", "zonemode=strided\nzonesize=8k\nzoneskip=8k"]
    {
        assert_eq!(places(&format!("bs=4k\nsize=32k\nnumber_ios=4\n{zones}"), 1 << 20), [0, 4096, 16384, 20480]);
    }
    let huge = "zonesize=4k\nzonerange=16383p\nzoneskip=16383p";
    assert_eq!(places(&format!("bs=4k\nsize=8k\n{huge}"), 1 << 20), [0, 0]);
    assert_eq!(places("bs=4k\nsize=12k\nblockalign=8k", 1 << 20), [0, 4096, 8192]);
}

#[test]
fn a_share_of_the_size_is_one_of_the_files() {
    assert_eq!(ios("bs=4k\nfilesize=4m\nsize=50%", 1 << 30).len(), 512);
    assert_eq!(ios("bs=4k\nfilesize=64k\nsize=50%\nnrfiles=2", 1 << 30).len(), 16);
    assert_eq!(places("bs=4k\nfilesize=16k\noffset=50%", 1 << 30), [8192, 12288], "so is the offset");
    assert_eq!(places("bs=4k\nfilesize=16k\noffset=12k\nsize=8k", 1 << 30), [12288], "and there the file ends");
    assert_eq!(places("bs=4k\nsize=8k\noffset=50%", 1 << 20), [524_288, 528_384], "without a file's size: the disk");
}

#[test]
fn a_job_of_an_included_file_has_its_place_there() {
    let outside = Outside { variable: &|_| None, file: &|_| Ok("[b]\nsize=1000t\n".into()) };
    let text = "[a]\nsize=1m\n\n\ninclude inc/b.fio\n";
    let wrong = FioWork::read("t.fio", text, &Options::default(), &outside).expect_err("too large");
    assert!(wrong.starts_with("inc/b.fio, line 1: file b.0.0 ends at"), "{wrong}");
}

#[test]
fn a_note_names_what_would_end_a_job_early() {
    let notes = |options: &str| {
        let text = format!("[a]\nsize=1m\n{options}\n[b]\nsize=1m\nratemin=1m\nss=iops:10%\n");
        FioWork::read("t.fio", &text, &Options::default(), &Outside::NOTHING).expect("two jobs").notes.join("\n")
    };
    assert!(notes("ratemin=2m").contains("end a job early for rate_min, steadystate; here"), "{}", notes(""));
    assert!(notes("max_latency=1").contains("early for max_latency, rate_min, steadystate; here"));
}

#[test]
fn a_note_names_a_depth_without_effect_and_no_other() {
    let of_depth = |options: &str| {
        let text = format!("[a]\nsize=1m\n{options}\n");
        let mut notes = FioWork::read("t.fio", &text, &Options::default(), &Outside::NOTHING).expect("a job").notes;
        notes.retain(|note| note.contains("iodepth"));
        notes
    };
    assert_eq!(of_depth("iodepth=2"), ["job a: iodepth=2 has no effect, its engine waits for each I/O"]);
    assert_eq!(of_depth("iodepth=1").len() + of_depth("iodepth=2\nioengine=libaio").len(), 0);
}

#[test]
fn no_random_place_repeats_before_all_were_used() {
    let drawn = places("rw=randread\nbs=4k\nloops=2", 4096 * 1000);
    assert_eq!(drawn.len(), 2000);
    for round in drawn.chunks(1000) {
        let all: BTreeSet<u64> = round.iter().copied().collect();
        assert_eq!(all.len(), 1000);
        assert!(all.iter().all(|at| at % 4096 == 0 && *at < 4096 * 1000));
    }
    assert_ne!(drawn[..1000], drawn[1000..]);
    assert!(!drawn[..1000].is_sorted());
    let free: BTreeSet<u64> = places("rw=randread\nbs=4k\nnorandommap", 4096 * 1000).into_iter().collect();
    assert!((600..670).contains(&free.len()), "1 - 1/e of 1000 places: {}", free.len());
}

#[test]
fn sizes_that_vary_still_cover_each_block_once() {
    for sizes in ["bsrange=4k-64k", "bssplit=4k/50:32k/50"] {
        let ios = ios(&format!("rw=randwrite\n{sizes}"), 1 << 22);
        let mut covered: Vec<(u64, u64)> = ios.iter().map(|io| (io.offset, io.offset + io.bytes)).collect();
        covered.sort_unstable();
        assert!(covered.windows(2).all(|w| w[0].1 <= w[1].0), "{sizes}");
        assert_eq!(ios.iter().map(|io| io.bytes).sum::<u64>(), 1 << 22, "{sizes}");
        assert!(ios.iter().map(|io| io.bytes).collect::<BTreeSet<u64>>().len() > 1, "{sizes}");
    }
}

#[test]
fn splits_and_mixes_keep_their_shares() {
    let ios = ios("rw=randrw\nrwmixread=70\nbssplit=4k/20:8k\nnorandommap\nnumber_ios=10000", 1 << 30);
    let count = |is: fn(&FioIo) -> bool| ios.iter().filter(|io| is(io)).count();
    assert!((6_850..7_150).contains(&count(|io| io.op == FioOp::Read)));
    assert!((1_850..2_150).contains(&count(|io| io.bytes == 4096)));
}

#[test]
fn a_run_of_ios_follows_each_random_place() {
    let drawn = places("rw=randread:4\nbs=4k\nnorandommap\nnumber_ios=400", 1 << 34);
    let follows = drawn.windows(2).filter(|w| w[1] == w[0] + 4096).count();
    assert_eq!(follows, 300);
}

#[test]
fn syncs_follow_their_writes_and_close_the_job() {
    let ops: Vec<FioOp> =
        ios("rw=write\nbs=4k\nsize=16k\nfsync=2\nend_fsync=1", 1 << 20).iter().map(|io| io.op).collect();
    use FioOp::{Sync, Write};
    assert_eq!(ops, [Write, Write, Sync, Write, Write, Sync, Sync]);
}

#[test]
fn a_trimwrite_writes_what_it_trimmed() {
    let ios = ios("rw=randtrimwrite\nbs=4k", 1 << 14);
    assert_eq!(ios.len(), 8);
    for pair in ios.chunks(2) {
        assert_eq!((pair[0].op, pair[1].op), (FioOp::Trim, FioOp::Write));
        assert_eq!(pair[0].offset, pair[1].offset);
    }
}

#[test]
fn rates_space_io_evenly_or_with_exponential_gaps() {
    let due = |ios: &[FioIo]| ios.iter().map(|io| io.due.expect("a rate")).collect::<Vec<Span>>();
    let linear = ios("rw=read\nbs=4k\nrate_iops=1000\nnumber_ios=4", 1 << 20);
    assert_eq!(due(&linear), [0, 1, 2, 3].map(Span::from_ms));
    let bytes = ios("rw=read\nbs=4k\nrate=4m\nnumber_ios=3", 1 << 20);
    assert_eq!(due(&bytes), [0, 976_562, 1_953_125].map(Span));
    let poisson =
        due(&ios("rw=randread\nbs=4k\nrate_iops=1000\nrate_process=poisson\nnumber_ios=20000\nnorandommap", 1 << 30));
    assert!(poisson.is_sorted());
    let mean = poisson.last().expect("some").ns() / 19_999;
    assert!((980_000..1_020_000).contains(&mean), "{mean}");
    let short = poisson.windows(2).filter(|w| w[1] - w[0] < Span::from_ms(1)).count();
    assert!((12_400..12_900).contains(&short), "1 - 1/e of the gaps are shorter than the mean: {short}");
    assert_eq!(ios("rw=read\nnumber_ios=1", 1 << 20)[0].due, None);
}

#[test]
fn pauses_come_after_so_many_ios() {
    let pauses: Vec<bool> =
        ios("rw=read\nthinktime=1ms\nthinktime_blocks=2\nthinktime_spin=200us\nnumber_ios=4", 1 << 20)
            .iter()
            .map(|io| io.pause == Some(Pause { spin: Span::from_us(200), sleep: Span::from_us(800) }))
            .collect();
    assert_eq!(pauses, [false, true, false, true]);
}

#[test]
fn files_take_turns_and_the_short_one_is_not_begun_again_before_the_long_one_ends() {
    let job = job("rw=read\nbs=4k\nfilename=a:b");
    let stream = FioStream::new(&job, &[4096, 12288], Seed(1)).expect("it fits");
    let all: Vec<(usize, u64)> = stream.map(|io| (io.file, io.offset)).collect();
    assert_eq!(all, [(0, 0), (1, 0), (1, 4096), (1, 8192)]);
    let half = places("rw=read\nbs=4k\nfilename=a:b\nsize=16k", 1 << 20);
    assert_eq!(half, [0, 0, 4096, 4096], "files share the size");
}

#[test]
fn clones_begin_further_on_and_draw_other_places() {
    let two = jobs("[j]\nnumjobs=2\nrw=randread\nsize=1m\noffset_increment=2m\nfilename=d\n");
    let first = |job: &FioJob| FioStream::new(job, &[1 << 30], Seed(1)).expect("it fits").map(|io| io.offset);
    let (a, b): (Vec<u64>, Vec<u64>) = (first(&two[0]).collect(), first(&two[1]).collect());
    assert!(a.iter().all(|at| *at < 1 << 20) && b.iter().all(|at| (2 << 20..3 << 20).contains(at)));
    assert_ne!(a, b.iter().map(|at| at - (2 << 20)).collect::<Vec<_>>());
}

#[test]
fn chance_repeats_as_the_job_says() {
    let draw = |options: &str, seed: u64| {
        let job = job(&format!("rw=randrw\nbs=4k\nnumber_ios=200\n{options}"));
        let ios: Vec<FioIo> = FioStream::new(&job, &[1 << 30], Seed(seed)).expect("it fits").collect();
        (ios.iter().map(|io| io.offset).collect::<Vec<_>>(), ios.iter().map(|io| io.op).collect::<Vec<_>>())
    };
    let (one, other) = (draw("", 1), draw("", 2));
    assert_eq!(one.0, other.0, "places repeat");
    assert_ne!(one.1, other.1, "directions do not");
    assert_eq!(draw("", 1), draw("", 1));
    assert_ne!(draw("randrepeat=0", 1).0, draw("randrepeat=0", 2).0);
    assert_eq!(draw("allrandrepeat=1", 1), draw("allrandrepeat=1", 2));
    assert_eq!(draw("randseed=5", 1), draw("randseed=5", 2));
    assert_ne!(draw("randseed=5", 1), draw("randseed=6", 1));
}

#[test]
fn a_time_based_job_has_no_end_of_its_own() {
    assert_eq!(ios("rw=randread\nbs=4k\ntime_based\nruntime=1", 1 << 14).len(), 100_000);
}

#[test]
fn a_job_that_does_not_fit_is_refused() {
    let refused = |options: &str, bytes: u64| FioStream::new(&job(options), &[bytes], Seed(1)).map(|_| ()).unwrap_err();
    assert!(refused("bs=4k", 4095).contains("hold no block of 4096"));
    assert!(refused("bs=4k\noffset=1m", 1 << 20).contains("offset"));
    assert!(refused("bs=1\nrw=randread", u64::MAX).contains("norandommap"));
}

/// The jobs of a section whose logs are `one` and `two`.
fn replaying(options: &str) -> Result<Vec<FioJob>, String> {
    let file = |name: &str| match name {
        "one" => {
            Ok("fio version 3 iolog\n0 a add\n10 a read 4096 512\n30 b sync 0 0\n40 b write 65537 9\n".to_string())
        }
        "synced" => Ok("fio version 3 iolog\n0 a write 0 512\n10 a sync 0 0\n".to_string()),
        "two" => Ok("fio version 2 iolog\na read 0 4096\na wait 200 0\na trim 0 4096\n".to_string()),
        _ => Err(format!("cannot read {name}")),
    };
    read("t.fio", &format!("[j]\n{options}"), &Outside { variable: &|_| None, file: &file })
}

/// The I/O of the first of these jobs: operation, file, offset, bytes, earliest time in µs.
fn replayed(options: &str) -> Vec<(FioOp, usize, u64, u64, Option<u64>)> {
    let job = replaying(options).expect(options).remove(0);
    let stream = FioStream::new(&job, &vec![1 << 30; job.files.len()], Seed(1)).expect("it fits");
    stream.map(|io| (io.op, io.file, io.offset, io.bytes, io.due.map(|due| due.0 / 1000))).collect()
}

#[test]
fn a_log_takes_the_place_of_what_the_job_says() {
    let one = [
        (FioOp::Read, 0, 4096, 512, Some(10)),
        (FioOp::Sync, 1, 0, 0, Some(30)),
        (FioOp::Write, 1, 65537, 9, Some(40)),
    ];
    assert_eq!(replayed("read_iolog=one"), one);
    let all = "rw=randwrite\nbs=8k\nsize=1m\nnumber_ios=1\nloops=3\nfsync=1\nrate_iops=9\nfilename=x\n";
    assert_eq!(replayed(&format!("{all}read_iolog=one")), one);
    let synced = replayed("read_iolog=one\nend_fsync=1");
    assert_eq!(synced[3..], [(FioOp::Sync, 0, 0, 0, None), (FioOp::Sync, 1, 0, 0, None)]);
    assert_eq!(replayed("read_iolog=two\nend_fsync=1").len(), 2, "it writes nothing");
    assert_eq!(replayed("read_iolog=synced\nend_fsync=1").len(), 2, "its last I/O is a sync");
    let job = &replaying("read_iolog=one").expect("a job")[0];
    assert_eq!(
        (&job.files[..], &job.replay.as_ref().expect("a log").ends[..]),
        (&["a".into(), "b".into()][..], &[4608, 65546][..])
    );
    let times: Vec<Option<u64>> = replayed("read_iolog=two").iter().map(|io| io.4).collect();
    assert_eq!(times, [Some(0), Some(200)]);
    let paused = replaying("read_iolog=one\nthinktime=1ms").expect("a job").remove(0);
    let pauses = FioStream::new(&paused, &[1 << 30; 2], Seed(1)).expect("it fits").filter(|io| io.pause.is_some());
    assert_eq!(pauses.count(), 2);
}

#[test]
fn options_about_a_log_move_its_ios() {
    let with = |option: &str| replayed(&format!("read_iolog=one\n{option}"));
    assert!(with("replay_no_stall=1").iter().all(|io| io.4.is_none()));
    assert_eq!(with("replay_time_scale=50")[2].4, Some(80));
    assert_eq!(with("replay_redirect=c").iter().map(|io| io.1).collect::<Vec<_>>(), [0, 0, 0]);
    let places = with("replay_scale=2\nreplay_align=4k");
    assert_eq!(places.iter().map(|io| io.2).collect::<Vec<_>>(), [0, 0, 32768]);
    assert!(replaying("read_iolog=one\nreplay_align=5").expect_err("5").contains("no power of two"));
    assert_eq!(with("replay_scale=0"), replayed("read_iolog=one"));
    assert!(replaying("read_iolog=one\nreplay_time_scale=0").expect_err("0").contains("0 is no speed"));
}

#[test]
fn each_clone_has_its_log_and_a_missing_one_is_named() {
    let jobs = replaying("read_iolog=one:two\nnumjobs=3").expect("three jobs");
    let counts: Vec<usize> = jobs.iter().map(|job| job.replay.as_ref().expect("a log").ios.len()).collect();
    assert_eq!(counts, [3, 2, 3]);
    assert_eq!(replaying("read_iolog=no").expect_err("none"), "t.fio, line 1: read_iolog: cannot read no");
    for none in ["read_iolog", "read_iolog=:", "read_iolog=one:"] {
        assert!(replaying(none).expect_err(none).contains("name a file"), "{none}");
    }
    let verified = replaying("read_iolog=one\nrw=write\nverify=md5").expect_err("verify");
    assert!(verified.contains("verify is not honoured with read_iolog"), "{verified}");
    let long = "fio version 3 iolog\n0 a read 0 4096\n90000000000 a read 4096 4096\n";
    let file = |_: &str| Ok(long.to_string());
    let outside = Outside { variable: &|_| None, file: &file };
    let refused = read("t.fio", "[j]\nread_iolog=l", &outside).expect_err("more than a day");
    assert!(refused.contains("the log lasts 90000s, and a run 86400s at most"), "{refused}");
    assert!(read("t.fio", "[j]\nread_iolog=l\nreplay_time_scale=1000", &outside).is_ok());
}

#[test]
fn a_log_beyond_the_disk_is_refused() {
    let job = replaying("read_iolog=one").expect("a job").remove(0);
    let refused = FioStream::new(&job, &[1 << 30, 512], Seed(1)).expect_err("too small");
    assert!(refused.contains("its log needs 65546 bytes of b, which has 512"), "{refused}");
}

#[test]
fn jobs_that_keep_the_times_of_a_log_are_told_apart_by_latency() {
    let file = |_: &str| Ok("fio version 3 iolog\n10 a read 4096 512\n90 a read 0 512\n".to_string());
    let outside = Outside { variable: &|_| None, file: &file };
    let ranked = |options: &str| {
        let text = format!("[j]\nread_iolog=l\n{options}");
        FioWork::read("t.fio", &text, &Options::default(), &outside).expect("work").ranked_by()
    };
    assert_eq!((ranked(""), ranked("replay_no_stall=1")), (Some("io_latency_p99"), None));
}
