//! Structures and numbers of the ublk interface (`linux/ublk_cmd.h`), written from `Documentation/block/ublk.rst`.
//!
//! Commands are ioctl-encoded, which needs Linux 6.4. The older plain numbers are not supported.

/// Offset of the request descriptors in the device's mapping.
pub const DESCRIPTORS: i64 = 0;
/// Result of a command that ends because the device is removed.
pub const ABORTED: i32 = -libc::ENODEV;
/// Most tags of a queue.
pub const TAGS_MAX: u16 = 4096;

/// The device survives its server and accepts a new one.
pub const F_USER_RECOVERY: u64 = 1 << 3;
/// Requests the dead server left unanswered are sent again to the new one.
pub const F_USER_RECOVERY_REISSUE: u64 = 1 << 4;
/// Commands are ioctl-encoded.
pub const F_CMD_IOCTL_ENCODE: u64 = 1 << 6;

/// The state of a device without disk.
pub const S_DEAD: u16 = 0;
/// State of a device that is being served.
pub const S_LIVE: u16 = 1;
/// State of a device whose server has died and that waits for a new one.
pub const S_QUIESCED: u16 = 2;

/// Seeking costs.
pub const ATTR_ROTATIONAL: u32 = 1 << 1;
/// Acknowledged writes are durable only after a flush.
pub const ATTR_VOLATILE_CACHE: u32 = 1 << 2;
/// Writes can be durable when they are acknowledged.
pub const ATTR_FUA: u32 = 1 << 3;

/// [`Params::basic`] is set.
pub const PARAM_BASIC: u32 = 1 << 0;
/// [`Params::discard`] is set.
pub const PARAM_DISCARD: u32 = 1 << 1;

/// Read sectors.
pub const OP_READ: u8 = 0;
/// Write sectors.
pub const OP_WRITE: u8 = 1;
/// Make acknowledged writes durable.
pub const OP_FLUSH: u8 = 2;
/// Contents are no longer needed.
pub const OP_DISCARD: u8 = 3;
/// Zeroes, without data.
pub const OP_WRITE_ZEROES: u8 = 5;
/// In the flags of a request: durable when acknowledged.
pub const IO_FUA: u32 = 1 << 13;
/// In the flags of zeroes: space must stay allocated.
pub const IO_NOUNMAP: u32 = 1 << 15;

/// The body of a control command.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlBody {
    pub device: u32,
    pub queue: u16,
    pub length: u16,
    pub address: u64,
    pub value: u64,
    pub path_length: u16,
    pub pad: u16,
    pub reserved: u32,
}

/// State of a device (`ublksrv_ctrl_dev_info`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceState {
    pub queues: u16,
    pub depth: u16,
    pub state: u16,
    pub pad0: u16,
    pub buffer_bytes: u32,
    pub device: u32,
    pub server: i32,
    pub pad1: u32,
    pub flags: u64,
    /// For servers only; the kernel stores it.
    pub mark: u64,
    pub owner: [u32; 2],
    pub reserved: [u64; 2],
}

/// Size and limits of a disk.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Basic {
    pub attributes: u32,
    pub logical_shift: u8,
    pub physical_shift: u8,
    pub optimal_shift: u8,
    pub minimal_shift: u8,
    pub sectors_max: u32,
    pub chunk_sectors: u32,
    pub sectors: u64,
    pub virtual_boundary: u64,
}

/// Limits of discards and zeroes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard {
    pub alignment: u32,
    pub granularity: u32,
    pub sectors_max: u32,
    pub zeroes_sectors_max: u32,
    pub segments_max: u16,
    pub reserved: u16,
}

/// Parameters of a disk.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Params {
    pub length: u32,
    pub types: u32,
    pub basic: Basic,
    pub discard: Discard,
    pub pad: u32,
}

/// The request of a tag; written by the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptor {
    pub op_flags: u32,
    pub sectors: u32,
    pub sector: u64,
    pub address: u64,
}

impl Descriptor {
    /// Operation, one of `OP_…`.
    pub fn op(&self) -> u8 {
        (self.op_flags & 0xff) as u8
    }

    /// True if flag `IO_…` is set in `op_flags`.
    pub fn has(&self, flag: u32) -> bool {
        self.op_flags & flag != 0
    }
}

/// The body of a command of a queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueBody {
    pub queue: u16,
    pub tag: u16,
    pub result: i32,
    pub address: u64,
}

const READ: u32 = 2;
const READ_WRITE: u32 = 3;

/// ioctl number of ublk, as built by `_IOR('u', …)` and `_IOWR('u', …)`.
const fn encoded(direction: u32, number: u32, bytes: usize) -> u32 {
    direction << 30 | (bytes as u32) << 16 | (b'u' as u32) << 8 | number
}

const fn control(direction: u32, number: u32) -> u32 {
    encoded(direction, number, size_of::<ControlBody>())
}

/// Get the state of a device.
pub const GET_DEV_INFO: u32 = control(READ, 0x02);
/// Create a device.
pub const ADD_DEV: u32 = control(READ_WRITE, 0x04);
/// Remove a device.
pub const DEL_DEV: u32 = control(READ_WRITE, 0x05);
/// Create its disk.
pub const START_DEV: u32 = control(READ_WRITE, 0x06);
/// Remove its disk.
pub const STOP_DEV: u32 = control(READ_WRITE, 0x07);
/// Set the parameters of its disk.
pub const SET_PARAMS: u32 = control(READ_WRITE, 0x08);
/// Starts recovery with a new server.
pub const START_USER_RECOVERY: u32 = control(READ_WRITE, 0x10);
/// The new server is ready.
pub const END_USER_RECOVERY: u32 = control(READ_WRITE, 0x11);
/// Wait for the first request of a tag.
pub const FETCH: u32 = encoded(READ_WRITE, 0x20, size_of::<QueueBody>());
/// Complete the request of a tag and wait for the next one.
pub const COMMIT_AND_FETCH: u32 = encoded(READ_WRITE, 0x21, size_of::<QueueBody>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_kernels_header() {
        let sizes = [size_of::<ControlBody>(), size_of::<DeviceState>(), size_of::<Basic>(), size_of::<Discard>()];
        assert_eq!(sizes, [32, 64, 32, 20]);
        assert_eq!([size_of::<Params>(), size_of::<Descriptor>(), size_of::<QueueBody>()], [64, 24, 16]);
    }

    #[test]
    fn commands_have_the_numbers_of_the_kernels_header() {
        // _IOWR('u', 0x04, 32 bytes), _IOR('u', 0x02, 32 bytes), _IOWR('u', 0x21, 16 bytes).
        assert_eq!([ADD_DEV, GET_DEV_INFO, COMMIT_AND_FETCH], [0xc020_7504, 0x8020_7502, 0xc010_7521]);
    }
}
