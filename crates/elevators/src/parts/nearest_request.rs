//! Chooses the nearer of two requests by the cost rule of AS and CFQ (`specs/io-schedulers.md` section 5, layer 1).
//!
//! A request ahead of the head costs its distance. One behind costs its distance times a penalty, up to a limit. Beyond
//! the limit the head would wrap around: any other request is better, and of two such the lower sector is.

use crate::parts::sorted::{Sectors, Sorted};
use goodness_core::RequestId;
use std::cmp::Reverse;

/// Limit and penalty of backward seeks.
#[derive(Clone, Copy, Debug)]
pub struct Backward {
    /// Sectors.
    pub max: u64,
    /// Cost of a backward sector, relative to a forward one.
    pub penalty: u64,
}

/// Sort key: less is better. Of equal costs, the higher sector wins.
#[inline]
fn cost(back: Backward, head: u64, sector: u64) -> (bool, u64, Reverse<u64>) {
    if sector >= head {
        (false, sector - head, Reverse(sector))
    } else if head - sector <= back.max {
        (false, (head - sector).saturating_mul(back.penalty), Reverse(sector))
    } else {
        (true, sector, Reverse(sector))
    }
}

/// The better one of two that may be there.
#[inline]
pub fn better(
    links: &Sectors,
    back: Backward,
    head: u64,
    a: Option<RequestId>,
    b: Option<RequestId>,
) -> Option<RequestId> {
    let (Some(first), Some(second)) = (a, b) else { return a.or(b) };
    let takes_second = cost(back, head, links.sector(second)) < cost(back, head, links.sector(first));
    Some(if takes_second { second } else { first })
}

/// The better neighbour of `request` in the order: its successor (the lowest one after the highest) or its predecessor.
#[inline]
pub fn beside(order: &Sorted, links: &Sectors, back: Backward, head: u64, request: RequestId) -> Option<RequestId> {
    let next = order.next(links, request).or_else(|| order.lowest(links).filter(|lowest| *lowest != request));
    better(links, back, head, next, order.prev(links, request))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sector chosen of two, from head 1000 with a backward limit of 500.
    fn chosen(a: u64, b: u64) -> u64 {
        let (mut links, mut order) = (Sectors::default(), Sorted::default());
        links.reserve(2);
        order.insert(&mut links, RequestId(0), a);
        order.insert(&mut links, RequestId(1), b);
        let back = Backward { max: 500, penalty: 2 };
        let taken = better(&links, back, 1000, Some(RequestId(0)), Some(RequestId(1))).expect("one of two");
        assert_eq!(better(&links, back, 1000, Some(RequestId(1)), Some(RequestId(0))), Some(taken));
        links.sector(taken)
    }

    #[test]
    fn a_step_back_costs_twice_a_step_ahead() {
        assert_eq!(chosen(1100, 951), 951);
        assert_eq!(chosen(1100, 949), 1100);
    }

    #[test]
    fn at_equal_cost_the_higher_sector_wins() {
        assert_eq!(chosen(1100, 950), 1100);
    }

    #[test]
    fn beyond_the_limit_the_way_leads_around_and_the_lower_sector_wins() {
        assert_eq!(chosen(500, 5000), 500);
        assert_eq!(chosen(499, 5000), 5000);
        assert_eq!(chosen(499, 3), 3);
        assert_eq!(chosen(499, 500), 500);
    }

    #[test]
    fn after_the_highest_comes_the_lowest_unless_it_is_the_only_one() {
        let (mut links, mut order) = (Sectors::default(), Sorted::default());
        links.reserve(3);
        let back = Backward { max: 0, penalty: 2 };
        order.insert(&mut links, RequestId(0), 800);
        assert_eq!(beside(&order, &links, back, 808, RequestId(0)), None);
        order.insert(&mut links, RequestId(1), 80);
        order.insert(&mut links, RequestId(2), 400);
        assert_eq!(beside(&order, &links, back, 808, RequestId(0)), Some(RequestId(1)));
        assert_eq!(beside(&order, &links, Backward { max: 1000, penalty: 2 }, 808, RequestId(0)), Some(RequestId(2)));
    }
}
