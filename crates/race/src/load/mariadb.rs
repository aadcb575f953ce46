//! MariaDB under sysbench's OLTP test.
//!
//! The tables are created once per race and kept from run to run, as in the article of 2005. Each run starts the
//! server, warms it up and measures.

use super::mariadb_server::{Home, INSTALL, SERVER};
use super::sysbench::{self, End, SYSBENCH, Test};
use super::{About, Load, Registered};
use crate::load_error::LoadError;
use crate::measure::Measure;
use crate::parameter::Counts;
use crate::subprocess::Launcher;
use crate::sweep::swept;
use crate::workspace::Workspace;
use goodness_core::{Seed, Span, choices, tunables};

choices! {
    /// Kind of transaction.
    pub enum Script {
        ReadWrite = "read-write",
        ReadOnly = "read-only",
        PointSelect = "point-select",
        WriteOnly = "write-only",
    }
}

choices! {
    /// Time at which the transaction log is flushed to disk.
    pub enum Flush { Commit = "commit", Second = "second" }
}

tunables! {
    pub struct Settings {
        /// Kind of transaction: sysbench's test oltp_read_write and the like.
        script: Script = Script::ReadWrite;
        /// Connections, each making one transaction after the other.
        threads: u64 = 8, in 1 => 1024;
        /// Numbers of connections to test in turn in each run, instead of one; they are appended to the names of the
        /// measures.
        sweep: Counts = Counts::default();
        /// Tables.
        tables: u64 = 1, in 1 => 100;
        /// Rows of a table.
        rows: u64 = 10_000, in 100 => 100_000_000;
        /// Transactions per run; auto: as many as the duration allows.
        requests: Option<u64> = None, in 1 => 100_000_000;
        /// Measured time in whole seconds, if `requests` is not given.
        duration: Span = Span::from_s(5), in Span::from_s(1) => Span::from_s(3600);
        /// Time before anything is counted, in whole seconds.
        warmup: Span = Span::from_s(1), in Span::from_s(1) => Span::from_s(600);
        /// Memory for pages of tables, in MiB.
        buffer_pool: u64 = 128, in 5 => 1_048_576;
        /// Time of writing the log to disk: at each commit or each second.
        flush: Flush = Flush::Commit;
    }
}

/// MariaDB with sysbench.
#[derive(Debug)]
pub struct Mariadb {
    settings: Settings,
    home: Option<Home>,
}

impl Registered for Mariadb {
    const ABOUT: About = About {
        name: "mariadb",
        summary: "MariaDB on tables of its own answers sysbench's OLTP transactions through a socket.",
        needs: &[SERVER, INSTALL, SYSBENCH],
        measures: &["throughput", "request_latency_mean", "request_latency_p95", "request_latency_max_minus_min"],
    };
    type Settings = Settings;

    fn new(settings: Settings, _launcher: Launcher) -> Result<Self, LoadError> {
        Ok(Mariadb { settings, home: None })
    }
}

impl Mariadb {
    fn test(&self) -> Test {
        let Settings { tables, rows, threads, .. } = self.settings;
        let script = match self.settings.script {
            Script::ReadWrite => "oltp_read_write",
            Script::ReadOnly => "oltp_read_only",
            Script::PointSelect => "oltp_point_select",
            Script::WriteOnly => "oltp_write_only",
        };
        Test { script, tables, rows, threads }
    }

    fn options(&self) -> Vec<String> {
        let Settings { threads, buffer_pool, ref sweep, .. } = self.settings;
        let threads = sweep.0.last().copied().unwrap_or(threads);
        let flush = u8::from(self.settings.flush == Flush::Commit);
        vec![
            format!("--innodb-buffer-pool-size={buffer_pool}M"),
            format!("--innodb-flush-log-at-trx-commit={flush}"),
            format!("--max-connections={}", threads + 10),
            "--innodb-log-file-size=64M".into(),
        ]
    }
}

impl Load for Mariadb {
    fn prepare(&mut self, workspace: &Workspace) -> Result<(), LoadError> {
        Self::ABOUT.needs.iter().try_for_each(|program| program.find().map(|_| ()))?;
        let home = Home::new(workspace, workspace.folder().join("mariadb"), self.options())?;
        home.install(workspace)?;
        let server = home.start(workspace)?;
        let made = self.test().prepare(workspace, &home.socket);
        server.stop();
        self.home = Some(home);
        made
    }

    fn run(&mut self, workspace: &Workspace, seed: Seed) -> Result<Vec<Measure>, LoadError> {
        let home = self.home.as_ref().ok_or_else(|| LoadError("mariadb was not prepared".into()))?;
        let server = home.start(workspace)?;
        let end = self.settings.requests.map_or(End::After(self.settings.duration), End::Transactions);
        let measured = swept(&self.settings.sweep, self.settings.threads, |threads| {
            let test = Test { threads, ..self.test() };
            test.run(workspace, &home.socket, End::After(self.settings.warmup), seed.stream("warm-up", 0).0)
                .and_then(|_| test.run(workspace, &home.socket, end, seed.0))
                .and_then(|printed| sysbench::measures(&printed))
        });
        let measured = measured.map_err(|why| server.error(&format!("was running when this happened: {why}")));
        server.stop();
        measured
    }
}
