//! Who asks the modelled web servers: `ab` on the same machine, the same from outside, or users who do not wait for
//! each other.

use super::parts::*;

goodness_core::choices! {
    /// Who asks. `ab`: one process on the machine that keeps so many connections open and polls them. `outside`: as many
    /// askers outside, each asking again at once. `open`: requests at random times, whatever became of those before.
    pub enum Client { Ab = "ab", Outside = "outside", Open = "open" }
}

/// What is asked of a server.
pub struct Load {
    pub client: Client,
    pub clients: u64,
    pub requests: u64,
    /// CPU time `ab` takes to open a connection and send the request, and to read the answer and close.
    pub connect: Span,
    pub read: Span,
    /// Mean time between two requests of [`Client::Open`].
    pub arrivals: Span,
    pub start: Span,
    /// Connections that may wait to be accepted.
    pub backlog: u64,
}

/// Where the server finds connections, and where it sends answers: `None` for clients outside, who take them at once.
#[derive(Clone, Copy)]
pub struct Front {
    pub listen: Mailbox,
    pub back: Option<Mailbox>,
}

impl Front {
    /// Sends the last byte and waits until the client has closed the connection, as a lingering close does.
    pub fn send_and_linger(self) -> Op {
        self.back.map_or(Op::Answer, Op::PassAndWait)
    }

    /// Sends the last byte and goes on.
    pub fn send(self) -> Op {
        self.back.map_or(Op::Answer, Op::Pass)
    }
}

/// Seconds between repetitions of the first packet of a connection: five of them, twice as long each time, in Linux 2.6.
const REPEATED: [u64; 5] = [3, 6, 12, 24, 48];

/// Adds the clients and says where they are reached.
pub fn clients(plan: &mut Plan, load: &Load) -> Front {
    let (listen, pot) = (plan.socket(), plan.pot());
    plan.warmup = load.start;
    match load.client {
        Client::Ab => {
            let inbox = plan.socket();
            let begin = if load.clients > load.backlog { network(plan, load, listen) } else { listen };
            add(plan, "ab", 1, &ab(load, begin, inbox, pot));
            Front { listen, back: Some(inbox) }
        }
        Client::Outside => {
            add_outside(plan, "client", load.clients, &asker(load, pot, Span::ZERO, Op::Ask(listen)));
            Front { listen, back: None }
        }
        Client::Open => {
            add_outside(plan, "clients", 1, &asker(load, pot, load.arrivals, Op::Post(listen)));
            Front { listen, back: None }
        }
    }
}

/// Where connections begin that may find too many others waiting to be accepted: the network drops such a one, and
/// brings it again after each of [`REPEATED`]. Without a limit it would be [`Op::Post`] to `listen`.
///
/// Left out: that Linux answers two of those it has no room for, whose clients repeat their request instead.
fn network(plan: &mut Plan, load: &Load, listen: Mailbox) -> Mailbox {
    let begin = plan.socket();
    let mut script = Script { ops: vec![Op::Receive(begin)], ..Script::default() };
    for wait in REPEATED {
        let room = script.ops.len();
        script.ops.push(Op::Room { mailbox: listen, most: load.backlog, or_to: 0 });
        script.ops.extend([Op::Pass(listen), Op::Jump(0)]);
        branch_to_here(&mut script, room);
        script.ops.push(Op::Do(Step::Sleep(Span::from_s(wait))));
    }
    script.ops.extend([Op::Pass(listen), Op::Jump(0)]);
    add_outside(plan, "network", load.clients, &Arc::new(script));
    begin
}

/// Opens all connections, then takes answers in the order in which they came, opening another connection for each.
/// The answer counts as read when the client has closed; that is what wakes a server that lingers.
fn ab(load: &Load, listen: Mailbox, inbox: Mailbox, pot: u16) -> Arc<Script> {
    let open = |script: &mut Script| {
        let turn = script.ops.len();
        script.ops.push(Op::Turn { pot, of: load.requests, or_to: 0 });
        script.ops.extend([compute_about(load.connect), Op::Post(listen)]);
        branch_to_here(script, turn);
    };
    let mut script = Script { ops: vec![Op::Do(Step::Sleep(load.start))], ..Script::default() };
    open(&mut script);
    script.repeat_from(1, Some(load.clients));
    let body = script.ops.len();
    script.ops.extend([Op::Receive(inbox), compute_about(load.read), Op::Answer]);
    open(&mut script);
    script.repeat_from(body, Some(load.requests));
    Arc::new(script)
}

/// Asks until the requests are used up.
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
