//! One server: creates a device or takes over that of a killed server, and serves it until told to stop. It undoes its
//! changes however it ends, with two exceptions: a server that is killed, or whose elevator breaks a rule, leaves its
//! device to the next server.

use super::abi::{self, Basic, DeviceState, Discard, Params};
use super::backing::{self, Backing};
use super::control::Control;
use super::error::ElevateError;
use super::host::{Host, Watch, bytes, lock};
use super::probe::Probe;
use super::queue::{Queue, SECTORS_MAX, Spent, begin_anew};
use super::record::{self, MARK, Record};
use super::report::{Cost, Report};
use super::tender::{Order, Tender};
use goodness_block::QueueOptions;
use goodness_core::DeviceFacts;
use goodness_observe::Ending;
use goodness_sys::{self as sys, Signals};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time limit for the device node to appear. A choice: udev on a busy machine.
const NODE: Duration = Duration::from_secs(10);
/// Time limit for the kernel to notice a dead server. A choice: it waits for I/O in flight.
const NOTICED: Duration = Duration::from_secs(30);
/// Largest discard, in sectors: 32 MiB. A choice.
const DISCARD_SECTORS: u32 = 65_536;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The elevator: `NAME` or `NAME:KEY=VALUE,…`.
    pub elevator: String,
    /// A file or a block device.
    pub backing: PathBuf,
    /// Limit of requests in the backing; further ones wait in the elevator.
    pub depth: u32,
    /// Queue depth of the device.
    pub tags: u16,
    /// CPUs the server is confined to.
    pub cpus: Option<Vec<u32>>,
    /// True for a rotating disk; `None`: as the kernel reports for the backing, else true.
    pub rotational: Option<bool>,
    /// Number of reads that measure the overhead at the start; 0 for no measurement.
    pub probes: u32,
}

/// Messages of a running server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Takes over the device of a dead server with the same backing.
    Recovering {
        /// The device's number.
        device: u32,
    },
    /// Ready for requests.
    Ready {
        /// The device.
        device: PathBuf,
        /// Its number.
        number: u32,
        /// True if the backing is past the page cache.
        is_direct: bool,
        /// The overhead, if it was measured.
        probe: Option<Probe>,
    },
    /// Cannot stop yet because the device is in use.
    InUse {
        /// The user of the device.
        why: String,
    },
}

/// Creates a device and serves it until a signal. Takes over the device of a killed server with the same backing.
///
/// # Errors
/// See [`ElevateError`].
pub fn serve(options: &Options, tell: &mut dyn FnMut(Told)) -> Result<Report, ElevateError> {
    goodness_elevators::check(&options.elevator).map_err(ElevateError::Elevator)?;
    check(options)?;
    let (mut control, tender) = (Control::open()?, Tender::start()?);
    let backing = backing::open(&options.backing)?;
    let signals = listen()?;
    let left = record::all().into_iter().find(|it| it.identity == backing.identity && !it.server_lives());
    if let Some(record) = left {
        if is_waiting_for_a_server(&mut control, record.device)? {
            tell(Told::Recovering { device: record.device });
            let record = Record { elevator: options.elevator.clone(), ..record };
            return take_over(control, tender, record, backing, options.probes)?.run(signals, tell);
        }
        record::forget(record.device);
    }
    Server::make(control, tender, options, backing)?.run(signals, tell)
}

/// True if requests wait in the device of a dead server. A device without a disk is removed. The kernel takes a moment
/// to notice that a server has died.
fn is_waiting_for_a_server(control: &mut Control, number: u32) -> Result<bool, ElevateError> {
    let until = Instant::now() + NOTICED;
    loop {
        let state = control.state(number).map_err(|why| ElevateError::kernel("asking for the device", why))?;
        match state.filter(|it| it.mark == MARK).map(|it| it.state) {
            None => return Ok(false),
            Some(abi::S_DEAD) => {
                let deleted = control.delete(number);
                deleted.map_err(|why| ElevateError::kernel(format!("removing device {number}"), why))?;
                return Ok(false);
            }
            Some(abi::S_QUIESCED) => return Ok(true),
            Some(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Some(_) => {
                return Err(ElevateError::Device(format!(
                    "/dev/ublkb{number} has the same backing and a server that is ending, but does not end: see \
                        `dmesg`."
                )));
            }
        }
    }
}

/// Starts listening for signals, which then end the server in order. Call it before making changes.
fn listen() -> Result<Signals, ElevateError> {
    Signals::listen().map_err(|why| ElevateError::kernel("listening for signals", why))
}

/// Takes over device `number` of a dead server, with the same elevator or another.
///
/// # Errors
/// See [`ElevateError`].
pub fn recover(number: u32, elevator: Option<&str>, tell: &mut dyn FnMut(Told)) -> Result<Report, ElevateError> {
    // The tender comes first, because the first command makes the kernel start a thread in this process.
    let (mut control, tender) = (Control::open()?, Tender::start()?);
    let info = control.state(number).map_err(|why| ElevateError::kernel("asking for the device", why))?;
    let (Some(info), Some(mut record)) = (info, record::of(number)) else {
        return Err(ElevateError::no_device(number));
    };
    if record.server_lives() || info.mark != MARK || info.state == abi::S_DEAD {
        return Err(ElevateError::Device(format!(
            "/dev/ublkb{number} has not lost its server, so there is nothing to recover. See `goodness elevate list`."
        )));
    }
    record.elevator = elevator.map_or(record.elevator, str::to_string);
    goodness_elevators::check(&record.elevator).map_err(ElevateError::Elevator)?;
    let backing = backing::open(&record.backing)?;
    let signals = listen()?;
    take_over(control, tender, record, backing, 0)?.run(signals, tell)
}

fn take_over(
    control: Control,
    tender: Tender,
    record: Record,
    backing: Backing,
    probes: u32,
) -> Result<Server, ElevateError> {
    if (backing.identity, backing.sectors) != (record.identity, record.sectors) {
        return Err(ElevateError::Backing {
            why: format!(
                "it is not what /dev/ublkb{0} was made of: another file, or another size. Put that back, or give the \
                 device up with `goodness elevate stop {0}`.",
                record.device
            ),
            path: record.backing,
        });
    }
    Server::recover(Server::new(control, tender, record, backing, probes))
}

/// Checks the options without touching the machine.
fn check(options: &Options) -> Result<(), ElevateError> {
    let wrong = |sentence: String| Err(ElevateError::Setting(sentence));
    if options.depth == 0 || options.depth > 1024 {
        return wrong(format!("--depth {} is outside 1 ..= 1024.", options.depth));
    }
    if options.tags == 0 || options.tags > abi::TAGS_MAX {
        return wrong(format!("--tags {} is outside 1 ..= {}.", options.tags, abi::TAGS_MAX));
    }
    let online = sys::affinity_of(0).unwrap_or_default();
    match options.cpus.iter().flatten().find(|cpu| !online.contains(cpu)) {
        Some(cpu) => wrong(format!("--cpus: CPU {cpu} is not there, or not for this process. There are: {online:?}.")),
        None => Ok(()),
    }
}

/// A device with its server.
struct Server {
    control: Control,
    tender: Tender,
    record: Record,
    backing: Arc<Backing>,
    spent: Arc<Spent>,
    watch: Option<Arc<Mutex<Watch>>>,
    base: Cost,
    probe: Option<Probe>,
    probes: u32,
    thread: Option<JoinHandle<io::Result<()>>>,
    /// Readable when the thread has ended.
    ended: Option<UnixStream>,
    /// True if the device must be removed on drop.
    goes: bool,
}

impl Server {
    fn new(control: Control, tender: Tender, record: Record, backing: Backing, probes: u32) -> Server {
        Server {
            control,
            tender,
            record,
            backing: Arc::new(backing),
            spent: Arc::default(),
            watch: None,
            base: Cost::default(),
            probe: None,
            probes,
            thread: None,
            ended: None,
            goes: false,
        }
    }

    /// A new device, with its disk.
    fn make(mut control: Control, tender: Tender, options: &Options, backing: Backing) -> Result<Server, ElevateError> {
        let mut record = Record {
            device: 0,
            server: 0,
            started: None,
            elevator: options.elevator.clone(),
            backing: backing.path.clone(),
            identity: backing.identity,
            sectors: backing.sectors,
            tags: options.tags,
            depth: options.depth,
            rotational: Some(options.rotational.or(backing.rotational).unwrap_or(true)),
            cpus: options.cpus.clone(),
        };
        record.take_over();
        add(&mut control, &mut record)?;
        let mut server = Server::new(control, tender, record, backing, options.probes);
        server.goes = true;
        let (number, params) = (server.record.device, server.params());
        let set = server.control.set_params(number, &params);
        set.map_err(|why| ElevateError::kernel("describing the disk", why))?;
        server.begin()?;
        let started = server.tender.order(&Order::Start { device: number, server: std::process::id() });
        started.map_err(|why| ElevateError::kernel("starting the disk", why))?;
        server.finish_start()?;
        Ok(server)
    }

    /// Takes over a device whose server has died. On failure the device stays, because requests wait in it.
    fn recover(mut server: Server) -> Result<Server, ElevateError> {
        let number = server.record.device;
        let step = |why| ElevateError::kernel(format!("recovering /dev/ublkb{number}"), why);
        server.control.start_recovery(number).map_err(step)?;
        server.record.take_over();
        server.record.write().map_err(|why| ElevateError::kernel("writing down who serves", why))?;
        server.begin()?;
        server.tender.order(&Order::EndRecovery { device: number, server: std::process::id() }).map_err(step)?;
        server.finish_start()?;
        Ok(server)
    }

    /// Parameters of the disk: a volatile cache, as the backing may have one, and durable writes.
    fn params(&self) -> Params {
        let backing = &self.backing;
        let shift = backing.block_bytes.trailing_zeros() as u8;
        let rotational = if self.record.rotational == Some(true) { abi::ATTR_ROTATIONAL } else { 0 };
        let basic = Basic {
            attributes: abi::ATTR_VOLATILE_CACHE | abi::ATTR_FUA | rotational,
            logical_shift: shift,
            physical_shift: shift.max(12),
            optimal_shift: shift.max(12),
            minimal_shift: shift.max(12),
            sectors_max: SECTORS_MAX,
            sectors: backing.sectors,
            ..Basic::default()
        };
        let discard = Discard {
            granularity: backing.block_bytes.max(4096),
            sectors_max: DISCARD_SECTORS,
            zeroes_sectors_max: DISCARD_SECTORS,
            segments_max: 1,
            ..Discard::default()
        };
        let types = abi::PARAM_BASIC | if backing.punches { abi::PARAM_DISCARD } else { 0 };
        let discard = if backing.punches { discard } else { Discard::default() };
        Params { length: size_of::<Params>() as u32, types, basic, discard, pad: 0 }
    }

    /// Starts the thread that serves the queue.
    fn begin(&mut self) -> Result<(), ElevateError> {
        let record = self.record.clone();
        let facts = DeviceFacts {
            sectors: record.sectors,
            depth: record.depth,
            queues: 1,
            rotational: record.rotational != Some(false),
            sectors_max: SECTORS_MAX,
            volatile_cache: true,
            age_limit: None,
        };
        let options = QueueOptions { sectors_max: SECTORS_MAX, ..QueueOptions::default() };
        let host = Host::new(&record.elevator, facts, &options, usize::from(record.tags));
        let host = host.map_err(ElevateError::Elevator)?;
        self.watch = Some(host.watch());
        let (ended, ending) =
            UnixStream::pair().map_err(|why| ElevateError::kernel("making a pair of sockets", why))?;
        let (ready, is_ready) = mpsc::channel();
        let (backing, spent) = (Arc::clone(&self.backing), Arc::clone(&self.spent));
        let work = move || {
            // Closed when the thread ends, even by a panic.
            let _ending = ending;
            if let Some(cpus) = &record.cpus {
                sys::pin(cpus)?;
            }
            super::queue::write_for_others();
            let device = open_node(record.device)?;
            Queue::new(device, record.tags, record.depth, host, backing, spent)?.serve(&ready)
        };
        let thread = std::thread::Builder::new().name("elevator".into()).spawn(work);
        self.thread = Some(thread.map_err(|why| ElevateError::kernel("starting the server's thread", why))?);
        self.ended = Some(ended);
        if is_ready.recv().is_err() {
            let why = self.join().unwrap_or_else(io::Error::other);
            return Err(ElevateError::kernel("serving the queue", why));
        }
        Ok(())
    }

    /// Joins the thread: its error, or its panic message.
    fn join(&mut self) -> Result<io::Error, String> {
        let Some(thread) = self.thread.take() else { return Ok(io::Error::other("there is no server")) };
        match thread.join() {
            Ok(Ok(())) => Ok(io::Error::other("the device went away")),
            Ok(Err(why)) => Ok(why),
            Err(words) => {
                let text = words.downcast_ref::<String>().cloned();
                Err(text.or_else(|| words.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default())
            }
        }
    }

    /// Finishes the start: turns off the kernel's own elevator and measures the overhead.
    fn finish_start(&mut self) -> Result<(), ElevateError> {
        let order = Order::Prepare {
            device: self.record.device,
            backing: self.backing.path.clone(),
            is_direct: self.backing.is_direct,
            sectors: self.backing.sectors,
            reads: self.probes,
        };
        let prepared = self.tender.prepare(&order);
        let what = "switching off the kernel's elevator and measuring the overhead";
        self.probe = prepared.map_err(|why| ElevateError::kernel(what, why))?;
        self.base = self.cost();
        if let Some(watch) = &self.watch {
            begin_anew(watch);
        }
        Ok(())
    }

    fn disk(&self) -> PathBuf {
        PathBuf::from(format!("/dev/ublkb{}", self.record.device))
    }

    fn cost(&self) -> Cost {
        let since = |counter: &AtomicU64, base| counter.load(Ordering::Relaxed) - base;
        Cost {
            adapter_ns: since(&self.spent.adapter_ns, self.base.adapter_ns),
            cpu_ns: self.spent.cpu() - self.base.cpu_ns,
            flushes: since(&self.spent.flushes, self.base.flushes),
            durable: since(&self.spent.durable, self.base.durable),
        }
    }

    fn report(&self, ending: Ending) -> Option<Report> {
        let watch = lock(self.watch.as_ref()?).clone();
        Some(Report::new(&self.record, watch, self.cost(), self.probe, ending))
    }

    /// Serves until a signal ends it.
    fn run(mut self, mut signals: Signals, tell: &mut dyn FnMut(Told)) -> Result<Report, ElevateError> {
        let number = self.record.device;
        let socket = record::file(number, "sock");
        let _ = fs::remove_file(&socket);
        let listener =
            UnixListener::bind(&socket).map_err(|why| ElevateError::kernel("listening for questions", why))?;
        self.goes = true;
        let is_direct = self.backing.is_direct;
        tell(Told::Ready { device: self.disk(), number, is_direct, probe: self.probe });
        let mut is_warned = false;
        let ended = self.ended.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        loop {
            let mut descriptors = vec![ended, listener.as_raw_fd()];
            descriptors.extend(signals.descriptors());
            let readable = sys::wait_readable(&descriptors, Duration::from_secs(3600));
            let readable = readable.map_err(|why| ElevateError::kernel("waiting", why))?;
            if readable[0] {
                return self.ended_early();
            }
            if readable[1] {
                self.answer(&listener);
            }
            if signals.take().is_some() {
                match self.tender.in_use(number).filter(|_| !is_warned) {
                    Some(why) => tell(Told::InUse { why }),
                    None => return self.end(),
                }
                is_warned = true;
            }
        }
    }

    /// Replies to a status request.
    fn answer(&self, listener: &UnixListener) {
        let Ok((mut asker, _)) = listener.accept() else { return };
        let _ = asker.set_write_timeout(Some(Duration::from_secs(1)));
        if let Some(report) = self.report(Ending::Horizon) {
            // A client that does not read its answer is ignored.
            let _ = serde_json::to_vec(&report).map(|text| asker.write_all(&text));
        }
    }

    /// Handles a thread that ended without being stopped: the device was removed from outside, or a fault.
    fn ended_early(mut self) -> Result<Report, ElevateError> {
        let number = self.record.device;
        let state = self.control.state(number).ok().flatten().map(|info| info.state);
        let ended = self.join();
        if state.is_none_or(|state| state == abi::S_DEAD) && ended.is_ok() {
            return self.end();
        }
        self.goes = false;
        let why = match ended {
            Ok(why) => format!("the server of /dev/ublkb{number} failed: {why}."),
            Err(words) => format!("{} broke a rule of the block layer: {words}.", self.record.elevator),
        };
        Err(ElevateError::Server { device: number, why })
    }

    /// Removes the device after all acknowledged writes are durable.
    fn end(mut self) -> Result<Report, ElevateError> {
        let written = self.tender.order(&Order::Sync { device: self.record.device });
        self.remove()?;
        let what = format!("writing what was still to be written to {}", self.record.backing.display());
        written.map_err(|why| ElevateError::kernel(what, why))?;
        let report = self.report(Ending::Quiet).ok_or_else(|| ElevateError::Device("nothing was served.".into()))?;
        match report.violations.first() {
            Some(violation) => Err(ElevateError::Violated(format!("{report}\n{violation}"))),
            None => Ok(report),
        }
    }

    fn remove(&mut self) -> Result<(), ElevateError> {
        self.goes = false;
        let number = self.record.device;
        let stopped = self.tender.order(&Order::Stop { device: number });
        let _ = self.join();
        let synced = self.backing.file.sync_data();
        let deleted = self.tender.order(&Order::Delete { device: number });
        record::forget(number);
        let step = |why| ElevateError::kernel(format!("removing /dev/ublkb{number}"), why);
        stopped.and(deleted).map_err(step)?;
        let what = format!("making {} durable", self.record.backing.display());
        synced.map_err(|why| ElevateError::kernel(what, why))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.goes {
            // Another failure came first; that one is reported.
            let _ = self.remove();
        }
    }
}

/// Adds a device under the first free number from the record's on, which it puts in `record`. The record is written
/// before the device is made, so that the next server also finds the device of one that was killed in between.
fn add(control: &mut Control, record: &mut Record) -> Result<(), ElevateError> {
    let failed = |why| ElevateError::kernel("making a ublk device", why);
    // Until this returns, no other server takes the same number.
    let _turn = record::turn().map_err(failed)?;
    loop {
        let number = record.device;
        let is_served = record::of(number).is_some_and(|it| it.server_lives());
        if is_served || control.state(number).map_err(failed)?.is_some() {
            record.device += 1;
            continue;
        }
        record.write().map_err(failed)?;
        let mut info = DeviceState {
            queues: 1,
            depth: record.tags,
            buffer_bytes: bytes(SECTORS_MAX) as u32,
            device: number,
            flags: abi::F_USER_RECOVERY | abi::F_USER_RECOVERY_REISSUE | abi::F_CMD_IOCTL_ENCODE,
            mark: MARK,
            ..DeviceState::default()
        };
        let Err(why) = control.add(&mut info) else { return Ok(()) };
        record::forget(number);
        // Another program has taken the number since.
        if why.raw_os_error() != Some(libc::EEXIST) {
            return Err(failed(why));
        }
    }
}

/// Opens the character device; waits for its node to appear.
fn open_node(number: u32) -> io::Result<File> {
    let path = format!("/dev/ublkc{number}");
    let until = Instant::now() + NODE;
    loop {
        match OpenOptions::new().read(true).write(true).open(&path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(why) => return Err(io::Error::new(why.kind(), format!("{path}: {why}"))),
            opened => return opened,
        }
    }
}
