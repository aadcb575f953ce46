//! A private MariaDB server: data and socket in the private folder, no network, no files of an installed server.

use super::Program;
use super::process::Process;
use crate::load_error::LoadError;
use crate::role::Role;
use crate::workspace::Workspace;
use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(super) const SERVER: Program = Program { name: "mariadbd", package: "mariadb-server" };
pub(super) const INSTALL: Program = Program { name: "mariadb-install-db", package: "mariadb-server" };
/// Name of the database.
pub(super) const DATABASE: &str = "race";
/// Time limit for creating the data and starting the server, including recovery after a kill.
const START: Duration = Duration::from_secs(120);
/// Longest path of a socket (`sockaddr_un`).
const SOCKET_MAX: usize = 107;

/// Folder and settings of a server.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) data: PathBuf,
    pub(super) socket: PathBuf,
    /// Further options, as in `--innodb-buffer-pool-size=64M`.
    pub(super) options: Vec<String>,
}

impl Home {
    /// A home below `workspace` with its data in `data`.
    pub(super) fn new(workspace: &Workspace, data: PathBuf, options: Vec<String>) -> Result<Home, LoadError> {
        let socket = workspace.folder().join("mariadb.socket");
        if socket.as_os_str().len() > SOCKET_MAX {
            let path = socket.display();
            return Err(LoadError(format!(
                "{path} is too long for a socket; run the race in a folder with a shorter path"
            )));
        }
        Ok(Home { data, socket, options })
    }

    /// Creates empty data, replacing old data.
    pub(super) fn install(&self, workspace: &Workspace) -> Result<(), LoadError> {
        let _ = fs::remove_dir_all(&self.data);
        let mut command = Command::new(INSTALL.find()?);
        command.arg("--no-defaults").args(user()).arg(format!("--datadir={}", self.data.display()));
        command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        // Tables of InnoDB must lie where the server looks for them later.
        command.args(self.options.iter().filter(|option| option.starts_with("--innodb-data")));
        let install = Process::start(workspace, Role::Client, INSTALL.name, &mut command, None)?;
        install.finish(START).map(|_| ())
    }

    /// Starts the server with its database and waits for its greeting.
    pub(super) fn start(&self, workspace: &Workspace) -> Result<Process, LoadError> {
        self.start_with(workspace, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE};\n"))
    }

    /// Starts the server, which executes `statements` first (one per line), and waits for its greeting.
    pub(super) fn start_with(&self, workspace: &Workspace, statements: &str) -> Result<Process, LoadError> {
        let (folder, log) = (workspace.folder(), workspace.folder().join("mariadb.log"));
        let (_, _) = (fs::remove_file(&log), fs::remove_file(&self.socket));
        let first = folder.join("first.sql");
        let written = fs::write(&first, statements);
        written.map_err(|why| LoadError(format!("{} could not be written: {why}", first.display())))?;
        let option = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let mut command = Command::new(SERVER.find()?);
        command.arg("--no-defaults").args(user()).args([
            "--skip-networking",
            "--skip-log-bin",
            "--performance-schema=OFF",
        ]);
        command.args([option("datadir", &self.data), option("socket", &self.socket), option("tmpdir", &self.data)]);
        command.args([
            option("pid-file", &folder.join("mariadb.pid")),
            option("log-error", &log),
            option("init-file", &first),
        ]);
        let mut server = Process::start(workspace, Role::Server, SERVER.name, command.args(&self.options), Some(log))?;
        server.wait_until(START, || greets(&self.socket))?;
        Ok(server)
    }
}

/// The user to run as: it refuses to run as root unless told to.
fn user() -> Option<&'static str> {
    rustix::process::geteuid().is_root().then_some("--user=root")
}

/// True if a server sends a greeting of protocol version 10.
fn greets(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else { return false };
    let mut first = [0; 5];
    let bounded = stream.set_read_timeout(Some(Duration::from_secs(1)));
    bounded.and_then(|()| stream.read_exact(&mut first)).is_ok() && first[4] == 10
}
