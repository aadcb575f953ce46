//! Maps sectors to zone, cylinder, surface and position on the track.

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// First cylinder.
    pub first: u32,
    /// Last cylinder.
    pub last: u32,
    /// Sectors of a track.
    pub sectors: u32,
    /// Track skew in sectors, within a cylinder.
    pub track_skew: u32,
    /// The same from the last track of a cylinder to the first of the next.
    pub cylinder_skew: u32,
    /// Unused sectors at the start of the zone.
    pub unused_front: u32,
    /// Spare sectors at its end.
    pub spares: u32,
}

/// The order of surfaces within a cylinder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Every cylinder starts at surface 0.
    CylinderFirst,
    /// Every second cylinder of a zone goes from the last surface to the first, without head switch between cylinders.
    Serpentine,
}

/// The position of the heads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    /// Cylinder.
    pub cylinder: u32,
    /// Selected surface.
    pub head: u32,
}

/// Position of one sector, and its track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Cylinder and surface.
    pub arm: Arm,
    /// Its number on the track, counted from the track's first sector.
    pub index: u32,
    /// Sectors of the track.
    pub slots: u32,
    /// Slot of the track's first sector, counted from the index mark.
    pub skew: u32,
    /// Number on the track of the first sector in use.
    pub first_index: u32,
    /// Address of the first sector in use on the track.
    pub first: u64,
    /// The address after the last on the track.
    pub end: u64,
}

/// A zone with its addresses.
#[derive(Clone, Copy, Debug)]
struct Laid {
    zone: Zone,
    first: u64,
    end: u64,
}

/// The layout of a disk.
#[derive(Clone, Debug)]
pub struct Geometry {
    heads: u32,
    order: Order,
    zones: Vec<Laid>,
    sectors: u64,
}

impl Geometry {
    /// Lays `zones` out over `heads` surfaces. The disk has the first `sectors` of them, or fewer if they hold less.
    #[must_use]
    pub fn new(heads: u32, order: Order, zones: &[Zone], sectors: u64) -> Geometry {
        let mut next = 0;
        let mut laid = Vec::with_capacity(zones.len());
        for zone in zones {
            let tracks = u64::from(zone.last - zone.first + 1) * u64::from(heads);
            let unused = u64::from(zone.unused_front) + u64::from(zone.spares);
            let end = next + (tracks * u64::from(zone.sectors)).saturating_sub(unused);
            laid.push(Laid { zone: *zone, first: next, end });
            next = end;
        }
        Geometry { heads, order, zones: laid, sectors: sectors.min(next) }
    }

    /// Capacity in sectors.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Cylinders, from the first to the last in use.
    #[must_use]
    pub fn cylinders(&self) -> u32 {
        self.zones.last().map_or(1, |laid| laid.zone.last + 1)
    }

    /// Position of the sector at `address`; addresses past the end count as the last one.
    #[must_use]
    pub fn locate(&self, address: u64) -> Place {
        let address = address.min(self.sectors - 1);
        let laid = &self.zones[self.zones.partition_point(|laid| laid.end <= address)];
        let zone = &laid.zone;
        let (slots, front) = (u64::from(zone.sectors), u64::from(zone.unused_front));
        let from_zone = address - laid.first + front;
        let (track, index) = (from_zone / slots, (from_zone % slots) as u32);
        let (cylinder, nth) = ((track / u64::from(self.heads)) as u32, (track % u64::from(self.heads)) as u32);
        let backwards = self.order == Order::Serpentine && cylinder % 2 == 1;
        let head = if backwards { self.heads - 1 - nth } else { nth };
        let per_cylinder = u64::from(self.heads - 1) * u64::from(zone.track_skew) + u64::from(zone.cylinder_skew);
        let skew = u64::from(nth) * u64::from(zone.track_skew) + u64::from(cylinder) * per_cylinder;
        let first = (laid.first + track * slots).saturating_sub(front).max(laid.first);
        Place {
            arm: Arm { cylinder: zone.first + cylinder, head },
            index,
            slots: zone.sectors,
            skew: (skew % slots) as u32,
            first_index: index - (address - first) as u32,
            first,
            end: (laid.first + (track + 1) * slots - front).min(laid.end).min(self.sectors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: Zone =
        Zone { first: 0, last: 3, sectors: 10, track_skew: 2, cylinder_skew: 5, unused_front: 0, spares: 0 };

    fn arm(cylinder: u32, head: u32) -> Arm {
        Arm { cylinder, head }
    }

    #[test]
    fn addresses_run_along_tracks_then_surfaces_then_cylinders() {
        let g = Geometry::new(3, Order::CylinderFirst, &[ZONE], 1000);
        assert_eq!((g.sectors(), g.cylinders()), (120, 4));
        let at = |address| (g.locate(address).arm, g.locate(address).index);
        assert_eq!(at(9), (arm(0, 0), 9));
        assert_eq!(at(10), (arm(0, 1), 0));
        assert_eq!(at(30), (arm(1, 0), 0));
        assert_eq!(at(119), (arm(3, 2), 9));
    }

    #[test]
    fn a_serpentine_changes_cylinder_without_a_head_switch() {
        let g = Geometry::new(3, Order::Serpentine, &[ZONE], 1000);
        let order: Vec<Arm> = (0..9).map(|track| g.locate(track * 10).arm).collect();
        let heads: Vec<u32> = order.iter().map(|arm| arm.head).collect();
        assert_eq!(heads, [0, 1, 2, 2, 1, 0, 0, 1, 2]);
        assert_eq!(order[3].cylinder, 1);
    }

    #[test]
    fn skews_add_up_from_track_to_track() {
        let g = Geometry::new(3, Order::CylinderFirst, &[ZONE], 1000);
        let skews: Vec<u32> = (0..5).map(|track| g.locate(track * 10).skew).collect();
        // 2 for each surface, 5 from cylinder to cylinder, modulo the 10 sectors of a track.
        assert_eq!(skews, [0, 2, 4, 9, 1]);
    }

    #[test]
    fn unused_sectors_and_spares_have_no_addresses() {
        let zones =
            [Zone { unused_front: 4, spares: 3, last: 0, ..ZONE }, Zone { first: 5, last: 6, sectors: 8, ..ZONE }];
        let g = Geometry::new(1, Order::CylinderFirst, &zones, 1000);
        assert_eq!(g.sectors(), 10 - 7 + 16);
        let first = g.locate(0);
        assert_eq!((first.index, first.first_index, first.first, first.end), (4, 4, 0, 3));
        let second = g.locate(3);
        assert_eq!((second.arm.cylinder, second.index, second.slots, second.first, second.end), (5, 0, 8, 3, 11));
        assert_eq!(g.locate(1 << 60), g.locate(18), "addresses past the end are held to the last");
    }
}
