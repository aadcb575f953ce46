//! MySQL with InnoDB under sysbench's OLTP test, both on the machine.

use super::parts::*;
use goodness_core::{LockId, LockKind};

pub const ABOUT: About = About {
    name: "mysql-oltp",
    summary: "MySQL under sysbench OLTP: a server thread per connection, row locks, a disk, one log flush for all that \
        commit.",
    source: "sysbench 0.4's complex transaction: begin, 10 point queries, 4 range queries, 2 updates, a delete and an \
             insert, commit. InnoDB keeps row locks until the log is on disk; who commits during a flush shares the \
             next one (general knowledge). Times are parameters without source.",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Threads of sysbench, and as many connections.
        threads: u64 = 8, in 1 => 10_000;
        /// Transactions in all; the threads share them.
        requests: u64 = 10_000, in 1 => 100_000_000;
        /// CPU time of sysbench between an answer and the next query, ±10 %.
        client: Span = Span::from_us(50), in Span::from_us(1) => Span::from_s(1);
        /// CPU time of begin and of commit before the log is flushed, each, ±10 %.
        frame: Span = Span::from_us(100), in Span::from_us(1) => Span::from_s(1);
        /// CPU time of a point query, ±10 %.
        point: Span = Span::from_us(200), in Span::from_us(1) => Span::from_s(1);
        /// CPU time of a range query of a hundred rows, ±10 %.
        range: Span = Span::from_us(800), in Span::from_us(1) => Span::from_s(1);
        /// CPU time of an update, delete or insert, ±10 %.
        write: Span = Span::from_us(300), in Span::from_us(1) => Span::from_s(1);
        /// Number of frequently written rows. All other rows are too many to conflict.
        rows: u64 = 10_000, in 3 => 10_000_000;
        /// Writes to those rows per thousand.
        hot: u64 = 750, in 0 => 1_000;
        /// Point queries and writes per thousand that read a page from disk first.
        missed: u64 = 5, in 0 => 1_000;
        /// Disk time to read a page, exponential with this mean; one page at a time.
        disk: Span = Span::from_ms(8), in Span::from_us(1) => Span::from_s(1);
        /// Disk time of a log flush, ±10 %.
        flush: Span = Span::from_us(1000), in Span::from_us(1) => Span::from_s(1);
        /// Time at which sysbench begins; the server has been idle until then.
        start: Span = Span::from_s(1), in Span::from_us(1) => Span::from_s(100);
        /// Longest duration of the run.
        duration: Span = Span::from_s(3600), in Span::from_us(1) => Span::from_s(360_000);
    }
}

/// Queries of a transaction: begin and commit, point and range queries, updates and delete, insert.
const POINTS: u64 = 10;
const RANGES: u64 = 4;
/// Rows locked by a transaction: two updated, one deleted (and inserted again).
const LOCKED: u64 = 3;
const QUERIES: u64 = 2 + POINTS + RANGES + LOCKED + 1;

/// Places of data and log.
#[derive(Clone, Copy)]
struct Storage {
    /// Requests for pages.
    pages: Mailbox,
    /// Requests to flush the log.
    log: Mailbox,
    /// The first of the locks of often written rows.
    rows: LockId,
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let storage = storage(&mut plan, settings);
    let connections: Vec<Mailbox> = (0..settings.threads).map(|_| plan.mailbox()).collect();
    let pot = plan.pot();
    for connection in &connections {
        add(&mut plan, "mysqld", 1, &session(settings, storage, *connection));
    }
    for connection in &connections {
        add(&mut plan, "sysbench", 1, &client(settings, *connection, pot));
    }
    let server = connections.len();
    for (index, task) in plan.tasks.iter_mut().enumerate() {
        task.task.address_space = Some(u32::from(index >= server));
        task.name = format!("{}-{}", if index < server { "mysqld" } else { "sysbench" }, index % server);
    }
    plan.warmup = settings.start;
    plan
}

/// One disk that reads one page at a time, and the log on it. Flush requests during a flush are all served by the next
/// one.
fn storage(plan: &mut Plan, settings: &Settings) -> Storage {
    let (pages, log) = (plan.mailbox(), plan.mailbox());
    let rows = LockId(plan.locks.len() as u32);
    // InnoDB grants a row to the transaction that has waited longest.
    plan.locks.extend((0..settings.rows).map(|_| LockKind::Fifo));
    add_outside(plan, "disk", 1, &forever(vec![Op::Receive(pages), Op::SleepExponential(settings.disk), Op::Reply]));
    let flush = vec![Op::Receive(log), Op::Gather(log), sleep_about(settings.flush), Op::Reply, Op::ReplyGathered];
    add_outside(plan, "log", 1, &forever(flush));
    Storage { pages, log, rows }
}

/// A thread of sysbench: runs the queries of a transaction in order and times them together.
fn client(settings: &Settings, connection: Mailbox, pot: u16) -> Arc<Script> {
    let ops = vec![
        Op::Do(Step::Sleep(settings.start)),
        Op::Turn { pot, of: settings.requests, or_to: 0 },
        Op::Begin,
        compute_about(settings.client),
        Op::Ask(connection),
    ];
    let mut script = Script { ops, ..Script::default() };
    script.repeat_from(3, Some(QUERIES));
    script.ops.extend([compute_about(settings.client), Op::Served, Op::Jump(1)]);
    branch_to_here(&mut script, 1);
    Arc::new(script)
}

/// A server thread: runs one transaction after another, one query at a time.
fn session(settings: &Settings, storage: Storage, connection: Mailbox) -> Arc<Script> {
    let mut script = Script::default();
    query(&mut script, connection, |script| script.ops.push(compute_about(settings.frame)));
    let body = script.ops.len();
    query(&mut script, connection, |script| {
        read_page(script, settings, storage);
        script.ops.push(compute_about(settings.point));
    });
    script.repeat_from(body, Some(POINTS));
    let body = script.ops.len();
    query(&mut script, connection, |script| script.ops.push(compute_about(settings.range)));
    script.repeat_from(body, Some(RANGES));
    for place in 0..LOCKED {
        query(&mut script, connection, |script| {
            lock_row(script, settings, storage, place);
            read_page(script, settings, storage);
            script.ops.push(compute_about(settings.write));
        });
    }
    query(&mut script, connection, |script| script.ops.push(compute_about(settings.write)));
    query(&mut script, connection, |script| {
        script.ops.extend([compute_about(settings.frame), Op::AskDevice(storage.log)]);
        script.ops.extend((0..LOCKED).map(|_| Op::UnlockLast));
    });
    forever_script(script)
}

fn query(script: &mut Script, connection: Mailbox, work: impl FnOnce(&mut Script)) {
    script.ops.push(Op::Receive(connection));
    work(script);
    script.ops.push(Op::Reply);
}

fn read_page(script: &mut Script, settings: &Settings, storage: Storage) {
    let missed = script.ops.len();
    script.ops.push(Op::Chance { millionths: settings.missed as u32 * 1_000, or_to: 0 });
    script.ops.push(Op::AskDevice(storage.pages));
    branch_to_here(script, missed);
}

/// Locks a frequently written row. Each write of a transaction draws from its own third of the rows, in order, so that
/// transactions never deadlock. InnoDB would abort one of them, which is not modelled.
fn lock_row(script: &mut Script, settings: &Settings, storage: Storage, place: u64) {
    let third = settings.rows / LOCKED;
    let hot = script.ops.len();
    script.ops.push(Op::Chance { millionths: settings.hot as u32 * 1_000, or_to: 0 });
    script.ops.push(Op::LockOneOf { first: LockId(storage.rows.0 + (place * third) as u32), count: third as u32 });
    branch_to_here(script, hot);
}
