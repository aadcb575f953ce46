//! Control commands of ublk: add, configure, start, stop, remove and recover a device.

use super::abi::{self, ControlBody, DeviceState, Params};
use super::error::ElevateError;
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// The kernel's control device for all ublk devices.
const DOOR: &str = "/dev/ublk-control";

/// Time limit for the kernel to notice a dead server. A choice: it waits for I/O in flight.
const RELEASE: Duration = Duration::from_secs(30);

/// The open control device.
pub struct Control {
    door: File,
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
}

impl Control {
    /// Opens `/dev/ublk-control`.
    ///
    /// # Errors
    /// No root, no ublk driver, or no io_uring.
    pub fn open() -> Result<Control, ElevateError> {
        let uid = goodness_sys::effective_user();
        if uid != 0 {
            return Err(ElevateError::NotRoot { uid });
        }
        let door = OpenOptions::new().read(true).write(true).open(DOOR);
        let door = door.map_err(|source| ElevateError::NoDriver { source })?;
        let ring = IoUring::builder().build(4).map_err(|source| ElevateError::NoRing { source })?;
        Ok(Control { door, ring })
    }

    /// Sends one command and waits for the result.
    fn command(&mut self, number: u32, body: ControlBody) -> io::Result<i32> {
        let mut bytes = [0u8; 80];
        // SAFETY: the body is plain memory of 32 bytes without padding, and there is room for it.
        unsafe { bytes.as_mut_ptr().cast::<ControlBody>().write_unaligned(body) };
        let command = opcode::UringCmd80::new(types::Fd(self.door.as_raw_fd()), number).cmd(bytes).build();
        // SAFETY: what the body points to outlives this call, which waits for the answer.
        unsafe { self.ring.submission().push(&command) }.map_err(io::Error::other)?;
        loop {
            match self.ring.submit_and_wait(1) {
                Err(why) if why.kind() != io::ErrorKind::Interrupted => return Err(why),
                _ => {}
            }
            if let Some(answer) = self.ring.completion().next() {
                return match answer.result() {
                    result @ 0.. => Ok(result),
                    error => Err(io::Error::from_raw_os_error(-error)),
                };
            }
        }
    }

    fn about(&mut self, number: u32, device: u32, value: u64) -> io::Result<i32> {
        self.command(number, ControlBody { device, queue: u16::MAX, value, ..ControlBody::default() })
    }

    /// Adds a device as described by `info`. The kernel updates `info`, including the device number.
    pub fn add(&mut self, info: &mut DeviceState) -> io::Result<()> {
        let (address, length) = (&raw mut *info as u64, size_of::<DeviceState>() as u16);
        let body = ControlBody { device: info.device, queue: u16::MAX, length, address, ..ControlBody::default() };
        self.command(abi::ADD_DEV, body).map(drop)
    }

    /// State of `device`; `None` if there is no such device.
    pub fn state(&mut self, device: u32) -> io::Result<Option<DeviceState>> {
        let mut info = DeviceState::default();
        let (address, length) = (&raw mut info as u64, size_of::<DeviceState>() as u16);
        let body = ControlBody { device, queue: u16::MAX, length, address, ..ControlBody::default() };
        match self.command(abi::GET_DEV_INFO, body) {
            Ok(_) => Ok(Some(info)),
            Err(why) if matches!(why.raw_os_error(), Some(libc::ENODEV | libc::EINVAL)) => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// Sets the parameters of the disk of `device`.
    pub fn set_params(&mut self, device: u32, params: &Params) -> io::Result<()> {
        let (address, length) = (&raw const *params as u64, size_of::<Params>() as u16);
        let body = ControlBody { device, queue: u16::MAX, length, address, ..ControlBody::default() };
        self.command(abi::SET_PARAMS, body).map(drop)
    }

    /// Makes the disk appear; process `server` must serve its queue already.
    pub fn start(&mut self, device: u32, server: u32) -> io::Result<()> {
        self.about(abi::START_DEV, device, u64::from(server)).map(drop)
    }

    /// Removes the disk after the I/O in flight is done.
    pub fn stop(&mut self, device: u32) -> io::Result<()> {
        self.about(abi::STOP_DEV, device, 0).map(drop)
    }

    /// Removes the device. It must not be open.
    pub fn delete(&mut self, device: u32) -> io::Result<()> {
        self.about(abi::DEL_DEV, device, 0).map(drop)
    }

    /// Registers this process as the new server of a device whose server has died. Waits until the kernel has noticed
    /// the death.
    pub fn start_recovery(&mut self, device: u32) -> io::Result<()> {
        let until = Instant::now() + RELEASE;
        loop {
            match self.about(abi::START_USER_RECOVERY, device, 0) {
                Err(why) if why.raw_os_error() == Some(libc::EBUSY) && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                result => return result.map(drop),
            }
        }
    }

    /// Ends recovery: process `server` serves the queue, and waiting requests come now.
    pub fn end_recovery(&mut self, device: u32, server: u32) -> io::Result<()> {
        self.about(abi::END_USER_RECOVERY, device, u64::from(server)).map(drop)
    }
}
