//! The disks of a trial: devices by name behind the elevator that is being judged.

use crate::spec::ElevatorSpec;
use goodness_block::{Disk, QueueOptions, Storage, Throttle, by_name_around, throttles_write_back};
use goodness_core::{Device, DiskId, DiskSpec, ElevatorAbout, Groups, Machine, MadeElevator, Seed, Workload};
use goodness_device::{Dilated, Recorded};

/// A disk made from a trace begins with one of so many of its first service times: that makes the runs differ, and
/// keeps the disk in step with its submitters, whose machine was slow when it was. A choice.
const BEGIN: u32 = 32;
/// Default elevator: dispatches requests in FIFO order.
const DEFAULT: &str = "none";

/// Makes the elevator around the one of a disk.
pub type AroundElevator<'a> = dyn Fn(DiskId, MadeElevator) -> MadeElevator + 'a;

/// Builds the disks that `work` needs on `machine`; those without a fixed elevator get `judged`. `around` is put around
/// each, if there is one. `None` if it needs none.
///
/// # Errors
/// An invalid device or elevator.
pub fn build(
    work: &Workload,
    judged: Option<&ElevatorSpec>,
    (machine, seed): (&Machine, Seed),
    around: Option<&AroundElevator>,
) -> Result<Option<Storage>, String> {
    let spec = &work.storage;
    if spec.disks.is_empty() {
        return Ok(None);
    }
    let judged = judged.map(ToString::to_string);
    let disk = |(index, disk): (usize, &DiskSpec)| {
        let id = DiskId(index as u16);
        one((id, disk), name_of(disk, judged.as_deref()), (machine, &work.groups, seed), around)
            .map(|it| Throttle::around(it, id, &work.groups))
    };
    let disks = spec.disks.iter().enumerate().map(disk).collect::<Result<_, _>>()?;
    Storage::new(disks, &spec.volumes).map(Some)
}

/// A warning about an elevator of a disk that takes no notice of what was asked for that disk or for groups.
pub fn unheeded(work: &Workload, judged: Option<&ElevatorSpec>) -> Option<String> {
    unweighed(work, judged).or_else(|| unthrottled(work, judged))
}

/// The disks that are to throttle write-back, with their elevators.
fn asked_to_throttle(work: &Workload, judged: Option<&ElevatorSpec>) -> Vec<(DiskId, &'static ElevatorAbout)> {
    let judged = judged.map(ToString::to_string);
    let asked = work.storage.disks.iter().zip(0..).filter(|(disk, _)| disk.wbt_lat.is_some());
    let about = |disk| goodness_elevators::parse(name_of(disk, judged.as_deref())).ok().map(|(entry, _)| entry.about);
    asked.filter_map(|(disk, number)| Some((DiskId(number), about(disk)?))).collect()
}

/// The disks that throttle write-back.
pub fn throttled(work: &Workload, judged: Option<&ElevatorSpec>) -> impl Iterator<Item = DiskId> {
    let asked = asked_to_throttle(work, judged).into_iter();
    asked.filter(|(_, about)| throttles_write_back(about)).map(|(disk, _)| disk)
}

/// A warning about an elevator that has no throttling of write-back, on a disk that is to have it.
fn unthrottled(work: &Workload, judged: Option<&ElevatorSpec>) -> Option<String> {
    let off = asked_to_throttle(work, judged).into_iter().find(|(_, about)| !throttles_write_back(about))?.1.name;
    Some(format!("{off} has no throttling of write-back, so wbt_lat changes nothing"))
}

/// A warning about an elevator of a disk that takes no notice of the groups' weights for I/O.
fn unweighed(work: &Workload, judged: Option<&ElevatorSpec>) -> Option<String> {
    let judged = judged.map(ToString::to_string);
    let elevators = work.storage.disks.iter().map(|disk| name_of(disk, judged.as_deref()));
    let entries = elevators.filter_map(|name| goodness_elevators::parse(name).ok()).map(|(entry, _)| entry);
    let deaf = entries.filter(|entry| !entry.weighs_groups).map(|entry| entry.about.name).next()?;
    let sentence = format!("{deaf} takes no notice of io_weight, so the groups' weights change nothing; bfq does");
    work.groups.weigh_io().then_some(sentence)
}

/// The elevator of a disk, as typed.
fn name_of<'a>(disk: &'a DiskSpec, judged: Option<&'a str>) -> &'a str {
    disk.elevator.as_deref().or(judged).unwrap_or(DEFAULT)
}

fn one(
    (id, disk): (DiskId, &DiskSpec),
    elevator: &str,
    (machine, groups, seed): (&Machine, &Groups, Seed),
    around: Option<&AroundElevator>,
) -> Result<Box<dyn Disk>, String> {
    let seed = seed.stream("disk", u64::from(id.0));
    let mut device = device(disk, seed).map_err(|why| format!("disk {}: {why}", disk.name))?;
    if disk.service != DiskSpec::AS_MODELLED {
        device = Box::new(Dilated::new(device, disk.service));
    }
    let options = QueueOptions {
        disk: id,
        hz: machine.hz,
        cpus: machine.cpu_count() as u16,
        seed: seed.stream("elevator", 0),
        wbt_lat: disk.wbt_lat,
        ..QueueOptions::default()
    };
    let around = |mut made: MadeElevator| {
        made.elevator.share(groups);
        match around {
            Some(around) => around(id, made),
            None => made,
        }
    };
    by_name_around(elevator, &options, device, around).map_err(|why| format!("disk {}: {why}", disk.name))
}

fn device(disk: &DiskSpec, seed: Seed) -> Result<Box<dyn Device>, String> {
    match &disk.sample {
        None => goodness_device::by_name(&disk.device, seed),
        Some(sample) => {
            let all = Recorded::new(sample.facts, sample.facts.depth, &sample.services, seed)?;
            Ok(Box::new(all.sharing(sample.speeds.clone())?.lagging(sample.lags.clone()).in_order(BEGIN)))
        }
    }
}

#[test]
fn an_elevator_that_ignores_weights_is_named_where_there_are_some() {
    let mut work = Workload::default();
    let disk =
        |elevator: Option<&str>| DiskSpec { elevator: elevator.map(str::to_string), ..DiskSpec::of("sda", "null") };
    let warned = |work: &Workload, judged: &str| unweighed(work, ElevatorSpec::parse(judged).ok().as_ref()).is_some();
    work.storage.disks = vec![disk(None)];
    assert!(!warned(&work, "mq-deadline"), "nothing weighs");
    let group = goodness_core::Group { io_weight: Some(100), ..goodness_core::Group::new("g", Default::default()) };
    work.groups.add(group);
    assert_eq!(["mq-deadline", "bfq:low_latency=off"].map(|judged| warned(&work, judged)), [true, false]);
    assert!(unweighed(&work, None).is_some_and(|it| it.starts_with("none takes")), "the default");
    work.storage.disks.push(disk(Some("cfq")));
    assert!(warned(&work, "bfq"), "the elevator that a disk has");
}

#[test]
fn an_elevator_that_turns_wbt_off_is_named_where_it_was_asked_for() {
    let mut work = Workload::default();
    let wbt_lat = Some(goodness_core::Span::from_ms(2));
    work.storage.disks = vec![DiskSpec { wbt_lat, ..DiskSpec::of("sda", "null") }];
    let warned = |work: &Workload, judged: &str| unheeded(work, ElevatorSpec::parse(judged).ok().as_ref()).is_some();
    assert_eq!(["cfq", "bfq", "mq-deadline"].map(|judged| warned(&work, judged)), [true, false, false]);
    work.storage.disks[0].wbt_lat = None;
    assert!(!warned(&work, "cfq"), "it was not asked for");
}
