//! The table of cells within bounds.

use super::perfect::Perfect;
use super::score::{CLASSES, Case, FAR, far, within};

/// The counts within bounds as a table, beside those of a perfect model, and under each class its worst cells.
#[must_use]
pub fn table(cases: &[Case], perfect: &Perfect, worst: usize) -> String {
    let mut text = String::new();
    for class in CLASSES {
        let (inside, all) = within(cases, class);
        if all == 0 {
            continue;
        }
        let best = perfect.mean(|cases| within(cases, class).0);
        text += &format!("{class:<20} {inside:>3} of {all}, a perfect model {best:.1}\n");
        let mut outside: Vec<&Case> = cases.iter().filter(|it| it.class() == class && !it.is_within()).collect();
        outside.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
        for it in outside.iter().take(worst) {
            let cell = format!("{} {}", it.load, it.guest.name());
            text += &format!(
                "    {cell:<32} {:<18} played {:.4} ({:.4}…{:.4}), simulated {:.4}\n",
                it.figure, it.played, it.range[0], it.range[1], it.simulated
            );
        }
    }
    let best = perfect.mean(far);
    text + &format!("migrations off by more than a factor of {FAR}: {}, a perfect model {best:.1}\n", far(cases))
}
