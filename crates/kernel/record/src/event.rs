//! Events as recorded, decoded through the kernel's format files.

use std::collections::BTreeMap;

use super::format::{EventFormat, Field, StateLetters};

/// Events of the system calls that carry messages: begin and end.
pub const CALLS: [&str; 16] = [
    "sys_enter_read",
    "sys_exit_read",
    "sys_enter_readv",
    "sys_exit_readv",
    "sys_enter_recvfrom",
    "sys_exit_recvfrom",
    "sys_enter_recvmsg",
    "sys_exit_recvmsg",
    "sys_enter_write",
    "sys_exit_write",
    "sys_enter_writev",
    "sys_exit_writev",
    "sys_enter_sendto",
    "sys_exit_sendto",
    "sys_enter_sendmsg",
    "sys_exit_sendmsg",
];

/// The field that the event `name` of [`CALLS`] is recorded with.
pub fn call_field(name: &str) -> &'static str {
    if name.starts_with("sys_enter_") { "fd" } else { "ret" }
}

/// A task as an event names it. `prio` is the kernel's: 120 is nice 0; below 100 is real time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRef<'a> {
    /// Name, not necessarily UTF-8.
    pub comm: &'a [u8],
    /// Thread id.
    pub pid: i32,
    /// Kernel priority.
    pub prio: i32,
}

/// Kind of wake-up event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// `sched_waking`: the waker decided.
    Waking,
    /// `sched_wakeup`: the task is on a runqueue.
    Wakeup,
    /// `sched_wakeup_new`: a new task is on a runqueue for the first time.
    New,
}

/// Kind of block event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// A request entered the elevator.
    Insert,
    /// A request went to the device.
    Issue,
    /// The device finished a request.
    Complete,
    /// A block I/O entered the block layer.
    BioQueue,
}

/// Payload of an event, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What<'a> {
    /// A CPU went from `prev` to `next`.
    Switch {
        /// Was running.
        prev: TaskRef<'a>,
        /// Its state at the switch, as bits.
        state: i64,
        /// Runs now.
        next: TaskRef<'a>,
    },
    /// A task was woken.
    Wake {
        /// At which stage.
        stage: Wake,
        /// The task woken.
        task: TaskRef<'a>,
        /// The CPU it is queued on.
        target_cpu: i64,
    },
    /// A task was forked. The event has no priorities; they are 0.
    Fork {
        /// Its maker.
        parent: TaskRef<'a>,
        /// The new task.
        child: TaskRef<'a>,
    },
    /// A process became another program.
    Exec {
        /// Path passed to exec.
        file: &'a [u8],
        /// Thread id now.
        pid: i32,
        /// Thread id of the thread that called exec.
        old_pid: i32,
    },
    /// A task ended.
    Exit {
        /// The task.
        task: TaskRef<'a>,
        /// True for the last thread of its process; `None` on kernels that do not report it.
        group_dead: Option<bool>,
    },
    /// A task moved between CPUs.
    Migrate {
        /// The task.
        task: TaskRef<'a>,
        /// From this CPU.
        from: i64,
        /// To this one.
        to: i64,
    },
    /// The running task begins or ends a system call that carries a message.
    Call {
        /// Name of the event.
        name: &'static str,
        /// At its begin, the descriptor; at its end, the number of bytes or an error.
        value: i64,
    },
    /// A block-layer event.
    Block {
        /// Stage of the request.
        stage: Block,
        /// The request.
        request: BlockRequest<'a>,
    },
}

/// The fields of a block event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRequest<'a> {
    /// Device number: major << 20 | minor.
    pub device: u32,
    /// Operation letters, such as `WS`.
    pub operation: &'a [u8],
    /// Bytes; absent in `block_bio_queue` and `block_rq_complete`.
    pub bytes: Option<i64>,
    /// First 512-byte sector.
    pub sector: i64,
    /// Sectors.
    pub sectors: i64,
    /// I/O priority word, if the kernel records it.
    pub ioprio: Option<i64>,
    /// Name of the task that logged it; absent in completions.
    pub comm: Option<&'a [u8]>,
    /// Error number; completions only.
    pub error: Option<i64>,
}

/// One decoded event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The task that was running on the CPU that logged it.
    pub pid: i32,
    /// The kernel's `common_flags`.
    pub flags: u8,
    /// The kernel's `common_preempt_count`: preempt depth in the low four bits, migrate-disable depth in the high.
    pub depth: u8,
    /// Payload.
    pub what: What<'a>,
}

/// Fields that describe one task in an event.
#[derive(Debug, Clone, Copy)]
struct TaskFields {
    comm: Field,
    pid: Field,
    prio: Option<Field>,
}

impl TaskFields {
    fn find(format: &EventFormat, prefix: &str) -> Result<Self, String> {
        Ok(Self {
            comm: format.field(&format!("{prefix}comm"))?,
            pid: format.field(&format!("{prefix}pid"))?,
            prio: format.optional(&format!("{prefix}prio")),
        })
    }

    fn read<'a>(&self, event: &'a [u8]) -> Option<TaskRef<'a>> {
        let prio = match self.prio {
            Some(field) => field.number(event)? as i32,
            None => 0,
        };
        Some(TaskRef { comm: self.comm.text(event)?, pid: self.pid.number(event)? as i32, prio })
    }
}

/// Fields to decode for each kind of event.
#[derive(Debug, Clone)]
enum Plan {
    Switch { prev: TaskFields, state: Field, next: TaskFields },
    Wake { stage: Wake, task: TaskFields, target_cpu: Field },
    Fork { parent: TaskFields, child: TaskFields },
    Exec { file: Field, pid: Field, old_pid: Field },
    Exit { task: TaskFields, group_dead: Option<Field> },
    Migrate { task: TaskFields, from: Field, to: Field },
    Call { name: &'static str, value: Field },
    Block { stage: Block, fields: Box<BlockFields> },
}

#[derive(Debug, Clone)]
struct BlockFields {
    device: Field,
    operation: Field,
    bytes: Option<Field>,
    sector: Field,
    sectors: Field,
    ioprio: Option<Field>,
    comm: Option<Field>,
    error: Option<Field>,
}

impl Plan {
    fn of(format: &EventFormat) -> Result<Option<Self>, String> {
        let field = |name: &str| format.field(name);
        let wake = |stage| -> Result<Self, String> {
            Ok(Self::Wake { stage, task: TaskFields::find(format, "")?, target_cpu: field("target_cpu")? })
        };
        let block =
            |stage| -> Result<Self, String> { Ok(Self::Block { stage, fields: Box::new(BlockFields::find(format)?) }) };
        Ok(Some(match format.name.as_str() {
            "sched_switch" => Self::Switch {
                prev: TaskFields::find(format, "prev_")?,
                state: field("prev_state")?,
                next: TaskFields::find(format, "next_")?,
            },
            "sched_waking" => wake(Wake::Waking)?,
            "sched_wakeup" => wake(Wake::Wakeup)?,
            "sched_wakeup_new" => wake(Wake::New)?,
            "sched_process_fork" => {
                Self::Fork { parent: TaskFields::find(format, "parent_")?, child: TaskFields::find(format, "child_")? }
            }
            "sched_process_exec" => {
                Self::Exec { file: field("filename")?, pid: field("pid")?, old_pid: field("old_pid")? }
            }
            "sched_process_exit" => {
                Self::Exit { task: TaskFields::find(format, "")?, group_dead: format.optional("group_dead") }
            }
            "sched_migrate_task" => {
                Self::Migrate { task: TaskFields::find(format, "")?, from: field("orig_cpu")?, to: field("dest_cpu")? }
            }
            "block_rq_insert" => block(Block::Insert)?,
            "block_rq_issue" => block(Block::Issue)?,
            "block_rq_complete" => block(Block::Complete)?,
            "block_bio_queue" => block(Block::BioQueue)?,
            other => match CALLS.into_iter().find(|name| *name == other) {
                Some(name) => Self::Call { name, value: field(call_field(name))? },
                None => return Ok(None),
            },
        }))
    }

    fn read<'a>(&self, event: &'a [u8]) -> Option<What<'a>> {
        Some(match self {
            Self::Switch { prev, state, next } => {
                What::Switch { prev: prev.read(event)?, state: state.number(event)?, next: next.read(event)? }
            }
            Self::Wake { stage, task, target_cpu } => {
                What::Wake { stage: *stage, task: task.read(event)?, target_cpu: target_cpu.number(event)? }
            }
            Self::Fork { parent, child } => What::Fork { parent: parent.read(event)?, child: child.read(event)? },
            Self::Exec { file, pid, old_pid } => What::Exec {
                file: file.text(event)?,
                pid: pid.number(event)? as i32,
                old_pid: old_pid.number(event)? as i32,
            },
            Self::Exit { task, group_dead } => What::Exit {
                task: task.read(event)?,
                group_dead: group_dead.and_then(|field| field.number(event)).map(|dead| dead != 0),
            },
            Self::Migrate { task, from, to } => {
                What::Migrate { task: task.read(event)?, from: from.number(event)?, to: to.number(event)? }
            }
            Self::Call { name, value } => What::Call { name, value: value.number(event)? },
            Self::Block { stage, fields } => What::Block { stage: *stage, request: fields.read(event)? },
        })
    }
}

impl BlockFields {
    fn find(format: &EventFormat) -> Result<Self, String> {
        Ok(Self {
            device: format.field("dev")?,
            operation: format.field("rwbs")?,
            bytes: format.optional("bytes"),
            sector: format.field("sector")?,
            sectors: format.field("nr_sector")?,
            ioprio: format.optional("ioprio"),
            comm: format.optional("comm"),
            error: format.optional("error"),
        })
    }

    fn read<'a>(&self, event: &'a [u8]) -> Option<BlockRequest<'a>> {
        let maybe = |field: Option<Field>| field.and_then(|field| field.number(event));
        Some(BlockRequest {
            device: self.device.number(event)? as u32,
            operation: self.operation.text(event)?,
            bytes: maybe(self.bytes),
            sector: self.sector.number(event)?,
            sectors: self.sectors.number(event)?,
            ioprio: maybe(self.ioprio),
            comm: self.comm.and_then(|field| field.text(event)),
            error: maybe(self.error),
        })
    }
}

/// Turns raw bytes into events, for one kernel's formats.
#[derive(Debug)]
pub struct Decoder {
    kind: Field,
    flags: Field,
    depth: Field,
    pid: Field,
    plans: BTreeMap<u16, Plan>,
    /// The letters of `prev_state`.
    pub states: StateLetters,
}

impl Decoder {
    /// Builds the decoder from the formats of the enabled events, which must include `sched_switch`.
    ///
    /// # Errors
    /// Names the event and the field it lacks.
    pub fn new(formats: &[EventFormat]) -> Result<Self, String> {
        let switch = formats.iter().find(|format| format.name == "sched_switch");
        let switch = switch.ok_or("sched_switch is not described")?;
        let mut plans = BTreeMap::new();
        for format in formats {
            if let Some(plan) = Plan::of(format)? {
                plans.insert(format.id, plan);
            }
        }
        Ok(Self {
            kind: switch.field("common_type")?,
            flags: switch.field("common_flags")?,
            depth: switch.field("common_preempt_count")?,
            pid: switch.field("common_pid")?,
            plans,
            states: StateLetters::parse(switch)?,
        })
    }

    /// Decodes one event. `None` for an unrequested kind, or if it is shorter than its format.
    pub fn decode<'a>(&self, event: &'a [u8]) -> Option<Event<'a>> {
        let plan = self.plans.get(&(self.kind.number(event)? as u16))?;
        Some(Event {
            pid: self.pid.number(event)? as i32,
            flags: self.flags.number(event)? as u8,
            depth: self.depth.number(event)? as u8,
            what: plan.read(event)?,
        })
    }
}
