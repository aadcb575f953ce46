//! Apache 2.4, prefork and event, with the built-in load generator or `ab`.
//!
//! The server has its own configuration with four modules, one page, no access log, and enough processes that none is
//! started during a run. Started as root, it serves as `nobody`.

use super::ab;
use super::process::Process;
use super::{About, Load, Program, Registered};
use crate::load_error::LoadError;
use crate::load_generator;
use crate::measure::Measure;
use crate::parameter::Counts;
use crate::role::Role;
use crate::subprocess::{self, Launcher};
use crate::sweep::swept;
use crate::workspace::Workspace;
use goodness_core::{Seed, Span, choices, tunables};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

choices! {
    /// Client program.
    pub enum Client { BuiltIn = "built-in", Ab = "ab" }
}

tunables! {
    pub struct Settings {
        /// Client: the built-in load generator, or ApacheBench.
        client: Client = Client::BuiltIn;
        /// Closed loop (a connection's next request follows the reply) or open loop (requests arrive at a rate);
        /// built-in load generator.
        pattern: load_generator::Pattern = load_generator::Pattern::Closed;
        /// Connections at a time.
        connections: u64 = 8, in 1 => 1024;
        /// Numbers of connections to test in turn in each run, instead of one; they are appended to the names of the
        /// measures.
        sweep: Counts = Counts::default();
        /// Mean time between a reply and the next request of the connection; built-in load generator, closed loop.
        think: Span = Span::ZERO, in Span::ZERO => Span::from_s(60);
        /// Requests that arrive per second; built-in load generator, open loop.
        rate: u64 = 1000, in 1 => 1_000_000;
        /// Send many requests over one connection (keep-alive).
        keep_alive: bool = false;
        /// Time before anything is counted; built-in load generator.
        warmup: Span = Span::from_s(1), in Span::ZERO => Span::from_s(600);
        /// Time that is counted; built-in load generator.
        duration: Span = Span::from_s(5), in Span::from_ms(10) => Span::from_s(600);
        /// Requests per run, after a tenth as many to warm up; ab.
        requests: u64 = 10_000, in 1 => 10_000_000;
        /// Bytes of the page.
        size: u64 = 4096, in 0 => 16_777_216;
        /// Connections served at a time: processes of prefork, threads of event.
        workers: u64 = 256, in 1 => 1024;
    }
}

pub(super) const APACHE: Program = Program { name: "apache2", package: "apache2" };
const MODULES: &str = "/usr/lib/apache2/modules";
/// Time limit for the server's first reply, and for a run of `ab`.
const START: Duration = Duration::from_secs(20);
const RUN: Duration = Duration::from_secs(900);
/// Threads of a process of event, as distributions have it.
const THREADS: u64 = 25;
/// Server processes beyond the connections, as distributions start them.
const SPARE: u64 = 8;
const MEASURES: &[&str] =
    &["throughput", "request_latency_p50", "request_latency_p99", "request_latency_max_minus_min"];

/// A server, its client and its page.
#[derive(Debug)]
pub(super) struct Apache {
    mpm: &'static str,
    settings: Settings,
    launcher: Launcher,
    port: u16,
}

/// A load that is Apache with one of its modules for processes and threads.
macro_rules! apache {
    ($(#[$doc:meta])+ $Load:ident, $mpm:literal, $name:literal, $summary:literal) => {
        $(#[$doc])+
        #[derive(Debug)]
        pub struct $Load(Apache);

        impl Registered for $Load {
            const ABOUT: About = About {
                name: $name,
                summary: $summary,
                needs: &[APACHE],
                measures: MEASURES,
            };
            type Settings = Settings;

            fn new(settings: Settings, launcher: Launcher) -> Result<Self, LoadError> {
                Apache::new($mpm, settings, launcher).map($Load)
            }
        }

        impl Load for $Load {
            fn check(&self) -> Result<(), LoadError> {
                self.0.check()
            }

            fn prepare(&mut self, workspace: &Workspace) -> Result<(), LoadError> {
                self.0.prepare(workspace)
            }

            fn run(&mut self, workspace: &Workspace, seed: Seed) -> Result<Vec<Measure>, LoadError> {
                self.0.run(workspace, seed)
            }
        }
    };
}

apache! {
    /// Apache with a process for each connection.
    Prefork, "prefork", "apache-prefork",
    "Apache with one process for each connection serves a page to the built-in load generator or to ab."
}
apache! {
    /// Apache with threads and a listener for idle connections.
    Event, "event", "apache-event",
    "Apache with threads and a listener for idle connections serves a page to the built-in load generator or to ab."
}

impl Apache {
    pub(super) fn new(mpm: &'static str, mut settings: Settings, launcher: Launcher) -> Result<Apache, LoadError> {
        settings.connections = settings.sweep.0.last().copied().unwrap_or(settings.connections);
        if settings.client == Client::Ab && settings.pattern == load_generator::Pattern::Open {
            return Err(LoadError("ab is a closed loop; take client = built-in for pattern = open".into()));
        }
        if settings.client == Client::Ab && settings.connections > settings.requests {
            return Err(LoadError("ab needs as many requests as connections; raise requests".into()));
        }
        if mpm == "prefork" && settings.keep_alive && settings.connections > settings.workers {
            let (connections, workers) = (settings.connections, settings.workers);
            return Err(LoadError(format!(
                "{connections} connections that are kept alive need as many processes of prefork, and workers is \
                 {workers}; raise workers or turn keep_alive off"
            )));
        }
        Ok(Apache { mpm, settings, launcher, port: 0 })
    }

    pub(super) fn check(&self) -> Result<(), LoadError> {
        APACHE.find()?;
        if self.settings.client == Client::Ab {
            ab::AB.find()?;
        }
        let module = format!("{MODULES}/mod_mpm_{}.so", self.mpm);
        match Path::new(&module).exists() {
            true => Ok(()),
            false => Err(LoadError(format!("{module} is missing; install it with `apt install apache2-bin`"))),
        }
    }

    pub(super) fn prepare(&mut self, workspace: &Workspace) -> Result<(), LoadError> {
        self.check()?;
        let pages = self.pages(workspace);
        let made = fs::create_dir_all(&pages)
            .and_then(|()| fs::write(pages.join(&load_generator::PATH[1..]), page(self.settings.size as usize)));
        made.map_err(|why| LoadError(format!("the page below {} could not be made: {why}", pages.display())))?;
        if rustix::process::geteuid().is_root() { let_everybody_in(workspace.folder(), &pages) } else { Ok(()) }
    }

    fn pages(&self, workspace: &Workspace) -> PathBuf {
        workspace.folder().join("pages")
    }

    fn run(&mut self, workspace: &Workspace, seed: Seed) -> Result<Vec<Measure>, LoadError> {
        let (sweep, alone) = (self.settings.sweep.clone(), self.settings.connections);
        swept(&sweep, alone, |connections| {
            self.settings.connections = connections;
            self.run_once(workspace, seed)
        })
    }

    fn run_once(&mut self, workspace: &Workspace, seed: Seed) -> Result<Vec<Measure>, LoadError> {
        let Settings { client, connections, requests, keep_alive, .. } = self.settings;
        self.during(workspace, connections, |apache| match client {
            Client::BuiltIn => apache.drive(workspace, seed),
            Client::Ab => {
                let address = format!("http://127.0.0.1:{}{}", apache.port, load_generator::PATH);
                ab::run(workspace, &address, &ab::Plan { connections, requests, keep_alive }, RUN)
            }
        })
    }

    /// Starts the server for this many `connections`, runs `what`, and stops it.
    pub(super) fn during<T>(
        &mut self,
        workspace: &Workspace,
        connections: u64,
        what: impl FnOnce(&Apache) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        self.settings.connections = connections;
        self.port = free_port()?;
        let server = self.start(workspace)?;
        // The server may know why its client got no answers.
        let done = what(self).map_err(|why| server.error(&format!("was running when this happened: {why}")));
        server.stop();
        done
    }

    fn start(&self, workspace: &Workspace) -> Result<Process, LoadError> {
        let (folder, log) = (workspace.folder(), workspace.folder().join("error.log"));
        let file = folder.join("httpd.conf");
        let _ = fs::remove_file(&log);
        let written = fs::write(&file, self.configuration(folder, &self.pages(workspace)));
        written.map_err(|why| LoadError(format!("{} could not be written: {why}", file.display())))?;
        let mut command = Command::new(APACHE.find()?);
        command.arg("-f").arg(&file).arg("-DFOREGROUND");
        let mut server = Process::start(workspace, Role::Server, "apache2", &mut command, Some(log))?;
        let port = self.port;
        server.wait_until(START, || serves(port))?;
        Ok(server)
    }

    /// The built-in load generator drives the server that runs.
    pub(super) fn drive(&self, workspace: &Workspace, seed: Seed) -> Result<Vec<Measure>, LoadError> {
        let Settings { pattern, connections, think, rate, keep_alive, warmup, duration, .. } = self.settings;
        let port = u64::from(self.port);
        let settings = load_generator::Settings {
            port,
            pattern,
            connections,
            think,
            rate,
            keep_alive,
            warmup,
            duration,
            seed: seed.0,
        };
        let mut command = self.launcher.command("load-generator", &settings);
        let timeout = Duration::from_nanos(warmup.ns() + duration.ns()) + Duration::from_secs(30);
        let client = Process::start(workspace, Role::Client, "client", &mut command, None)?;
        subprocess::measures(&client.finish(timeout)?)
    }

    fn configuration(&self, folder: &Path, pages: &Path) -> String {
        let workers = self.settings.workers;
        let mpm = match self.mpm {
            "prefork" => format!(
                "StartServers {}\nMinSpareServers 1\nMaxSpareServers {workers}\nServerLimit \
                    {workers}\nMaxRequestWorkers {workers}\n",
                workers.min(self.settings.connections + SPARE)
            ),
            _ => {
                let processes = workers.div_ceil(THREADS);
                let threads = workers.div_ceil(processes);
                let all = processes * threads;
                format!(
                    "StartServers {processes}\nServerLimit {processes}\nThreadsPerChild {threads}\nMinSpareThreads 1\n\
                     MaxSpareThreads {all}\nMaxRequestWorkers {all}\n"
                )
            }
        };
        let (folder, pages) = (folder.display(), pages.display());
        let is_root = rustix::process::geteuid().is_root();
        let user = if is_root { "User nobody\nGroup nogroup\n" } else { "" };
        format!(
            "ServerRoot \"{folder}\"\nDefaultRuntimeDir \"{folder}\"\nPidFile \"{folder}/apache2.pid\"\n\
             ErrorLog \"{folder}/error.log\"\nLogLevel warn\nServerName 127.0.0.1\nListen 127.0.0.1:{port}\n\
             LoadModule mpm_{mpm_name}_module {MODULES}/mod_mpm_{mpm_name}.so\n\
             LoadModule authz_core_module {MODULES}/mod_authz_core.so\n\
             {mpm}{user}ListenBacklog 1024\nKeepAlive On\nMaxKeepAliveRequests 0\nKeepAliveTimeout 60\n\
             DocumentRoot \"{pages}\"\nDefaultType None\n\
             <Directory />\nAllowOverride None\nRequire all denied\n</Directory>\n\
             <Directory \"{pages}\">\nRequire all granted\n</Directory>\n",
            port = self.port,
            mpm_name = self.mpm,
        )
    }
}

/// A page of `bytes` bytes of text lines.
fn page(bytes: usize) -> Vec<u8> {
    b"A page of the race, as plain as can be.\n".iter().copied().cycle().take(bytes).collect()
}

/// Lets the server's user reach `pages`: opens our own folders, and checks that those above are open.
fn let_everybody_in(folder: &Path, pages: &Path) -> Result<(), LoadError> {
    for own in [folder, pages] {
        let opened = fs::set_permissions(own, fs::Permissions::from_mode(0o711));
        opened.map_err(|why| LoadError(format!("{} could not be opened to the server: {why}", own.display())))?;
    }
    let is_closed = |above: &&Path| above.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 == 0);
    match folder.ancestors().find(is_closed) {
        None => Ok(()),
        Some(closed) => Err(LoadError(format!(
            "Apache serves as the user nobody, who may not enter {}; run the race in a folder that all users may enter",
            closed.display()
        ))),
    }
}

/// A free port of 127.0.0.1 below the ephemeral ports.
fn free_port() -> Result<u16, LoadError> {
    // Two that look at the same time must not find the same.
    static LOOKED_AT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let is_free = |port: &u16| TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut ports = (0..2_000).map(|_| first + LOOKED_AT.fetch_add(1, Ordering::Relaxed) % 2_000);
    ports.find(is_free).ok_or_else(|| LoadError("no port of 127.0.0.1 is free".into()))
}

/// True if the server answers.
fn serves(port: u16) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let path = load_generator::PATH;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes())?;
        let mut first = [0; 12];
        stream.read_exact(&mut first)?;
        Ok(&first == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(typed: &[(&str, &str)]) -> String {
        let typed: Vec<(String, String)> = typed.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        crate::load::make("apache-prefork", &typed, &Launcher::of("x".into())).err().expect("refused").0
    }

    #[test]
    fn settings_that_do_not_go_together_are_refused_with_what_to_change() {
        assert!(why(&[("client", "ab"), ("pattern", "open")]).contains("client = built-in"));
        assert!(why(&[("client", "ab"), ("requests", "4"), ("connections", "5")]).contains("raise requests"));
        assert!(why(&[("keep_alive", "on"), ("workers", "4"), ("connections", "5")]).contains("raise workers"));
    }

    #[test]
    fn a_folder_that_the_server_may_not_enter_is_named() {
        let closed = tempfile::tempdir().expect("a folder");
        let folder = closed.path().join("race");
        let pages = folder.join("pages");
        fs::create_dir_all(&pages).expect("made");
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).expect("ours");
        let why = let_everybody_in(&folder, &pages).unwrap_err().0;
        assert!(why.contains(&closed.path().display().to_string()) && why.contains("nobody"), "{why}");
    }
}
