//! The blocks of each LUN: free, open or closed. One open block takes host writes, another takes units moved by
//! collection.

use super::mapping::{Mapping, NONE};
use super::settings::Geometry;
use std::collections::VecDeque;

/// An open block, and its next row.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    block: u32,
    row: u32,
}

impl Frontier {
    const CLOSED: Frontier = Frontier { block: NONE, row: 0 };
}

/// All blocks of the drive, by number, starting with LUN 0.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// Free blocks by LUN, least recently erased first, which keeps wear even.
    free: Vec<VecDeque<u32>>,
    host: Vec<Frontier>,
    moves: Vec<Frontier>,
    /// Rows programmed since the last erase, by block. Only full blocks are collected.
    rows: Vec<u32>,
    forced: usize,
}

impl Blocks {
    /// Closes blocks with initial data; the others are free.
    pub fn new(geometry: &Geometry, mapping: &Mapping) -> Blocks {
        let luns = geometry.luns as usize;
        let mut blocks = Blocks {
            free: (0..luns).map(|_| VecDeque::with_capacity(geometry.blocks as usize)).collect(),
            host: vec![Frontier::CLOSED; luns],
            moves: vec![Frontier::CLOSED; luns],
            rows: vec![geometry.rows_per_block; luns * geometry.blocks as usize],
            forced: geometry.forced as usize,
        };
        for block in 0..geometry.luns * geometry.blocks {
            if mapping.valid(block) == 0 {
                blocks.erase(geometry, block);
            }
        }
        blocks
    }

    /// Free blocks of a LUN.
    pub fn free(&self, lun: u32) -> usize {
        self.free[lun as usize].len()
    }

    /// True if collection is forced: the blocks that are free are kept for it.
    pub fn is_short(&self, lun: u32) -> bool {
        self.free(lun) <= self.forced
    }

    /// True if the LUN has a row for the host.
    pub fn has_row(&self, lun: u32) -> bool {
        self.host[lun as usize].block != NONE || !self.is_short(lun)
    }

    /// Place of the host's next row, which must exist.
    pub fn host_row(&mut self, geometry: &Geometry, lun: u32) -> u32 {
        Blocks::row(geometry, &mut self.host[lun as usize], &mut self.free[lun as usize])
    }

    /// First place for the next row of moved units. At least one block is kept free for it.
    pub fn move_row(&mut self, geometry: &Geometry, lun: u32) -> u32 {
        Blocks::row(geometry, &mut self.moves[lun as usize], &mut self.free[lun as usize])
    }

    fn row(geometry: &Geometry, frontier: &mut Frontier, free: &mut VecDeque<u32>) -> u32 {
        if frontier.block == NONE {
            frontier.block = free.pop_front().expect("a block is kept free for each who writes");
            frontier.row = 0;
        }
        let place = (frontier.block * geometry.rows_per_block + frontier.row) * geometry.units_per_row;
        frontier.row += 1;
        if frontier.row == geometry.rows_per_block {
            *frontier = Frontier::CLOSED;
        }
        place
    }

    /// Records that the row at `place` was programmed.
    pub fn programmed(&mut self, geometry: &Geometry, mapping: &mut Mapping, place: u32) {
        let block = geometry.block_of_place(place);
        self.rows[block as usize] += 1;
        if self.rows[block as usize] == geometry.rows_per_block {
            mapping.block_is_full(geometry.lun_of_block(block));
        }
    }

    /// The full block of a LUN with the fewest valid units (greedy); the lowest number among equals.
    pub fn victim(&self, geometry: &Geometry, mapping: &Mapping, lun: u32) -> Option<u32> {
        let blocks = lun * geometry.blocks..(lun + 1) * geometry.blocks;
        blocks.filter(|b| self.rows[*b as usize] == geometry.rows_per_block).min_by_key(|b| mapping.valid(*b))
    }

    /// Erases a block without valid units.
    pub fn erase(&mut self, geometry: &Geometry, block: u32) {
        self.rows[block as usize] = 0;
        self.free[geometry.lun_of_block(block) as usize].push_back(block);
    }
}
