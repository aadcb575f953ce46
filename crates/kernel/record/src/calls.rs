//! Decodes the trace of changes: system calls that change a thread's scheduling attributes, with caller, target thread
//! and time of return.

use std::collections::{BTreeMap, HashMap};

use super::format::{EventFormat, Field};

/// `PRIO_PROCESS` of setpriority(2); its other numbers name a process group and a user.
const ONE_PROCESS: i64 = 0;

/// Threads that a call changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// This one.
    Thread(i32),
    /// Several: of a process group, a user or a session.
    Several,
}

/// A call that the kernel granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Time of its return, in nanoseconds on the trace clock.
    pub at_ns: u64,
    /// The threads it changed.
    pub target: Target,
}

/// One event of the trace of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Nanoseconds on the trace clock.
    at_ns: u64,
    caller: i32,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Enter(Target),
    Exit(bool),
    Attached(i32),
}

/// Fields to read of one kind of event.
#[derive(Debug, Clone)]
enum Plan {
    /// A call about its caller.
    EnterOwn,
    /// A call about the thread of this number; 0 is the caller.
    Enter {
        pid: Field,
    },
    /// setpriority(2).
    EnterPriority {
        which: Field,
        who: Field,
    },
    Exit {
        result: Field,
    },
    Attach {
        pid: Field,
    },
}

impl Plan {
    fn of(format: &EventFormat) -> Option<Self> {
        Some(match format.name.as_str() {
            "sys_enter_setsid" => Self::EnterOwn,
            "sys_enter_setpriority" => {
                Self::EnterPriority { which: format.optional("which")?, who: format.optional("who")? }
            }
            "cgroup_attach_task" => Self::Attach { pid: format.optional("pid")? },
            name if name.starts_with("sys_enter_") => Self::Enter { pid: format.optional("pid")? },
            name if name.starts_with("sys_exit_") => Self::Exit { result: format.optional("ret")? },
            _ => return None,
        })
    }

    fn read(&self, caller: i32, event: &[u8]) -> Option<What> {
        let or_caller = |number: i64| if number == 0 { caller } else { number as i32 };
        Some(match self {
            Self::EnterOwn => What::Enter(Target::Thread(caller)),
            Self::Enter { pid } => What::Enter(Target::Thread(or_caller(pid.number(event)?))),
            Self::EnterPriority { which, who } => What::Enter(match which.number(event)? {
                ONE_PROCESS => Target::Thread(or_caller(who.number(event)?)),
                _ => Target::Several,
            }),
            Self::Exit { result } => What::Exit(result.number(event)? >= 0),
            Self::Attach { pid } => What::Attached(pid.number(event)? as i32),
        })
    }
}

/// Decodes events of the trace of changes.
#[derive(Debug)]
pub struct Decoder {
    kind: Field,
    pid: Field,
    plans: BTreeMap<u16, Plan>,
}

impl Decoder {
    /// The decoder for events of these formats; `None` if there is none to decode.
    pub fn new(formats: &[EventFormat]) -> Option<Self> {
        let first = formats.first()?;
        let plans = formats.iter().filter_map(|format| Some((format.id, Plan::of(format)?)));
        Some(Self { kind: first.optional("common_type")?, pid: first.optional("common_pid")?, plans: plans.collect() })
    }

    /// Decodes one event at `at_ns`.
    pub fn decode(&self, at_ns: u64, event: &[u8]) -> Option<Seen> {
        let plan = self.plans.get(&(self.kind.number(event)? as u16))?;
        let caller = self.pid.number(event)? as i32;
        Some(Seen { at_ns, caller, what: plan.read(caller, event)? })
    }
}

/// Joins beginnings and ends of calls. An end may be read before its beginning, because a call can move its caller to
/// another CPU, whose buffer is read at another time.
#[derive(Debug, Default)]
pub struct Calls {
    begun: HashMap<i32, Target>,
    early: Vec<Seen>,
}

impl Calls {
    /// The granted calls that `seen` completes, in order of time.
    pub fn join(&mut self, seen: &mut Vec<Seen>) -> Vec<Call> {
        seen.append(&mut self.early);
        seen.sort_unstable();
        let mut over = Vec::new();
        for event in seen.drain(..) {
            let call = |target| Call { at_ns: event.at_ns, target };
            match event.what {
                What::Enter(target) => drop(self.begun.insert(event.caller, target)),
                What::Attached(tid) => over.push(call(Target::Thread(tid))),
                What::Exit(granted) => match self.begun.remove(&event.caller) {
                    Some(target) if granted => over.push(call(target)),
                    Some(_) => {}
                    // A call that began before the trace did never gets its beginning; one is enough to wait for.
                    None if self.early.iter().all(|early| early.caller != event.caller) => self.early.push(event),
                    None => {}
                },
            }
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str, id: u16, fields: &[&str]) -> EventFormat {
        let mut text = format!(
            "name: {name}\nID: {id}\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
             \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
        );
        for (place, field) in fields.iter().enumerate() {
            text += &format!("\tfield:long {field};\toffset:{};\tsize:8;\tsigned:1;\n", 8 + 8 * place);
        }
        EventFormat::parse(&text).expect("a format")
    }

    fn event(id: u16, pid: i32, arguments: &[i64]) -> Vec<u8> {
        let mut bytes = id.to_ne_bytes().to_vec();
        bytes.extend([0; 2]);
        bytes.extend(pid.to_ne_bytes());
        arguments.iter().for_each(|argument| bytes.extend(argument.to_ne_bytes()));
        bytes
    }

    fn decoder() -> Decoder {
        let formats = [
            format("sys_enter_sched_setaffinity", 1, &["pid", "len"]),
            format("sys_exit_sched_setaffinity", 2, &["ret"]),
            format("sys_enter_setpriority", 3, &["which", "who"]),
            format("sys_exit_setpriority", 4, &["ret"]),
            format("cgroup_attach_task", 5, &["pid"]),
            format("sched_switch", 6, &["prev_pid"]),
        ];
        Decoder::new(&formats).expect("formats")
    }

    fn joined(calls: &mut Calls, events: &[(u64, Vec<u8>)]) -> Vec<Call> {
        let decoder = decoder();
        calls.join(&mut events.iter().filter_map(|(at, event)| decoder.decode(*at, event)).collect())
    }

    #[test]
    fn a_granted_call_changes_its_caller_or_the_thread_it_names() {
        let of = |at_ns, tid| Call { at_ns, target: Target::Thread(tid) };
        let mut calls = Calls::default();
        let own = [(5, event(1, 70, &[0, 8])), (9, event(2, 70, &[0]))];
        assert_eq!(joined(&mut calls, &own), [of(9, 70)]);
        let other = [(15, event(1, 70, &[71, 8])), (19, event(2, 70, &[8])), (20, event(5, 70, &[72]))];
        assert_eq!(joined(&mut calls, &other), [of(19, 71), of(20, 72)]);
        let group = [(25, event(3, 70, &[1, 0])), (29, event(4, 70, &[0]))];
        assert_eq!(joined(&mut calls, &group), [Call { at_ns: 29, target: Target::Several }]);
    }

    #[test]
    fn a_refused_call_and_a_foreign_event_change_nothing() {
        let events = [(5, event(1, 70, &[0, 8])), (9, event(2, 70, &[-22])), (10, event(6, 70, &[70]))];
        assert_eq!(joined(&mut Calls::default(), &events), []);
    }

    #[test]
    fn an_end_that_is_read_before_its_beginning_waits_for_it() {
        let mut calls = Calls::default();
        assert_eq!(joined(&mut calls, &[(9, event(2, 70, &[0]))]), []);
        let call = Call { at_ns: 9, target: Target::Thread(70) };
        assert_eq!(joined(&mut calls, &[(5, event(1, 70, &[0, 8]))]), [call]);
        assert_eq!(joined(&mut calls, &[]), [], "once");
    }
}
