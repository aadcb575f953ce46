//! The flash model against the checkable numbers of `specs/io-schedulers.md` section 12.

mod rig;

use goodness_core::{Device, Operation, Request, RequestId, Rng, Seed, Span, Time};
use goodness_device::Flash;
use goodness_device::flash::{Settings, Start, Stripe};
use rig::{Record, closed_loop, request};

/// 256 MiB on 4 channels of 2 LUNs, with flash times that dominate all others.
fn small() -> Settings {
    Settings {
        sectors: 1 << 19,
        channels: 4,
        luns: 2,
        planes: 1,
        page: 4096,
        pages_per_block: 32,
        over_provision: 15,
        max_iops: 0,
        depth: 1024,
        channel_rate: 100_000,
        interface_rate: 100_000,
        command: Span::ZERO,
        command_large: Span::ZERO,
        write_command: Span::ZERO,
        ..Settings::ssd()
    }
}

fn flash(settings: &Settings) -> Flash {
    Flash::new(settings, Seed(1)).unwrap()
}

fn page(rng: &mut Rng, settings: &Settings) -> u64 {
    rng.below(settings.sectors / 8) * 8
}

fn one(device: &mut Flash, at: Time, what: Request) -> Span {
    let records = closed_loop(device, at, 1, |number| (number == 0).then_some(what));
    records[0].latency()
}

/// Runs `count` random 4 KiB commands at queue depth `depth`, `writes` percent of them writes.
fn random(device: &mut Flash, settings: &Settings, depth: u32, count: u64, writes: u64) -> Vec<Record> {
    let mut rng = Seed(7).rng();
    closed_loop(device, Time::ZERO, depth, |number| {
        let op = if rng.below(100) < writes { Operation::Write } else { Operation::Read };
        (number < count).then(|| request(op, page(&mut rng, settings), 8))
    })
}

fn percentile(records: &[Record], per_mille: usize) -> Span {
    let mut latencies: Vec<Span> = records.iter().filter(|r| r.request.is_read()).map(Record::latency).collect();
    latencies.sort_unstable();
    latencies[(latencies.len() - 1) * per_mille / 1000]
}

// T-SSD-1
#[test]
fn a_lone_4_kib_read_takes_firmware_sensing_and_transfer_to_the_nanosecond() {
    let settings = Settings { sectors: 1 << 22, over_provision: 28, pages_per_block: 32, ..Settings::nvme() };
    let mut drive = flash(&settings);
    // 21.5 us of firmware, 4096 bytes at 800 and at 3360 MB/s, and the two kinds of page: consecutive rows of a LUN.
    let transfers = 4096 * 1000 / 800 + (4096 * 1000u64).div_ceil(3360);
    let luns = 16;
    let row_sectors = 64;
    let lower = one(&mut drive, Time(5), request(Operation::Read, 0, 8));
    let upper = one(&mut drive, Time(1_000_000), request(Operation::Read, luns * row_sectors, 8));
    assert_eq!(lower, Span(21_500 + 29_760 + transfers));
    assert_eq!(upper, Span(21_500 + 41_760 + transfers));

    let settings = Settings { sectors: 1 << 22, over_provision: 28, pages_per_block: 32, ..Settings::ssd() };
    let lone = one(&mut flash(&settings), Time(0), request(Operation::Read, 800, 8));
    assert_eq!(lone, Span(10_000 + 75_000 + (4096 * 1000u64).div_ceil(300) + (4096 * 1000u64).div_ceil(550)));
}

// T-SSD-2
#[test]
fn reads_at_once_are_sensed_by_the_expected_number_of_distinct_luns() {
    let settings = small();
    let mut rng = Seed(3).rng();
    for depth in [1u32, 2, 4, 8, 16, 32] {
        let mut drive = flash(&settings);
        let (mut first, mut done, mut now) = (0, Vec::new(), Time::ZERO);
        let rounds = 2000;
        for _ in 0..rounds {
            let begun = now;
            for slot in 0..depth {
                drive.start(now, RequestId(slot), &request(Operation::Read, page(&mut rng, &settings), 8));
            }
            while drive.next_event() != Time::NEVER {
                now = drive.next_event();
                drive.advance(now, &mut done);
                // Those of the first round of sensing are over before a second can be.
                first += if now - begun < Span::from_us(150) { done.len() } else { 0 };
                done.clear();
            }
        }
        let luns = 8.0f64;
        let expected = luns * (1.0 - (1.0 - 1.0 / luns).powi(depth as i32));
        let mean = first as f64 / f64::from(rounds);
        assert!((mean / expected - 1.0).abs() < 0.02, "depth {depth}: {mean} LUNs, expected {expected}");
    }
}

// T-SSD-2
#[test]
fn throughput_of_random_reads_rises_with_depth_like_the_number_of_distinct_busy_luns() {
    let settings = small();
    let rate = |depth| {
        let records = random(&mut flash(&settings), &settings, depth, 20_000, 0);
        20_000.0 / records.last().unwrap().done.0 as f64
    };
    let alone = rate(1);
    for depth in [2, 4, 8, 16, 32] {
        let expected = 8.0 * (1.0 - (7.0f64 / 8.0).powi(depth as i32));
        let ratio = rate(depth) / alone;
        // Requests left in a queue stay with their LUN, so a steady stream uses somewhat fewer LUNs than new draws.
        assert!((0.82..1.02).contains(&(ratio / expected)), "depth {depth}: {ratio}, expected {expected}");
    }
}

/// Steady-state write amplification of uniform random writes, with forced collection only.
fn amplification(over_provision: u64) -> f64 {
    let settings =
        Settings { over_provision, sectors: 1 << 20, start: Start::Aged, collect_background: 0, buffer: 64, ..small() };
    let mut drive = flash(&settings);
    let pages = settings.sectors / 8;
    random(&mut drive, &settings, 32, 2 * pages, 100);
    let before = drive.wear();
    random(&mut drive, &settings, 32, pages, 100);
    drive.wear().since(&before).amplification() as f64 / 1000.0
}

/// Write amplification of cleaning in order of writing: a / (a + W(-a e^-a)) with a = 1 + spare and Lambert's W
/// (Desnoyers 2012). Greedy cleaning is never worse, and better with fewer pages per block.
fn cleaning_in_order(over_provision: u64) -> f64 {
    let a = 1.0 + over_provision as f64 / 100.0;
    let target = -a * (-a).exp();
    let (mut low, mut high) = (-1.0f64, 0.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if middle * middle.exp() < target { low = middle } else { high = middle }
    }
    a / (a + low)
}

// T-SSD-3
#[test]
fn write_amplification_of_random_writes_grows_as_over_provisioning_falls() {
    let mut last = 1.0;
    for over_provision in [50, 28, 15, 7] {
        let (measured, bound) = (amplification(over_provision), cleaning_in_order(over_provision));
        assert!(measured > last, "{over_provision} %: {measured} after {last}");
        assert!((0.7..1.0).contains(&(measured / bound)), "{over_provision} %: {measured}, in order {bound}");
        last = measured;
    }
}

#[test]
fn an_aged_drive_amplifies_from_the_first_write_on_as_it_does_later() {
    let settings =
        Settings { sectors: 1 << 20, start: Start::Aged, collect_background: 0, over_provision: 28, ..small() };
    let mut drive = flash(&settings);
    let pages = settings.sectors / 8;
    random(&mut drive, &settings, 32, pages / 10, 100);
    let first = drive.wear().amplification();
    random(&mut drive, &settings, 32, 3 * pages, 100);
    let before = drive.wear();
    random(&mut drive, &settings, 32, pages / 2, 100);
    let later = drive.wear().since(&before).amplification();
    assert!(first.abs_diff(later) < later / 5, "{first} and {later} thousandths");
}

#[test]
fn a_write_of_a_part_of_a_page_reads_the_rest_first() {
    let settings = Settings { start: Start::Full, collect_background: 0, ..small() };
    // The mean of reads beside as many writes of that many sectors.
    let mean = |sectors: u32| {
        let mut rng = Seed(7).rng();
        let records = closed_loop(&mut flash(&settings), Time::ZERO, 8, |number| {
            let (op, sectors) = if number % 2 == 0 { (Operation::Write, sectors) } else { (Operation::Read, 8) };
            (number < 2000).then(|| request(op, page(&mut rng, &settings), sectors))
        });
        let reads = records.iter().filter(|it| it.request.is_read());
        reads.clone().map(|it| it.latency().0).sum::<u64>() / reads.count() as u64
    };
    let (whole, part) = (mean(8), mean(1));
    assert!(part > whole + whole / 20, "{part} beside parts, {whole} beside whole pages");
}

// T-SSD-3
#[test]
fn overwriting_in_order_finds_blocks_without_valid_pages_and_amplifies_nothing() {
    let settings = small();
    let mut drive = flash(&settings);
    let pages = settings.sectors / 8;
    closed_loop(&mut drive, Time::ZERO, 8, |n| (n < 3 * pages).then(|| request(Operation::Write, n % pages * 8, 8)));
    let wear = drive.wear();
    assert_eq!(wear.host, 3 * pages);
    assert!(wear.erased > 2 * pages / 32, "{wear:?}");
    assert!((995..=1005).contains(&wear.amplification()), "{wear:?}");
}

/// Reads among random writes at a low load; their latencies show the flash operations in progress.
fn mixed(suspend: bool) -> Vec<Record> {
    let settings = Settings { suspend, early_completion: false, start: Start::Half, ..small() };
    random(&mut flash(&settings), &settings, 2, 20_000, 50)
}

// T-SSD-4
#[test]
fn reads_among_writes_wait_for_programs_unless_these_are_interrupted() {
    let settings = small();
    let without = percentile(&mixed(false), 990);
    let with = percentile(&mixed(true), 990);
    assert!(without >= settings.program, "{without}");
    let transfers = Span(2 * 4096 * 1000 / 100_000 + 2);
    assert!(with <= settings.suspend_program + settings.read + transfers, "{with}");
}

#[test]
fn an_interrupted_program_goes_on_for_what_was_left_of_it() {
    let settings = Settings { suspend: true, early_completion: false, channels: 1, luns: 1, ..small() };
    let mut drive = flash(&settings);
    let mut done = Vec::new();
    let mut log = Vec::new();
    drive.start(Time(0), RequestId(0), &request(Operation::Write, 0, 8));
    while drive.next_event() != Time::NEVER {
        let now = drive.next_event();
        if log.is_empty() && now > Time(300_000) {
            drive.start(Time(300_000), RequestId(1), &request(Operation::Read, 80, 8));
            log.push((Time(300_000), RequestId(1)));
            continue;
        }
        drive.advance(now, &mut done);
        log.extend(done.drain(..).map(|id| (now, id)));
    }
    // 41 ns on each of interface and channel. The read waits 100 us for the program to pause and is sensed for 75 us.
    let read = 300_000 + 100_000 + 75_000 + 2 * 41;
    assert_eq!(log[1], (Time(read), RequestId(1)));
    assert_eq!(log[2], (Time(2 * 41 + 750_000 + 175_000), RequestId(0)));
}

// T-SSD-5
#[test]
fn the_same_seed_gives_the_same_completions_and_another_one_others() {
    let settings = Settings { jitter: 20, ..small() };
    let log = |seed| {
        let mut drive = Flash::new(&settings, Seed(seed)).unwrap();
        random(&mut drive, &settings, 16, 20_000, 30)
    };
    assert_eq!(log(1), log(1));
    assert_ne!(log(1), log(2));
}

#[test]
fn a_flush_waits_for_the_buffer_and_a_durable_write_for_itself() {
    let settings = small();
    let mut drive = flash(&settings);
    assert!(one(&mut drive, Time(0), request(Operation::Write, 0, 8)) < Span::from_us(1));
    let flush = one(&mut drive, Time(10_000), request(Operation::Flush, 0, 0));
    assert!((Span::from_us(735)..Span::from_us(760)).contains(&flush), "{flush}");
    assert_eq!(one(&mut drive, Time(10_000_000), request(Operation::Flush, 0, 0)), Span::ZERO);
    let durable = Request { durable: true, ..request(Operation::Write, 0, 8) };
    assert!(one(&mut drive, Time(20_000_000), durable) > Span::from_us(750));

    let kept = Settings { volatile: false, ..settings };
    assert!(one(&mut flash(&kept), Time(0), durable) < Span::from_us(1));
}

#[test]
fn what_was_discarded_is_read_without_flash_and_spares_collection_its_copy() {
    let settings = small();
    let mut drive = flash(&settings);
    let read = request(Operation::Read, 800, 8);
    assert!(one(&mut drive, Time(0), read) > Span::from_us(75));
    one(&mut drive, Time(1_000_000), request(Operation::Discard, 800, 8));
    assert!(one(&mut drive, Time(2_000_000), read) < Span::from_us(1));

    let fill = |discards: bool| {
        let mut drive = flash(&settings);
        if discards {
            let half = settings.sectors as u32 / 2;
            one(&mut drive, Time(0), request(Operation::Discard, u64::from(half), half));
        }
        let mut rng = Seed(5).rng();
        let pages = settings.sectors / 8;
        let half = |rng: &mut Rng| page(rng, &settings) / 16 * 8;
        closed_loop(&mut drive, Time::ZERO, 16, |n| {
            (n < 2 * pages).then(|| request(Operation::Write, half(&mut rng), 8))
        });
        drive.wear().amplification()
    };
    let (with, without) = (fill(true), fill(false));
    assert!(with < 1200 && without > with + 200, "{with} {without}");
}

#[test]
fn the_striping_order_decides_whether_neighbours_share_a_channel() {
    // One slow channel for two LUNs: two neighbouring rows come one after the other over it, or at once over two.
    let base = Settings { channel_rate: 10, ..small() };
    let two_rows =
        |stripe| one(&mut flash(&Settings { stripe, ..base.clone() }), Time(0), request(Operation::Read, 0, 16));
    let row = 4096 * 1000 / 10;
    assert_eq!(two_rows(Stripe::Lun) - two_rows(Stripe::Channel), Span(row));
}

#[test]
fn one_hardware_queue_does_not_wait_behind_the_backlog_of_another() {
    let settings = Settings { queues: 2, max_iops: 10_000, ..small() };
    let mut drive = flash(&settings);
    for slot in 0..100 {
        drive.start(Time(0), RequestId(slot), &request(Operation::Read, u64::from(slot) * 8, 8));
    }
    let other = Request { queue: goodness_core::HwQueue(1), ..request(Operation::Read, 4000, 8) };
    drive.start(Time(0), RequestId(100), &other);
    let mut done = Vec::new();
    while !done.contains(&RequestId(100)) {
        drive.advance(drive.next_event(), &mut done);
    }
    assert!(done.len() <= 3, "{} completed before", done.len());
}

#[test]
fn the_controller_begins_no_more_commands_a_second_than_it_may() {
    let settings = Settings { max_iops: 50_000, ..small() };
    let records = random(&mut flash(&settings), &settings, 64, 10_000, 0);
    let rate = 10_000 * 1_000_000_000 / records.last().unwrap().done.0;
    assert!((49_000..=50_100).contains(&rate), "{rate}");
}

#[test]
fn writes_beyond_the_buffer_come_at_the_rate_of_programming() {
    let settings = Settings { start: Start::Empty, ..small() };
    let mut drive = flash(&settings);
    let pages = settings.sectors / 8;
    let records = closed_loop(&mut drive, Time::ZERO, 32, |n| (n < pages).then(|| request(Operation::Write, n * 8, 8)));
    let at_once = records.iter().take_while(|r| r.latency() < Span::from_us(50)).count();
    assert!((256..400).contains(&at_once), "{at_once} writes fit the buffer of 256 pages");
    // 8 LUNs program 8 pages in 750 us, and a little for the transfers.
    let expected = pages / 8 * 750_000;
    let took = records.last().unwrap().done.0;
    assert!((expected * 99 / 100..expected * 102 / 100).contains(&took), "{took} {expected}");
}

#[test]
fn a_drive_that_is_too_small_or_does_not_divide_says_so() {
    let error = |settings: Settings| Flash::new(&settings, Seed(1)).err().unwrap();
    assert!(error(Settings { sectors: 1 << 12, ..small() }).contains("over_provision"));
    assert!(error(Settings { page: 6000, ..small() }).contains("mapping_unit"));
    assert!(error(Settings { buffer: 1, ..small() }).contains("buffer"));
    assert!(error(Settings { sectors: 1 << 42, ..Settings::ssd() }).contains("fold"));
}

#[test]
fn a_folded_drive_keeps_its_capacity_and_simulates_a_part_of_it() {
    let settings = Settings { fold: 4, sectors: 1 << 21, ..small() };
    let mut drive = flash(&settings);
    assert_eq!(drive.facts().sectors, 1 << 21);
    one(&mut drive, Time(0), request(Operation::Discard, 0, 8));
    let read = one(&mut drive, Time(1_000_000), request(Operation::Read, 1 << 19, 8));
    assert!(read < Span::from_us(1), "sector 2^19 falls on sector 0: {read}");
}

#[test]
fn forced_collection_takes_turns_with_reads_that_never_pause() {
    let settings = Settings { channels: 1, luns: 1, sectors: 1 << 16, ..small() };
    let mut drive = flash(&settings);
    let mut rng = Seed(2).rng();
    // Commands 0..8 read for ever, 8..16 write for ever.
    let mut what = |id: u32| {
        let op = if id < 8 { Operation::Read } else { Operation::Write };
        request(op, page(&mut rng, &settings), 8)
    };
    for id in 0..16 {
        drive.start(Time::ZERO, RequestId(id), &what(id));
    }
    let (mut done, mut now, mut writes) = (Vec::new(), Time::ZERO, 0);
    while now < Time(60_000_000_000) {
        now = drive.next_event();
        drive.advance(now, &mut done);
        for id in done.drain(..) {
            writes += u64::from(id.0 >= 8);
            drive.start(now, id, &what(id.0));
        }
    }
    // The buffer and all flash beyond the capacity hold 256 and 15 % of 8192 pages: more writes need collection.
    assert!(writes > 2 * (256 + 8192 * 15 / 100), "{writes} writes in a minute");
    assert!(drive.wear().erased > 50, "{:?}", drive.wear());
}
