//! How much a command prints: `-q` and `-v`.

use crate::progress;
use goodness_report::text::Extent;

/// For commands that print the same with and without progress.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Quiet {
    /// Show no progress.
    #[arg(short, long)]
    quiet: bool,
}

impl Quiet {
    /// Switches progress off on request. Call it before anything takes long.
    pub fn begin(self) {
        if self.quiet {
            progress::silence();
        }
    }
}

/// How much is printed.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Verbosity {
    /// Print the ranking, figures or verdict and nothing else: no progress, no notes, no page unless asked for.
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print everything: all figures, errors, settings and notes.
    #[arg(short, long)]
    pub verbose: bool,
}

impl Verbosity {
    /// Switches progress off if the command is to be quiet. Call it before anything takes long.
    pub fn begin(self) {
        if self.quiet {
            progress::silence();
        }
    }

    /// The part of a report that is printed.
    pub const fn extent(self) -> Extent {
        match (self.quiet, self.verbose) {
            (true, _) => Extent::Ranking,
            (_, true) => Extent::All,
            _ => Extent::Answer,
        }
    }

    /// The part of each of so many reports that is printed: a table each does not fit on a screen.
    pub fn extent_of_each(self, count: usize) -> Extent {
        match (self.extent(), count) {
            (Extent::Answer, 2..) => Extent::Ranking,
            (extent, _) => extent,
        }
    }
}
