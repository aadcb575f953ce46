//! The answer on one screen.

use super::{FIGURES, Page};
use crate::figure::printable;
use comfy_table::Color;

/// Lines of a terminal, without the one for the next command and two for files.
const LINES: usize = 21;
/// Most caveats.
const CAVEATS: usize = 3;
/// Most lines of a caveat; the detailed form has all of it.
const CAVEAT_LINES: usize = 2;

impl Page<'_> {
    /// Conclusion, commands, ranking, and as many caveats as fit on the screen.
    pub(super) fn answer(&self) -> Vec<String> {
        let result = if self.report.policies.len() == 1 { self.figures(FIGURES) } else { self.ranking() };
        let mut parts =
            vec![self.conclusion(), self.report.commands(), self.violations(), format!("{result}\n{}", self.sample())];
        let used: usize = parts.iter().filter(|it| !it.is_empty()).map(|it| it.lines().count() + 1).sum();
        parts.push(self.caveats(LINES.saturating_sub(used + 1)));
        parts
    }

    /// Input, number of runs and seed in a line.
    fn sample(&self) -> String {
        let r = self.report;
        let runs = r.details.samples.clone().unwrap_or_else(|| super::count(r.runs_per_policy, "run"));
        self.wrap(&format!("{}: {runs}, seed {}; more: -v", printable(&r.input.name), r.seed), "")
    }

    /// At most so many lines of caveats, of which at least one is shown.
    fn caveats(&self, lines: usize) -> String {
        let mut shown: Vec<String> = Vec::new();
        for caveat in self.report.caveats().iter().take(CAVEATS) {
            let text = self.wrap(&format!("- {}", printable(caveat)), "  ");
            let text = cut(&text, usize::from(self.width));
            let used: usize = shown.iter().map(|it| it.lines().count()).sum();
            if used > 0 && used + text.lines().count() > lines {
                break;
            }
            shown.push(text);
        }
        if shown.is_empty() { String::new() } else { self.paint(&shown.join("\n"), Color::Yellow) }
    }
}

/// The first lines of `text`, with `…` if there are more.
fn cut(text: &str, width: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= CAVEAT_LINES {
        return text.into();
    }
    let kept = lines[..CAVEAT_LINES].join("\n");
    match lines[CAVEAT_LINES - 1].chars().count() < width {
        true => format!("{kept}…"),
        false => kept.chars().take(kept.chars().count() - 1).chain(['…']).collect(),
    }
}
