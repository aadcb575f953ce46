//! The daemon: connects the BPF shim and the policy until something ends it. The shim is always unloaded then: its link
//! closes with this process, and if the process hangs, the kernel's watchdog ends it.

use super::control::{Control, Request};
use super::error::LiveError;
use super::host::Setting;
use super::kernel::{self, Places};
use super::log::{Header, LogWriter};
use super::options::Options;
use super::outcome::{End, Outcome, Status};
use super::session::Session;
use super::shim::{Load, Shim};
use super::watchdog::Watchdog;
use super::work::{self, Adopted};
use goodness_core::{PolicyEntry, Time, TunableError};
use goodness_sys::{self as sys, Running, Signals};
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// Longest time between two checks when nothing happens.
const LOOK: Duration = Duration::from_millis(100);
/// Time limit for the kernel to report why it ended a policy.
const PARTING: Duration = Duration::from_secs(2);
/// Interval of checks whether the command has started.
const STARTING: Duration = Duration::from_millis(1);

/// Runs a policy until its command ends, its time is over, or it is stopped. Calls `begun` once it is loaded.
///
/// # Errors
/// See [`LiveError`].
pub fn live(options: &Options, begun: &mut dyn FnMut(&Status)) -> Result<Outcome, LiveError> {
    let entry = goodness_policies::entry(&options.policy)
        .ok_or_else(|| LiveError::Policy(format!("there is no policy \"{}\"", options.policy)))?;
    live_with(entry, options, begun)
}

/// Like [`live`], with a policy that need not be registered; `options.policy` is ignored.
///
/// # Errors
/// See [`LiveError`].
pub fn live_with(entry: &PolicyEntry, options: &Options, begun: &mut dyn FnMut(&Status)) -> Result<Outcome, LiveError> {
    let about = entry.about;
    let wrong = |why: TunableError| LiveError::Policy(format!("policy {}: {why}", about.name));
    kernel::ready()?;
    let shown = (entry.values)(&options.settings).map_err(wrong)?;
    let online = sys::affinity_of(0).unwrap_or_else(|| vec![0]);
    let places = kernel::places(&online, options.cpus.as_deref())?;
    let control = Control::listen(&options.socket)?;
    let signals = Signals::listen().map_err(|source| LiveError::System { what: "listening for signals", source })?;
    let nice = take_its_cpu(places.daemon, options.poll.is_some())?;
    let watchdog = Watchdog::start().map_err(|source| LiveError::System { what: "starting the watchdog", source })?;
    let setting = kernel::setting(about.name, about.needs, &places.policy, options.seed)?;
    let policy = (entry.make)(&setting.machine, &options.settings, setting.seed).map_err(wrong)?;
    let log =
        options.log.as_ref().map(|path| LogWriter::create(path, &Header::new(about.name, &options.settings, &setting)));
    let log = log.transpose()?;
    let load = Load { name: about.name, cpus: &places.policy, ticks: about.needs.tick };
    // Declared before the daemon, so dropped after it, also on a panic: the policy is unloaded before the command is
    // waited for, whose tasks would wait for the policy.
    let (adopted, command);
    let mut daemon = Daemon {
        shim: Shim::load(&load)?,
        watchdog,
        session: Session::begin(setting.clone(), policy, log),
        settings: shown.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        setting,
        places,
        control,
        signals,
        poll: options.poll,
        events: Vec::with_capacity(1024),
    };
    begun(&daemon.status());
    adopted = Adopted::adopt(&options.pids)?;
    command = match options.command.is_empty() {
        true => None,
        false => Some(daemon.start(options.command.clone(), nice)?),
    };
    let ended = daemon.run(command.as_ref(), options.duration);
    let status = daemon.status();
    let logged = daemon.session.finish();
    drop(daemon);
    drop(adopted);
    let outcome = finish(ended, command, status)?;
    logged.map(|()| outcome)
}

/// Pins the daemon to its CPU with the highest nice priority. Returns the previous nice value.
fn take_its_cpu(cpu: u32, polls: bool) -> Result<i32, LiveError> {
    sys::pin(&[cpu]).map_err(|source| LiveError::System { what: "confining the daemon", source })?;
    // Other tasks on its CPU wait for the daemon; otherwise all tasks of the policy would wait for them.
    let nice = sys::nice();
    if polls {
        sys::end_waits_on_time();
    }
    sys::set_nice(-20).map_err(|source| LiveError::System { what: "hurrying the daemon", source })?;
    Ok(nice)
}

/// Ends the run after the kernel's own scheduler has taken over: handles the command and returns the outcome.
fn finish(
    ended: Result<Option<End>, LiveError>,
    command: Option<Running>,
    status: Status,
) -> Result<Outcome, LiveError> {
    let end = match (ended, command) {
        (Err(error), command) => {
            // The user wants the command's work done: it continues without the policy.
            if let Some(command) = command {
                eprintln!("{error}; the command continues under the kernel's own scheduler");
                while !command.has_ended() {
                    std::thread::sleep(LOOK);
                }
            }
            return Err(error);
        }
        (Ok(Some(end)), _) => end,
        (Ok(None), command) => End::Command(command.and_then(Running::finish).unwrap_or(goodness_sys::Exit::Code(0))),
    };
    Ok(Outcome { end, status })
}

struct Daemon {
    /// Dropped first.
    shim: Shim,
    watchdog: Watchdog,
    session: Session,
    settings: Vec<(String, String)>,
    setting: Setting,
    places: Places,
    control: Control,
    signals: Signals,
    /// Longest sleep, if the kernel's wake-up is not used.
    poll: Option<Duration>,
    events: Vec<super::event::KernelEvent>,
}

impl Daemon {
    /// Starts the command and serves it until it has executed.
    fn start(&mut self, command: Vec<OsString>, nice: i32) -> Result<Running, LiveError> {
        let cpus: Vec<u32> = self.places.policy.iter().map(|cpu| u32::from(*cpu)).collect();
        let hold = self.shim.hold();
        let starter = std::thread::spawn(move || work::start(&command, &cpus, nice, hold));
        let mut watch = watch_over(&[self.shim.descriptor()])?;
        while !starter.is_finished() {
            watch
                .wait(self.poll.unwrap_or(STARTING).min(STARTING))
                .map_err(|source| LiveError::System { what: "waiting", source })?;
            self.serve_kernel()?;
            if let Some((reason, message)) = self.shim.ended() {
                return Err(ejected(reason, &message));
            }
        }
        starter.join().unwrap_or_else(|_| Err(LiveError::Policy("starting the command failed".into())))
    }

    /// Serves the kernel until something ends it; `None` when that is the command's end.
    fn run(&mut self, command: Option<&Running>, duration: Option<Duration>) -> Result<Option<End>, LiveError> {
        let begun = Instant::now();
        let mut descriptors = vec![self.shim.descriptor(), self.control.descriptor()];
        descriptors.extend(self.signals.descriptors());
        descriptors.extend(command.and_then(Running::descriptor));
        let mut watch = watch_over(&descriptors)?;
        let mut looked = Instant::now();
        loop {
            let others = watch.wait(self.timeout()).map_err(|source| LiveError::System { what: "waiting", source })?;
            self.serve_kernel()?;
            if !others && looked.elapsed() < LOOK {
                continue;
            }
            looked = Instant::now();
            if let Some(end) = self.look_around(command, duration.is_some_and(|most| begun.elapsed() >= most))? {
                return Ok(end);
            }
        }
    }

    /// Longest sleep.
    fn timeout(&self) -> Duration {
        let longest = self.poll.unwrap_or(LOOK).min(LOOK);
        let Some(at) = self.session.next_timer() else { return longest };
        Duration::from_nanos(at.since(Time(sys::monotonic_ns())).0).min(longest)
    }

    /// Handles the kernel's events and sends the policy's commands.
    fn serve_kernel(&mut self) -> Result<(), LiveError> {
        self.watchdog.beat();
        let mut events = std::mem::take(&mut self.events);
        self.shim.drain(&mut events)?;
        for event in &events {
            let commands = self.session.happened(event)?;
            if !commands.is_empty() {
                let done = self.shim.apply(commands)?;
                self.session.tally().decided(event.at, done);
            }
        }
        events.clear();
        self.events = events;
        if let Some(at) = self.session.next_timer() {
            let now = Time(sys::monotonic_ns());
            if at <= now {
                let commands = self.session.timer(now)?;
                if !commands.is_empty() {
                    self.shim.apply(commands)?;
                }
            }
        }
        Ok(())
    }

    /// Handles everything except scheduling events. `Some` ends the run.
    fn look_around(&mut self, command: Option<&Running>, is_over: bool) -> Result<Option<Option<End>>, LiveError> {
        if let Some((reason, message)) = self.shim.ended() {
            return Err(ejected(reason, &message));
        }
        if command.is_some_and(Running::has_ended) {
            return self.ended_in_time().map(|()| Some(None));
        }
        if let Some(signal) = self.signals.take() {
            return self.ended_in_time().map(|()| Some(Some(End::Signal(signal))));
        }
        if is_over {
            return Ok(Some(Some(End::Duration)));
        }
        let status = || status(&self.setting, &self.places, &self.settings, &mut self.session, &self.shim);
        let mut status = status;
        let asked = self.control.serve(&mut status);
        Ok((asked == Some(Request::Stop)).then_some(Some(End::Stopped)))
    }

    /// Fails if the kernel ended the policy. Waits for the reason, which may come after its tasks have ended.
    fn ended_in_time(&self) -> Result<(), LiveError> {
        let begun = Instant::now();
        while !kernel::is_enabled() && begun.elapsed() < PARTING {
            if let Some((reason, message)) = self.shim.ended() {
                return Err(ejected(reason, &message));
            }
            std::thread::sleep(STARTING);
        }
        Ok(())
    }

    fn status(&mut self) -> Status {
        status(&self.setting, &self.places, &self.settings, &mut self.session, &self.shim)
    }
}

fn status(
    setting: &Setting,
    places: &Places,
    settings: &[(String, String)],
    session: &mut Session,
    shim: &Shim,
) -> Status {
    Status {
        policy: session.host().policy_name().into(),
        settings: settings.to_vec(),
        daemon: std::process::id(),
        daemon_cpu: places.daemon,
        cpus: places.policy.clone(),
        elapsed_ns: Time(sys::monotonic_ns()).since(setting.epoch).0,
        decisions: session.host().decisions(),
        events: session.tally().events(),
        decision_latency: session.tally().latency(),
        outdated: shim.outdated(),
        strays: session.host().strays(),
        tasks: session.tally().tasks(),
    }
}

fn watch_over(descriptors: &[RawFd]) -> Result<sys::Watch, LiveError> {
    sys::Watch::over(descriptors).map_err(|source| LiveError::System { what: "waiting", source })
}

fn ejected(reason: String, message: &str) -> LiveError {
    let remedy = if reason.contains("stall") {
        ". A task waited for 30 s, which is the most that the kernel allows: the policy starves it"
    } else {
        ""
    };
    let message = if message.is_empty() { String::new() } else { format!(" ({message})") };
    LiveError::Ejected { reason, message, remedy }
}
