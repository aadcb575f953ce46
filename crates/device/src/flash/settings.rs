//! Settings of a flash drive, the presets, and quantities derived from them.
//!
//! Sources: the parameter sets of MQSim, FEMU and NVMeVirt, `specs/io-schedulers.md` section 12. Each preset names the
//! values it takes from elsewhere or infers.

use goodness_core::{SECTOR_BYTES, Span};

goodness_core::tunables! {
    /// A drive: flash array, controller, interface and initial state.
    pub struct Settings {
        /// Capacity in sectors of 512 bytes.
        sectors: u64 = 1 << 27, in 2048 => 1 << 42;
        /// Simulated fraction of the capacity (1/fold); addresses are taken modulo its size.
        fold: u64 = 1, in 1 => 65536;
        /// Flash beyond the capacity, in percent of the capacity.
        over_provision: u64 = 7, in 1 => 400;
        /// Initial state: no, half or all addresses written in order (`empty`, `half`, `full`), or overwritten at
        /// random for a long time (`aged`).
        start: Start = Start::Full;
        /// Channels.
        channels: u64 = 8, in 1 => 64;
        /// Independent units (dies) of each channel.
        luns: u64 = 8, in 1 => 64;
        /// Planes of a LUN, which program and erase together.
        planes: u64 = 2, in 1 => 16;
        /// Flash page in bytes.
        page: u64 = 8192, in 512 => 262_144;
        /// Pages of a block in one plane.
        pages_per_block: u64 = 256, in 2 => 65536;
        /// Bytes per entry of the mapping table.
        mapping_unit: u64 = 4096, in 512 => 65536;
        /// Order in which rows are spread: over the channels first, or over the LUNs of a channel first.
        stripe: Stripe = Stripe::Channel;
        /// Sensing a page.
        read: Span = Span::from_us(75), in Span::ZERO => Span::from_s(1);
        /// Sensing a page of the slower kind (every second one).
        read_upper: Span = Span::from_us(75), in Span::ZERO => Span::from_s(1);
        /// Programming a page, in all planes of a LUN at once.
        program: Span = Span::from_us(750), in Span::ZERO => Span::from_s(1);
        /// Erasing a block, in all planes of a LUN at once.
        erase: Span = Span::from_us(3800), in Span::ZERO => Span::from_s(1);
        /// Reads interrupt a program or an erase, and precede waiting ones.
        suspend: bool = false;
        /// Delay before a read interrupts a program.
        suspend_program: Span = Span::from_us(100), in Span::ZERO => Span::from_s(1);
        /// Delay before a read interrupts an erase.
        suspend_erase: Span = Span::from_us(700), in Span::ZERO => Span::from_s(1);
        /// Channel rate in MB/s (10^6 bytes a second).
        channel_rate: u64 = 300, in 1 => 1_000_000;
        /// Rate of the interface to the host in MB/s.
        interface_rate: u64 = 550, in 1 => 1_000_000;
        /// The interface carries both directions at a time.
        duplex: bool = false;
        /// Controller latency of a command, except writes.
        command: Span = Span::from_us(10), in Span::ZERO => Span::from_s(1);
        /// Controller latency of a read of more than one mapping unit.
        command_large: Span = Span::from_us(10), in Span::ZERO => Span::from_s(1);
        /// Controller latency of a write.
        write_command: Span = Span::from_us(10), in Span::ZERO => Span::from_s(1);
        /// Extra controller latency per mapping unit of a write.
        write_unit: Span = Span::ZERO, in Span::ZERO => Span::from_ms(1);
        /// Most commands the controller starts per second; 0 for no limit.
        max_iops: u64 = 100_000, in 0 => 1_000_000_000;
        /// Hardware queues.
        queues: u64 = 1, in 1 => 4096;
        /// Queue depth over all its queues.
        depth: u64 = 32, in 1 => 1_048_576;
        /// Write buffer in KiB.
        buffer: u64 = 1024, in 1 => 1_048_576;
        /// Complete a write when it is in the buffer.
        early_completion: bool = true;
        /// The buffer loses its contents with the power, so flushes and durable writes wait for flash.
        volatile: bool = true;
        /// An idle LUN collects when fewer than this many in a thousand of its blocks are free.
        collect_background: u64 = 50, in 0 => 1000;
        /// Collection takes precedence at this many free blocks per thousand, and at one free block in any case.
        collect_forced: u64 = 5, in 0 => 500;
        /// An idle LUN does not collect blocks with more than this percentage of valid units.
        collect_valid: u64 = 75, in 0 => 100;
        /// Collection moves pages within the LUN, without the channel.
        copyback: bool = true;
        /// Spread of flash times in percent: standard deviation of the logarithm (`log-normal`), or bound (`even`). 0
        /// for none.
        jitter: u64 = 0, in 0 => 100;
        /// Shape of that spread.
        jitter_shape: Shape = Shape::LogNormal;
    }
}

goodness_core::choices! {
    /// State of the drive before the run.
    pub enum Start { Empty = "empty", Half = "half", Full = "full", Aged = "aged" }
}

goodness_core::choices! {
    /// First dimension over which consecutive rows are spread.
    pub enum Stripe { Channel = "channel", Lun = "lun" }
}

goodness_core::choices! {
    /// Distribution of flash times.
    pub enum Shape { LogNormal = "log-normal", Even = "even" }
}

impl Settings {
    /// MQSim's default flash behind SATA: one queue of 32 commands, 550 MB/s, one direction at a time. 8 channels of 4
    /// chips of 2 dies. Over-provisioning as in MQSim's samples and the other two models. Inferred, as no value is
    /// published: 10 us of controller time per command, 100 000 commands per second and a write buffer of 1 MiB.
    #[must_use]
    pub fn ssd() -> Settings {
        Settings::default()
    }

    /// NVMeVirt's profile of a Samsung 970 Pro: 8 channels of 2 LUNs, PCIe at 3360 MB/s. NVMeVirt does not model erase
    /// time and defines pages per block differently, so the erase time is FEMU's and the 256 pages are MQSim's.
    /// Inferred: 500 000 commands per second and 8 queues. The depth of 1024 commands is MQSim's.
    #[must_use]
    pub fn nvme() -> Settings {
        Settings {
            luns: 2,
            planes: 1,
            page: 32768,
            read: Span(29_760),
            read_upper: Span(41_760),
            program: Span::from_us(185),
            erase: Span::from_ms(2),
            channel_rate: 800,
            interface_rate: 3360,
            duplex: true,
            command: Span(21_500),
            command_large: Span(30_500),
            write_command: Span::from_us(4),
            write_unit: Span(460),
            max_iops: 500_000,
            queues: 8,
            depth: 1024,
            ..Settings::default()
        }
    }

    /// FEMU's black-box drive: 8 channels of 8 LUNs, 4 KiB pages, 40/200/2000 us, no write buffer, no controller or
    /// channel cost (10^6 MB/s each), collection at 75 % and 95 % of blocks used.
    #[must_use]
    pub fn femu() -> Settings {
        Settings {
            planes: 1,
            page: 4096,
            read: Span::from_us(40),
            read_upper: Span::from_us(40),
            program: Span::from_us(200),
            erase: Span::from_ms(2),
            over_provision: 34,
            channel_rate: 1_000_000,
            interface_rate: 1_000_000,
            duplex: true,
            command: Span::ZERO,
            command_large: Span::ZERO,
            write_command: Span::ZERO,
            max_iops: 0,
            queues: 8,
            depth: 1024,
            early_completion: false,
            volatile: false,
            collect_background: 250,
            collect_forced: 50,
            ..Settings::default()
        }
    }
}

/// Least age limit. A choice: far above any operation of flash.
const AGE_LIMIT_MIN: Span = Span::from_s(1);

impl Settings {
    /// Time to serve a full queue of the largest commands one after the other, each behind an erase; a second at least.
    /// The drive works in order of readiness and has no other limit.
    #[must_use]
    pub fn age_limit(&self, sectors_max: u32) -> Span {
        let bytes = u64::from(sectors_max) * SECTOR_BYTES;
        let transfer = |rate: u64| bytes * 1000 / rate;
        let rows = bytes.div_ceil(self.page).div_ceil(self.channels * self.luns);
        let sense = self.read.max(self.read_upper).ns();
        let paced = 1_000_000_000u64.checked_div(self.max_iops).unwrap_or(0);
        let controller = self.command_large.max(self.write_command).ns() + paced;
        let array = rows * (sense + self.program.ns()) + self.erase.ns();
        let command = controller + transfer(self.channel_rate) + transfer(self.interface_rate) + array;
        Span(command.saturating_mul(self.depth)).max(AGE_LIMIT_MIN)
    }
}

/// Most mapping units of flash: the tables take 8 bytes each.
const PLACES_MAX: u64 = 1 << 29;
/// Blocks of flash.
const BLOCKS_MAX: u64 = 1 << 23;

/// Sizes of the geometry. A row is programmed at once by a LUN: one page in each plane.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    /// LUNs of the drive.
    pub luns: u32,
    /// LUNs of a channel.
    pub luns_per_channel: u32,
    /// Blocks of a LUN; a block spans its planes.
    pub blocks: u32,
    pub rows_per_block: u32,
    pub units_per_row: u32,
    pub unit_sectors: u32,
    /// Number of simulated units: the capacity, folded.
    pub units: u32,
    /// Collection is forced at this many free blocks of a LUN; at least one, because collection needs one.
    pub forced: u32,
    /// Free blocks of a LUN below which it collects when idle.
    pub background: u32,
    /// LUNs in the order in which rows go to them.
    pub order: Vec<u32>,
}

impl Geometry {
    /// Derives the geometry from settings.
    ///
    /// # Errors
    /// Sizes that do not divide each other, or a drive too small for its blocks, as a sentence.
    pub fn new(settings: &Settings) -> Result<Geometry, String> {
        let units_per_row = units_per_row(settings)?;
        let unit = settings.mapping_unit;
        let luns = settings.channels * settings.luns;
        let units = settings.sectors * SECTOR_BYTES / unit / settings.fold;
        let block_units = units_per_row * settings.pages_per_block;
        let blocks = (units * (100 + settings.over_provision)).div_ceil(100 * luns * block_units);
        let forced = (blocks * settings.collect_forced / 1000).max(1);
        // Collection must gain a row: up to a row less a unit of each block is out of its reach.
        let scattered = (blocks * (units_per_row - 1)).div_ceil(block_units);
        let needed = units.div_ceil(luns * block_units) + forced + 3 + scattered;
        if units == 0 || blocks < needed {
            return Err(format!(
                "each LUN has {blocks} blocks and needs {needed} (data, two being written, some kept free and some to \
                 collect); set sectors or over_provision larger, or fold, pages_per_block or collect_forced smaller"
            ));
        }
        if blocks * luns * block_units >= PLACES_MAX || blocks * luns >= BLOCKS_MAX {
            return Err(format!(
                "{} mapping units in {} blocks are more than {PLACES_MAX} in {BLOCKS_MAX}; set fold, mapping_unit or \
                 pages_per_block larger",
                blocks * luns * block_units,
                blocks * luns
            ));
        }
        let small = |n: u64| n as u32;
        Ok(Geometry {
            luns: small(luns),
            luns_per_channel: small(settings.luns),
            blocks: small(blocks),
            rows_per_block: small(settings.pages_per_block),
            units_per_row: small(units_per_row),
            unit_sectors: small(unit / SECTOR_BYTES),
            units: small(units),
            forced: small(forced),
            background: small(blocks * settings.collect_background / 1000),
            order: order(settings),
        })
    }

    pub fn units_per_block(&self) -> u32 {
        self.rows_per_block * self.units_per_row
    }

    /// Units of flash.
    pub fn places(&self) -> usize {
        self.luns as usize * self.blocks as usize * self.units_per_block() as usize
    }

    /// The LUN of a block's number.
    pub fn lun_of_block(&self, block: u32) -> u32 {
        block / self.blocks
    }

    /// The LUN of a unit of flash.
    pub fn lun_of_place(&self, place: u32) -> u32 {
        self.lun_of_block(self.block_of_place(place))
    }

    pub fn block_of_place(&self, place: u32) -> u32 {
        place / self.units_per_block()
    }
}

/// Mapping units of a row.
fn units_per_row(settings: &Settings) -> Result<u64, String> {
    let Settings { mapping_unit: unit, page, planes, .. } = *settings;
    if unit % SECTOR_BYTES != 0 || page % unit != 0 {
        return Err(format!(
            "a page of {page} bytes is not a whole number of mapping units of {unit} bytes, or those not of sectors; \
             set page and mapping_unit to powers of two, page the larger"
        ));
    }
    let units_per_row = page / unit * planes;
    if settings.buffer * 1024 < units_per_row * unit {
        return Err(format!(
            "a write buffer of {} KiB does not hold the {} bytes that a LUN programs at once; set buffer larger",
            settings.buffer,
            units_per_row * unit
        ));
    }
    Ok(units_per_row)
}

/// Order in which LUNs get rows. LUN numbers count through a channel first.
fn order(settings: &Settings) -> Vec<u32> {
    let (channels, luns) = (settings.channels as u32, settings.luns as u32);
    match settings.stripe {
        Stripe::Channel => (0..luns).flat_map(|lun| (0..channels).map(move |channel| channel * luns + lun)).collect(),
        Stripe::Lun => (0..channels * luns).collect(),
    }
}
