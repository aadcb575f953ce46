//! `goodness elevate` on a running kernel. Run it as root in a guest with ublk (`scripts/test-guest elevate`);
//! elsewhere every test prints that it is skipped.

use goodness_ublk::verify::{self, Acknowledged, Load};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Path of the program in the guest.
const GOODNESS: &str = "/bin/goodness";
/// Bytes of the file behind a device.
const BYTES: u64 = 64 << 20;

/// True if this is a guest; prints a message if not.
fn is_guest() -> bool {
    let is_guest = Path::new("/dev/ublk-control").exists()
        && fs::read_to_string("/init").is_ok_and(|init| init.contains("GUEST-BEGINS"));
    if !is_guest {
        println!("SKIPPED: not in a guest with ublk; run scripts/test-guest elevate");
    }
    is_guest
}

fn goodness(arguments: &[&str]) -> Output {
    Command::new(GOODNESS).args(arguments).output().expect("goodness runs")
}

fn shell(command: &str) -> bool {
    Command::new("sh").args(["-c", command]).status().expect("sh runs").success()
}

/// A fresh file of zeroes.
fn disk(name: &str) -> PathBuf {
    let path = PathBuf::from(format!("/tmp/{name}"));
    let _ = fs::remove_file(&path);
    fs::File::create(&path).and_then(|file| file.set_len(BYTES)).expect("a file in memory");
    path
}

/// A server that runs.
struct Server {
    child: Child,
    device: PathBuf,
    number: String,
    /// Kept open, so that the server can go on talking.
    said: BufReader<std::process::ChildStderr>,
    lines: Vec<String>,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let mut command = Command::new(GOODNESS);
        command.arg("elevate").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("goodness starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut lines = Vec::new();
        let device = loop {
            let mut line = String::new();
            let read = said.read_line(&mut line).expect("text");
            lines.push(line.clone());
            match line.split_once(" is ready") {
                Some((device, _)) => break PathBuf::from(device),
                None if read == 0 => break PathBuf::new(),
                None => {}
            }
        };
        if device.as_os_str().is_empty() {
            panic!("the server ended with {:?}: {lines:?}", child.wait());
        }
        let number = device.to_string_lossy().trim_start_matches("/dev/ublkb").to_string();
        Server { child, device, number, said, lines }
    }

    fn before(elevator: &str, backing: &Path, more: &[&str]) -> Server {
        let mut arguments = vec![elevator, backing.to_str().expect("text"), "--json"];
        arguments.extend(more);
        Server::start(&arguments)
    }

    fn kill(mut self) -> String {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        self.number
    }

    /// Ends it like Ctrl-C. Returns its final report.
    fn stop(mut self) -> Value {
        assert!(shell(&format!("kill -INT {}", self.child.id())));
        let mut text = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("text");
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}: {text}{rest}");
        assert!(!self.device.exists(), "the device is still there");
        if text.starts_with('{') { serde_json::from_str(&text).expect("JSON") } else { Value::String(text) }
    }
}

fn load(disk: &Path, operations: u64, outstanding: u32) -> Load {
    let (disk, reads) = (disk.to_path_buf(), false);
    Load { disk, blocks: BYTES / 4096, operations, outstanding, reads, durable_every: 16, flush_every: 250, seed: 7 }
}

fn run(load: &Load) -> Acknowledged {
    verify::run(load, &AtomicU64::new(0)).expect("no operation fails")
}

/// Output of `goodness elevate list`.
fn listed() -> Vec<Value> {
    let listed = goodness(&["elevate", "list", "--json"]);
    serde_json::from_slice(&listed.stdout).expect("JSON")
}

/// Asserts that nothing of ours is left.
fn nothing_is_left() {
    let devices = fs::read_dir("/dev").unwrap().flatten().map(|it| it.file_name().into_string().unwrap());
    let left: Vec<String> = devices.filter(|name| name.starts_with("ublkb") || name.starts_with("ublkc")).collect();
    assert_eq!(left, Vec::<String>::new());
    let written = fs::read_dir("/run/goodness/elevate").into_iter().flatten().flatten();
    assert_eq!(written.map(|it| it.path()).collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn ten_thousand_verified_writes_survive_the_servers_death_in_the_middle() {
    if !is_guest() {
        return;
    }
    let backing = disk("killed");
    let server = Server::before("look", &backing, &["--probes", "0"]);
    let device = server.device.clone();
    let progress = Arc::new(AtomicU64::new(0));
    let writer = {
        let (load, progress) = (load(&device, 10_000, 64), Arc::clone(&progress));
        std::thread::spawn(move || verify::run(&load, &progress).expect("no write fails"))
    };
    let mut server = Some(server);
    for kill_at in [2_500, 5_000, 7_500] {
        while progress.load(Ordering::Relaxed) < kill_at {
            std::thread::sleep(Duration::from_millis(1));
        }
        let number = server.take().expect("it runs").kill();
        let at_death = progress.load(Ordering::Relaxed);
        assert!(at_death < 10_000, "killed too late, after {at_death} writes");
        let listed = listed();
        assert_eq!((listed.len(), listed[0]["standing"].as_str()), (1, Some("server-gone")), "{listed:?}");
        let remedy = listed[0]["remedy"].as_str().expect("there is something to do");
        assert!(remedy.contains(&format!("goodness elevate --recover {number}")), "{remedy}");
        server = Some(match kill_at {
            // By number, with another elevator; by the same command again; by number.
            2_500 => Server::start(&["mq-deadline", "--recover", &number, "--json"]),
            5_000 => Server::before("look", &backing, &[]),
            _ => Server::start(&["--recover", &number, "--json"]),
        });
    }
    let written = writer.join().expect("the load ends");
    assert_eq!((written.operations, written.flushes >= 10), (10_000, true));
    let blocks = verify::check(&device, &written).expect("everything acknowledged is there");
    let report = server.expect("it runs").stop();
    assert_eq!(report["violations"].as_array().map(Vec::len), Some(0), "{report}");
    assert_eq!(verify::check(&backing, &written), Ok(blocks), "in the file itself");
    println!("killed three times in 10000 writes: {blocks} blocks hold their last acknowledged write");
    nothing_is_left();
}

#[test]
fn look_travels_a_quarter_of_what_noop_travels_at_depth_16() {
    if !is_guest() {
        return;
    }
    let travelled = |elevator: &str| {
        let server = Server::before(elevator, &disk("seeks"), &["--depth", "16"]);
        let reads = Load { reads: true, durable_every: 0, flush_every: 0, ..load(&server.device, 3000, 64) };
        run(&reads);
        let report = server.stop();
        assert_eq!(report["answered"], 3000, "{report}");
        println!("{elevator}: {} sectors, {}", report["sectors_travelled"], report["probe"]);
        report["sectors_travelled"].as_u64().expect("a number")
    };
    let (noop, look) = (travelled("noop"), travelled("look"));
    assert!(4 * look <= noop, "look {look}, noop {noop}");
    // A third of the disk for each of 3000 requests, or the order was not that of arrival.
    let expected = 3000 * BYTES / 512 / 3;
    assert!(noop.abs_diff(expected) < expected / 10, "noop {noop}, expected {expected}");
    nothing_is_left();
}

#[test]
fn every_elevator_serves_reads_writes_and_flushes_without_breaking_a_rule() {
    if !is_guest() {
        return;
    }
    for about in goodness_elevators::ALL {
        let backing = disk("each");
        let server = Server::before(about.name, &backing, &["--depth", "4"]);
        let written = run(&load(&server.device, 600, 32));
        verify::check(&server.device, &written).unwrap_or_else(|why| panic!("{}: {why}", about.name));
        let report = server.stop();
        assert_eq!(report["violations"].as_array().map(Vec::len), Some(0), "{}: {report}", about.name);
        assert!(report["write_latency"]["p99_ns"].as_f64() > Some(0.0), "{report}");
        verify::check(&backing, &written).unwrap_or_else(|why| panic!("{}: {why}", about.name));
        let us = |name: &str| report[name].as_f64().expect("measured") / 1e3;
        let (adapter, cpu) = (us("adapter_ns"), us("server_cpu_ns"));
        println!("{}: {} sectors, adapter {adapter:.1} us, CPU {cpu:.1} us", about.name, report["sectors_travelled"]);
    }
    nothing_is_left();
}

#[test]
fn a_file_system_is_the_same_after_a_remount_behind_another_elevator() {
    if !is_guest() {
        return;
    }
    let backing = disk("files");
    let server = Server::before("deadline", &backing, &[]);
    let device = server.device.display().to_string();
    fs::create_dir_all("/tmp/mnt").unwrap();
    assert!(shell(&format!("mke2fs {device} > /dev/null && mount -t ext4 {device} /tmp/mnt")));
    assert!(shell("cp /bin/busybox /tmp/mnt/one && sync"));

    let refused = goodness(&["elevate", "stop", &server.number]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("it is mounted at /tmp/mnt. Unmount it first"),
        "{refused:?}"
    );
    let above = goodness(&["elevate", "noop", &device]);
    assert_eq!(above.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&above.stderr).contains("mounted at /tmp/mnt"), "{above:?}");

    // Killed while mounted: what was synced and what is written meanwhile are there afterwards.
    let number = server.kill();
    let copying = std::thread::spawn(|| shell("cp /bin/busybox /tmp/mnt/two && sync"));
    let server = Server::start(&["cfq", "--recover", &number, "--json"]);
    assert!(copying.join().unwrap());
    assert!(shell("umount /tmp/mnt"));
    server.stop();

    let server = Server::before("bfq", &backing, &[]);
    assert!(server.lines.iter().all(|line| !line.contains("taking it over")), "{:?}", server.lines);
    let device = server.device.display().to_string();
    assert!(shell(&format!("mount -t ext4 {device} /tmp/mnt")));
    assert!(shell("cmp /bin/busybox /tmp/mnt/one && cmp /bin/busybox /tmp/mnt/two && umount /tmp/mnt"));
    server.stop();
    nothing_is_left();
}

#[test]
fn space_is_given_back_and_reads_as_zeroes() {
    if !is_guest() {
        return;
    }
    let backing = disk("holes");
    let server = Server::before("noop", &backing, &[]);
    let device = server.device.display().to_string();
    let blocks = || std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&backing).unwrap());
    assert!(shell(&format!("dd if=/bin/busybox of={device} bs=64k count=16 oflag=direct 2> /dev/null")));
    let full = blocks();
    assert!(full >= 2048, "{full}");
    assert!(shell(&format!("blkdiscard -o 0 -l 524288 {device}")));
    assert!(blocks() <= full - 1024, "{} blocks after, {full} before", blocks());
    assert!(shell(&format!("dd if={device} bs=64k count=8 2> /dev/null | cmp -n 524288 - /dev/zero")));
    assert!(shell(&format!(
        "dd if={device} bs=64k skip=8 count=8 2> /dev/null > /tmp/half; dd if=/bin/busybox bs=64k skip=8 count=8 2> \
            /dev/null | cmp - /tmp/half"
    )));
    server.stop();
}

#[test]
fn a_killed_servers_device_can_be_given_up_and_the_backing_is_free_then() {
    if !is_guest() {
        return;
    }
    let backing = disk("given-up");
    let number = Server::before("noop", &backing, &["--probes", "0"]).kill();
    let served = Server::before("sstf", &disk("other"), &["--probes", "0"]);
    let stopped = goodness(&["elevate", "stop", &number]);
    assert!(stopped.status.success(), "{stopped:?}");
    let status = goodness(&["elevate", "status", "--json"]);
    let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(status["elevator"], "sstf");
    let twice = goodness(&["elevate", "noop", "/tmp/other"]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&twice.stderr).contains("another elevator is before it"), "{twice:?}");
    let not_lost = goodness(&["elevate", "--recover", &served.number]);
    assert_eq!(not_lost.status.code(), Some(2));
    served.stop();
    Server::before("noop", &backing, &["--probes", "0"]).stop();
    nothing_is_left();
}

#[test]
fn a_server_killed_at_any_moment_of_its_start_is_followed_by_the_same_command() {
    if !is_guest() {
        return;
    }
    let backing = disk("starts");
    let mut states = [0, 0];
    for ms in (0..60).step_by(3) {
        let mut command = Command::new(GOODNESS);
        command.args(["elevate", "noop", "/tmp/starts", "--probes", "0"]).stderr(Stdio::null()).stdout(Stdio::null());
        let mut child = command.spawn().expect("goodness starts");
        std::thread::sleep(Duration::from_millis(ms));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        let listed = listed();
        let is_left = !listed.is_empty();
        states[usize::from(is_left)] += 1;
        if is_left && ms % 2 == 0 {
            // One that never had a disk is told apart from one that lost its server; both can be given up.
            let remedy = listed[0]["remedy"].as_str().expect("there is something to do");
            assert!(remedy.contains("goodness elevate stop 0"), "{listed:?}");
            assert!(goodness(&["elevate", "stop", "0"]).status.success(), "after {ms} ms: {listed:?}");
            nothing_is_left();
        }
        Server::before("noop", &backing, &["--probes", "0"]).stop();
        nothing_is_left();
    }
    println!("{} kills left nothing, {} a device", states[0], states[1]);
    assert!(states[1] > 0, "every kill came too early to leave anything");
}

#[test]
fn flushes_and_durable_writes_go_down_to_the_disk_behind_a_block_device() {
    if !is_guest() {
        return;
    }
    // One elevator above the other: the lower one is a block device that counts what it is asked for.
    let lower = Server::before("noop", &disk("lower"), &["--probes", "0"]);
    let upper = Server::before("look", &lower.device, &["--probes", "0"]);
    let quiet = Load { durable_every: 0, flush_every: 0, ..load(&upper.device, 400, 8) };
    run(&quiet);
    let count = |server: &Server| {
        let status = goodness(&["elevate", "status", &server.number, "--json"]);
        let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
        ["flushes", "durable_writes"].map(|name| status[name].as_u64().expect("a number"))
    };
    assert_eq!((count(&upper), count(&lower)), ([0, 0], [0, 0]), "nobody asked to make anything durable");
    run(&Load { durable_every: 4, ..quiet.clone() });
    let (above, below) = (count(&upper), count(&lower));
    assert!(above[1] >= 100 && below[1] >= above[1], "durable writes: {above:?} above, {below:?} below");
    run(&Load { flush_every: 100, ..quiet });
    let (flushed_above, flushed_below) = (count(&upper)[0] - above[0], count(&lower)[0] - below[0]);
    assert!(flushed_above >= 3 && flushed_below >= flushed_above, "{flushed_above} above, {flushed_below} below");
    let refused = goodness(&["elevate", "noop", lower.device.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    upper.stop();
    lower.stop();
    nothing_is_left();
}

#[test]
fn another_file_in_the_place_of_the_backing_is_not_written_to() {
    if !is_guest() {
        return;
    }
    disk("replaced");
    let number = Server::before("noop", Path::new("/tmp/replaced"), &["--probes", "0"]).kill();
    assert!(shell("mv /tmp/replaced /tmp/kept"));
    disk("replaced");
    let refused = goodness(&["elevate", "--recover", &number]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("another file, or another size"), "{refused:?}");
    assert!(shell("mv /tmp/kept /tmp/replaced"));
    Server::start(&["--recover", &number, "--json"]).stop();
    nothing_is_left();
}

#[test]
fn what_cannot_be_is_refused_with_exit_code_2_and_nothing_is_made() {
    if !is_guest() {
        return;
    }
    let small = PathBuf::from("/tmp/small");
    fs::write(&small, [0; 100]).unwrap();
    let file = disk("refused").display().to_string();
    for (arguments, words) in [
        (vec!["loook", &file], "the nearest is \"look\""),
        (vec!["cfq:quantum=0", &file], "outside"),
        (vec!["noop", "/tmp/none"], "Name a file or a block device"),
        (vec!["noop", "/tmp"], "neither a file nor a block device"),
        (vec!["noop", "/tmp/small"], "Make it larger"),
        (vec!["noop", &file, "--depth", "0"], "--depth 0 is outside"),
        (vec!["noop", &file, "--tags", "5000"], "--tags 5000 is outside"),
        (vec!["noop", &file, "--cpus", "99"], "CPU 99 is not there"),
        (vec!["--recover", "7"], "there is no elevated device 7"),
        (vec!["stop", "7"], "there is no elevated device 7"),
        (vec!["status"], "no device is served"),
    ] {
        let output = Command::new(GOODNESS).arg("elevate").args(&arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words) && said.lines().count() == 1, "{arguments:?}: {said}");
    }
    nothing_is_left();
}

#[test]
fn a_fixed_load_is_reported() {
    if !is_guest() {
        return;
    }
    let backing = disk("fixed");
    let backing = backing.to_str().unwrap();
    let server = Server::start(&["sstf", backing, "--depth", "16"]);
    let written = run(&load(&server.device, 2000, 48));
    verify::check(&server.device, &written).unwrap();
    server.lines.iter().for_each(|line| print!("{line}"));
    println!("the load took {} ns", written.took_ns);
    match server.stop() {
        Value::String(text) => print!("{text}"),
        other => panic!("not text: {other}"),
    }
}
