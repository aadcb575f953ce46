//! Shares of dirty memory.
//!
//! Each device, and on it each task group, may have a part of the dirty pages "that relates to its current average
//! writeout speed in relation to the other devices" (`Documentation/ABI/testing/sysfs-class-bdi` of the kernel,
//! `min_ratio`), so that the writers of a slow disk, or of a group whose writes are limited, do not take all of it from
//! the others. That groups have such parts as devices do is inferred.

use goodness_core::{Span, Time};

/// Time after which a write counts half. Inferred, as the speed that the kernel measures is of some seconds.
const HALF_LIFE: Span = Span::from_s(3);

/// Whose write-back of a file it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The writer, by the caller's number.
    pub writer: u32,
    /// A device and a group on it, by the caller's number.
    pub domain: u32,
}

/// Dirty pages of each domain, and the pages that it wrote back lately.
#[derive(Debug)]
pub struct Shares {
    domains: Vec<Domain>,
    /// Sum of `written` of all domains.
    written: u64,
    /// Time at which all of it is halved.
    halved: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Domain {
    dirty: u32,
    writing: u32,
    /// Pages written back lately.
    written: u64,
}

impl Shares {
    /// No dirty pages, in `domains` domains.
    pub fn new(domains: usize) -> Shares {
        Shares { domains: vec![Domain::default(); domains], written: 0, halved: Time::ZERO + HALF_LIFE }
    }

    /// Number of domains.
    pub fn count(&self) -> u32 {
        self.domains.len() as u32
    }

    /// A page of `domain` became dirty.
    pub fn soiled(&mut self, domain: u32) {
        self.domains[domain as usize].dirty += 1;
    }

    /// `pages` dirty pages of `domain` are on their way to the device.
    pub fn begun(&mut self, domain: u32, pages: u32) {
        let it = &mut self.domains[domain as usize];
        (it.dirty, it.writing) = (it.dirty - pages, it.writing + pages);
    }

    /// `pages` pages of `domain` are written.
    pub fn written(&mut self, now: Time, domain: u32, pages: u32) {
        self.age(now);
        let it = &mut self.domains[domain as usize];
        it.writing -= pages;
        it.written += u64::from(pages);
        self.written += u64::from(pages);
    }

    fn age(&mut self, now: Time) {
        while now >= self.halved && self.written > 0 {
            self.domains.iter_mut().for_each(|it| it.written /= 2);
            self.written = self.domains.iter().map(|it| it.written).sum();
            self.halved += HALF_LIFE;
        }
        if self.written == 0 {
            self.halved = now + HALF_LIFE;
        }
    }

    /// Part of `limit` that is of `domain`. Before anything was written, all that have such pages have equal parts.
    pub fn part(&self, domain: u32, limit: u32) -> u32 {
        match self.written {
            0 => limit / self.domains.iter().filter(|it| it.unclean() > 0).count().max(1) as u32,
            all => (u64::from(limit) * self.domains[domain as usize].written / all) as u32,
        }
    }

    /// Pages of `domain` that are dirty.
    pub fn dirty(&self, domain: u32) -> u32 {
        self.domains[domain as usize].dirty
    }

    /// Pages of `domain` that are dirty or being written.
    pub fn unclean(&self, domain: u32) -> u32 {
        self.domains[domain as usize].unclean()
    }

    /// Pages of all domains that are dirty or being written.
    pub fn all_unclean(&self) -> u32 {
        self.domains.iter().map(|it| it.unclean()).sum()
    }
}

impl Domain {
    fn unclean(self) -> u32 {
        self.dirty + self.writing
    }
}
