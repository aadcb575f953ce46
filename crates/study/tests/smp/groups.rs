//! Loads in task groups on Linux 7.3 and 6.18 (`fidelity/groups`).

use super::{assert_within, cases, suite, within};
use goodness_study::smp;
use goodness_study::smp::suite::Cell;

/// Figures with a promise.
const CLASSES: [&str; 5] = ["share", "spread", "migrations", "switches", "wakeup_latency_p99"];
/// Cells within bounds, at least, of the seen and the unseen half.
const LEAST: [[usize; 5]; 2] = [[12, 12, 10, 12, 0], [11, 12, 12, 11, 12]];

#[test]
fn groups_share_as_in_kernels() {
    for (is_unseen, least) in [(false, LEAST[0]), (true, LEAST[1])] {
        assert_within(&cases(&suite("groups"), is_unseen, None), CLASSES, least);
    }
}

/// Negative controls: the rules of 7.2 and 7.3, each on cells of the other kind.
#[test]
fn a_queue_for_each_group_is_rejected_on_7_3_and_one_timeline_on_6_18() {
    let suite = suite("groups");
    let (newest, older): (Vec<Cell>, Vec<Cell>) =
        suite.cells().unwrap().into_iter().partition(|cell| cell.guest.kernel == "7.3");
    let shares = |cells: &[Cell], policy| within(&smp::cases(&suite, cells, policy).unwrap(), ["share"])[0];
    let of_7_3 = [None, Some("eevdf:kernel=7.2,preempt=lazy")].map(|policy| shares(&newest, policy));
    let of_6_18 = [None, Some("eevdf:kernel=7.3,preempt=lazy,hrtick=off")].map(|policy| shares(&older, policy));
    println!("of 16 and 8 shares: {of_7_3:?}, {of_6_18:?}");
    assert!(of_7_3[1] <= 9 && of_6_18[1] < of_6_18[0], "{of_7_3:?} of 16, {of_6_18:?} of 8");
}
