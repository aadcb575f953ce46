//! The loaded BPF shim: carries events out of the kernel and commands into it. Dropping it returns all tasks to the
//! kernel's own scheduler.

use super::command::Command;
use super::error::LiveError;
use super::event::KernelEvent;
use goodness_core::Time;
use libbpf_rs::{
    Link, Map, MapCore, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, RingBuffer, RingBufferBuilder,
    libbpf_sys, set_print,
};
use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Compiled by the build script.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shim.bpf.o"));
/// Limit of commands per call of the shim.
const COMMANDS: usize = 64;
/// Number of attempts to load, and the pause between them.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);
/// Time limit for the kernel to enable the loaded policy.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Memory shared with the BPF program; same layout as in `shim.h`.
#[repr(C)]
struct Shared {
    managed: u64,
    lost: u64,
    outdated: u64,
    applied_at: u64,
    exit_code: u64,
    keys: u32,
    count: u32,
    exit_kind: u32,
    wants_ticks: u32,
    reason: [u8; 64],
    message: [u8; 128],
    commands: [[u8; Command::BYTES]; COMMANDS],
}

/// Reads a field of the shared memory. Volatile, because the kernel writes it at any time.
macro_rules! read {
    ($shim:expr, $field:ident) => {
        // SAFETY: the mapping has the size of `Shared` (checked when it was found) and lives as long as the object.
        unsafe { (&raw const (*$shim.shared.as_ptr()).$field).read_volatile() }
    };
}
macro_rules! write {
    ($shared:expr, $field:ident, $value:expr) => {
        // SAFETY: as for reading; nothing else in this process writes to it.
        unsafe { (&raw mut (*$shared.as_ptr()).$field).write_volatile($value) }
    };
}

/// Parameters of loading.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The policy's name.
    pub name: &'a str,
    /// The kernel's numbers of the policy's CPUs, below 64.
    pub cpus: &'a [u16],
    /// True if the policy wants ticks.
    pub ticks: bool,
}

/// The loaded shim. Fields drop in this order; after the first, the kernel's own scheduler runs.
pub struct Shim {
    link: Link,
    ring: RingBuffer<'static>,
    drained: Rc<RefCell<Drained>>,
    shared: NonNull<Shared>,
    /// Descriptors of the program that takes commands, and of the ring buffer; both belong to the object.
    apply: RawFd,
    events: RawFd,
    _object: Object,
}

#[derive(Default)]
struct Drained {
    events: Vec<KernelEvent>,
    /// Records that are no events of this shim.
    strange: u64,
}

impl Shim {
    /// Loads and verifies the shim, and takes over the tasks in class `SCHED_EXT`.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn load(load: &Load) -> Result<Shim, LiveError> {
        hear();
        for _ in 1..TRIES {
            let shim = Shim::attach(load)?;
            if !shim.found_no_room() {
                return Ok(shim);
            }
            drop(shim);
            std::thread::sleep(PAUSE);
        }
        Shim::attach(load)
    }

    /// True if the kernel unloaded the shim at once because storage for a task could not be allocated. This also
    /// happens, about once in fifty loads directly after an unload, if another task's allocation on the same CPU was
    /// interrupted; a second attempt succeeds.
    fn found_no_room(&self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < TIMEOUT {
            if let Some((_, message)) = self.ended() {
                return message.contains("init_task() failed (-12)");
            }
            if std::fs::read_to_string("/sys/kernel/sched_ext/state").is_ok_and(|state| state.trim() == "enabled") {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    fn attach(load: &Load) -> Result<Shim, LiveError> {
        let refused =
            |doing: &'static str| move |error: libbpf_rs::Error| LiveError::Refused { doing, why: explained(&error) };
        let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(refused("reading the shim"))?;
        set_name(&mut open, load.name);
        let mut object = open.load().map_err(refused("loading the shim"))?;
        let shared = find_shared(&object).ok_or_else(|| LiveError::Refused {
            doing: "mapping the shim's memory",
            why: "it is not where it should be".into(),
        })?;
        write!(shared, managed, load.cpus.iter().fold(0, |bits, cpu| bits | 1 << cpu));
        write!(shared, wants_ticks, u32::from(load.ticks));
        let drained = Rc::new(RefCell::new(Drained { events: Vec::with_capacity(1024), strange: 0 }));
        let ring = ring_of(&object, Rc::clone(&drained)).map_err(refused("mapping the ring buffer"))?;
        let mut map =
            object.maps_mut().find(|map| map.map_type() == MapType::StructOps).expect("the shim has struct_ops");
        let link = map.attach_struct_ops().map_err(refused("attaching the shim"))?;
        let apply = object.progs().find(|program| program.name() == "apply").expect("the shim has it");
        let apply = apply.as_fd().as_raw_fd();
        let events = ring_map(&object).as_fd().as_raw_fd();
        Ok(Shim { link, ring, drained, shared, apply, events, _object: object })
    }

    /// Descriptor that becomes readable when there are events.
    pub fn descriptor(&self) -> RawFd {
        self.events
    }

    /// Descriptor that keeps the policy loaded as long as any process has it open.
    pub fn hold(&self) -> RawFd {
        self.link.as_fd().as_raw_fd()
    }

    /// Adds the events that came since the last call to `to`, in the order in which the kernel wrote them.
    ///
    /// # Errors
    /// Events were lost or cannot be read, so later decisions would be wrong.
    pub fn drain(&mut self, to: &mut Vec<KernelEvent>) -> Result<(), LiveError> {
        let answer = self.ring.consume_raw();
        let mut drained = self.drained.borrow_mut();
        to.append(&mut drained.events);
        let lost = read!(self, lost) + drained.strange;
        if lost > 0 || answer < 0 {
            return Err(LiveError::Lost { events: lost });
        }
        Ok(())
    }

    /// Sends `commands` to the kernel. Returns the time at which they had taken effect.
    ///
    /// # Errors
    /// The kernel refuses to run the shim's program.
    pub fn apply(&mut self, commands: &[Command]) -> Result<Time, LiveError> {
        for part in commands.chunks(COMMANDS) {
            for (index, command) in part.iter().enumerate() {
                // SAFETY: `index` is below COMMANDS; otherwise as for writing a field.
                unsafe {
                    (&raw mut (*self.shared.as_ptr()).commands[index]).write_volatile(command.encode());
                }
            }
            write!(self.shared, count, part.len() as u32);
            run(self.apply)?;
        }
        Ok(Time(read!(self, applied_at)))
    }

    /// Commands that were dropped because they came too late.
    pub fn outdated(&self) -> u64 {
        read!(self, outdated)
    }

    /// Reason and message if the kernel ended the policy.
    pub fn ended(&self) -> Option<(String, String)> {
        if read!(self, exit_kind) == 0 {
            return None;
        }
        Some((text(&read!(self, reason)), text(&read!(self, message))))
    }
}

/// Runs a program of the shim once. Takes a descriptor because it is called for every decision, and a search by name
/// would cost time.
fn run(programme: RawFd) -> Result<(), LiveError> {
    // SAFETY: all zeroes are a value of this record of plain numbers and pointers: no input, no output.
    let mut options: libbpf_sys::bpf_test_run_opts = unsafe { std::mem::zeroed() };
    options.sz = size_of_val(&options) as libbpf_sys::size_t;
    // SAFETY: the record lives through the call; the descriptor is that of a loaded programme.
    match unsafe { libbpf_sys::bpf_prog_test_run_opts(programme, &raw mut options) } {
        0 => Ok(()),
        error => {
            let why = std::io::Error::from_raw_os_error(-error).to_string();
            Err(LiveError::Refused { doing: "handing commands over", why })
        }
    }
}

fn text(bytes: &[u8]) -> String {
    let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// Sets the policy's name shown by the kernel, which allows letters, digits, `_` and `.` only.
fn set_name(open: &mut OpenObject, name: &str) {
    const PLACEHOLDER: &[u8] = b"goodness\0";
    let mut ops = open.maps_mut().find(|map| map.name() == "goodness").expect("the shim has struct_ops");
    let bytes = ops.initial_value_mut().expect("struct_ops have a value");
    let at = bytes.windows(PLACEHOLDER.len()).position(|window| window == PLACEHOLDER).expect("it has a name");
    let allowed = |byte: u8| if byte.is_ascii_alphanumeric() || byte == b'.' { byte } else { b'_' };
    // 127 bytes and a zero; the field is the last one and long enough for any registered name.
    for (index, byte) in name.bytes().map(allowed).chain([0]).take(127).enumerate() {
        bytes[at + index] = byte;
    }
}

/// Finds the mapping of the shared memory.
fn find_shared(object: &Object) -> Option<NonNull<Shared>> {
    let map = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"))?;
    let mut size = 0;
    // SAFETY: the map belongs to a live object; libbpf keeps the memory of such maps mapped as long as that lives.
    let memory = unsafe {
        libbpf_sys::bpf_map__initial_value(libbpf_rs::AsRawLibbpf::as_libbpf_object(&map).as_ptr(), &raw mut size)
    };
    let fits = size as usize >= size_of::<Shared>();
    NonNull::new(memory.cast()).filter(|_| fits)
}

fn ring_map(object: &Object) -> Map<'_> {
    object.maps().find(|map| map.name() == "events").expect("the shim has a ring buffer")
}

fn ring_of(object: &Object, drained: Rc<RefCell<Drained>>) -> Result<RingBuffer<'static>, libbpf_rs::Error> {
    let map = ring_map(object);
    let mut builder = RingBufferBuilder::new();
    builder.add(&map, move |bytes| {
        let mut drained = drained.borrow_mut();
        match KernelEvent::decode(bytes) {
            Some(event) => drained.events.push(event),
            None => drained.strange += 1,
        }
        0
    })?;
    builder.build()
}

/// Last message of libbpf, for errors.
static SAID: Mutex<String> = Mutex::new(String::new());
/// Bytes of it to keep: the verifier's log of a rejected program is long, and its end has the reason.
const SAID_MAX: usize = 4000;

fn hear() {
    set_print(Some((PrintLevel::Warn, |_, words| {
        let mut said = SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        said.push_str(&words);
        let mut from = said.len().saturating_sub(SAID_MAX);
        while !said.is_char_boundary(from) {
            from += 1;
        }
        said.drain(..from);
    })));
}

fn explained(error: &libbpf_rs::Error) -> String {
    let said = SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if said.is_empty() { error.to_string() } else { format!("{error}: {}", said.trim()) }
}
