//! Clients of the modelled web servers: `ab` on the same machine, the same outside, or independent users.

use super::parts::*;
use goodness_core::BehaviourId;

goodness_core::choices! {
    /// Kind of client. `ab`: one process on the machine that polls this many connections. `outside`: as many clients
    /// outside, each sending its next request at once. `open`: requests at random times, independent of earlier ones.
    pub enum Client { Ab = "ab", Outside = "outside", Open = "open" }
}

/// Requests to a server.
pub struct Load {
    pub client: Client,
    pub clients: u64,
    pub requests: u64,
    /// CPU time `ab` takes to open a connection and send the request, and to read the reply and close.
    pub connect: Span,
    pub read: Span,
    /// Mean time between requests of [`Client::Open`].
    pub arrivals: Span,
    pub start: Span,
    /// Connections that may wait to be accepted.
    pub backlog: u64,
    /// Wake the server when the request has arrived, not when the connection has (TCP_DEFER_ACCEPT, Apache since 2.2).
    pub deferred: bool,
}

/// The server's mailboxes: for connections, and for replies. `None` for clients outside, which take replies at once.
#[derive(Clone, Copy)]
pub struct Front {
    pub listen: Mailbox,
    pub back: Option<Mailbox>,
    /// Accept a connection only once its request has arrived.
    pub deferred: bool,
}

impl Front {
    /// Waits for the request of the last accepted connection, if it may not have arrived yet.
    pub fn read_request(self) -> Option<Op> {
        (!self.deferred).then_some(Op::AwaitSender)
    }

    /// Sends the last byte and waits until the client has closed the connection, as a lingering close does.
    pub fn send_and_linger(self) -> Op {
        self.back.map_or(Op::Answer, Op::PassAndWait)
    }

    /// Sends the last byte without waiting.
    pub fn send(self) -> Op {
        self.back.map_or(Op::Answer, Op::Pass)
    }
}

/// Seconds between retransmissions of a connection's first packet: five, doubling each time, in Linux 2.6.
const FIRST_PACKET: [u64; 5] = [3, 6, 12, 24, 48];
/// Milliseconds between retransmissions of the first data: at least 200, doubling each time.
const FIRST_DATA: [u64; 8] = [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600];
/// Number of data retransmissions (3 s) after which the reply to the first packet has been repeated as well.
const YOUNG: usize = 4;
/// Limit of young connections in a full backlog; further ones are dropped.
const YOUNG_MAX: u64 = 1;

/// Adds the clients and returns their mailboxes.
pub fn clients(plan: &mut Plan, load: &Load) -> Front {
    let (listen, pot) = (plan.socket(), plan.pot());
    plan.warmup = load.start;
    match load.client {
        Client::Ab => {
            let inbox = plan.socket();
            let begin = network(plan, load, listen, inbox);
            shell(plan, load.start);
            add(plan, "ab", 1, &ab(load, begin, inbox, pot));
            if let Some(ab) = plan.tasks.last_mut() {
                ab.start = Start::Forked;
            }
            Front { listen, back: Some(inbox), deferred: load.deferred }
        }
        Client::Outside => {
            add_outside(plan, "client", load.clients, &asker(load, pot, Span::ZERO, Op::Ask(listen)));
            Front { listen, back: None, deferred: true }
        }
        Client::Open => {
            add_outside(plan, "clients", 1, &asker(load, pot, load.arrivals, Op::Post(listen)));
            Front { listen, back: None, deferred: true }
        }
    }
}

/// Opens a connection. With room in the accept queue, it is open for both sides at once. Without, Linux still answers
/// two clients, which send their data and repeat it until there is room. It drops the others, which repeat their first
/// packet.
///
/// Not modelled: retransmissions of data count from its first sending, not from the answer.
fn network(plan: &mut Plan, load: &Load, listen: Mailbox, inbox: Mailbox) -> Mailbox {
    if load.deferred && load.clients <= load.backlog {
        return listen;
    }
    let (begin, young) = (plan.socket(), plan.pot());
    let mut script = Script { ops: vec![Op::Receive(begin)], ..Script::default() };
    let established = |script: &mut Script| {
        if load.deferred {
            script.ops.push(Op::Pass(listen));
        } else {
            script.ops.push(Op::Forward { mailbox: listen, mark: false });
            script.ops.push(Op::Forward { mailbox: inbox, mark: true });
        }
        script.ops.push(Op::Jump(0));
    };
    for wait in FIRST_PACKET {
        let room = script.ops.len();
        script.ops.push(Op::Room { mailbox: listen, most: load.backlog, or_to: 0 });
        established(&mut script);
        branch_to_here(&mut script, room);
        let full = script.ops.len();
        script.ops.push(Op::AtMost { pot: young, most: YOUNG_MAX, or_to: 0 });
        answered(&mut script, load, (listen, inbox), young);
        branch_to_here(&mut script, full);
        script.ops.push(Op::Do(Step::Sleep(Span::from_s(wait))));
    }
    established(&mut script);
    // One connection a client and some more, so that one that waits long is not taken for a later one.
    add_outside(plan, "network", load.clients * 4, &Arc::new(script));
    begin
}

/// Continues a connection that the client considers established while the server's backlog is full.
fn answered(script: &mut Script, load: &Load, (listen, inbox): (Mailbox, Mailbox), young: u16) {
    let to_server = if load.deferred { Op::Pass(listen) } else { Op::Forward { mailbox: listen, mark: false } };
    script.ops.push(Op::Count { pot: young, into: true });
    if !load.deferred {
        script.ops.push(Op::Forward { mailbox: inbox, mark: true });
    }
    for (repeated, wait) in FIRST_DATA.into_iter().enumerate() {
        script.ops.push(Op::Do(Step::Sleep(Span::from_ms(wait))));
        if repeated + 1 == YOUNG {
            script.ops.push(Op::Count { pot: young, into: false });
        }
        let room = script.ops.len();
        script.ops.push(Op::Room { mailbox: listen, most: load.backlog, or_to: 0 });
        if repeated + 1 < YOUNG {
            script.ops.push(Op::Count { pot: young, into: false });
        }
        script.ops.extend([to_server.clone(), Op::Jump(0)]);
        branch_to_here(script, room);
    }
    script.ops.extend([to_server, Op::Jump(0)]);
}

/// Adds a shell that waits for its user and then starts the next task added, which inherits the shell's scheduling
/// state.
fn shell(plan: &mut Plan, start: Span) {
    let mut script = Script { ops: vec![Op::Do(Step::Sleep(start))], ..Script::default() };
    let (counter, first) = (script.counter(), BehaviourId(plan.tasks.len() as u32 + 1));
    script.ops.push(Op::ForkNext { counter, first, count: 1 });
    add(plan, "shell", 1, &Arc::new(script));
}

/// Opens all connections, then handles events in order: sends the request on a writable connection; reads a reply and
/// opens the next connection. The reply counts as read when the client has closed, which wakes a lingering server.
fn ab(load: &Load, listen: Mailbox, inbox: Mailbox, pot: u16) -> Arc<Script> {
    let parts = if load.deferred { 1 } else { 2 };
    let opening = Span(load.connect.0 / parts);
    let open = |script: &mut Script| {
        let turn = script.ops.len();
        script.ops.push(Op::Turn { pot, of: load.requests, or_to: 0 });
        script.ops.extend([compute_about(opening), Op::Post(listen)]);
        branch_to_here(script, turn);
    };
    let mut script = Script::default();
    open(&mut script);
    script.repeat_from(0, Some(load.clients));
    let next = script.ops.len();
    script.ops.push(Op::Receive(inbox));
    if !load.deferred {
        let marked = script.ops.len();
        script.ops.push(Op::Marked { or_to: 0 });
        script.ops.extend([compute_about(opening), Op::Reply, Op::Jump(next as u32)]);
        branch_to_here(&mut script, marked);
    }
    script.ops.extend([compute_about(load.read), Op::Answer]);
    open(&mut script);
    script.repeat_from(next, Some(load.requests));
    Arc::new(script)
}

/// Sends requests until they are used up.
fn asker(load: &Load, pot: u16, pause: Span, ask: Op) -> Arc<Script> {
    let mut ops = vec![Op::Do(Step::Sleep(load.start)), Op::Turn { pot, of: load.requests, or_to: 0 }];
    if pause > Span::ZERO {
        ops.push(Op::SleepExponential(pause));
    }
    ops.extend([ask, Op::Jump(1)]);
    let mut script = Script { ops, ..Script::default() };
    branch_to_here(&mut script, 1);
    Arc::new(script)
}
