//! The race engine: runs arms in random order within blocks, checks for outside load, and ends early when the answer is
//! clear.
//!
//! A block runs every arm once, in a new random order, so that slow changes of the machine affect all arms alike. The
//! runs of a block are compared with each other. The first blocks are dropped as warm-up. `docs/race.md` explains the
//! statistics.

mod interrupt;
mod judge;
mod order;
mod outcome;
mod outside_load;
mod run;

pub use judge::{Judged, Series, judge};
pub use order::{order, seed_of};
pub use outcome::{ArmOutcome, Measured, Outcome, Stopped, Versus};
pub use outside_load::{CpuTimes, OutsideLoad};
pub use run::Run;

use crate::arm::Arm;
use crate::load::Load;
use crate::load_error::LoadError;
use crate::workspace::Workspace;
use goodness_core::Seed;
use goodness_restore::{Action, MARK, Restore, Undo};
use goodness_stats::Confidence;
use goodness_stats::sequential::Looks;
use goodness_sys::cgroup::Hierarchies;
use interrupt::Interrupt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Blocks before the first interim look. With fewer, Student's interval is too wide for a decision.
pub const FIRST_LOOK: u32 = 5;

/// Plan of a race.
#[derive(Debug)]
pub struct Plan {
    /// The name of the race.
    pub name: String,
    /// The arms; at least two.
    pub arms: Vec<Arm>,
    /// Index of the reference arm.
    pub reference: usize,
    /// Blocks at most, warm-up aside.
    pub blocks: u32,
    /// Blocks that are dropped first.
    pub warmup: u32,
    /// Random seed of order and load.
    pub seed: Seed,
    /// Time after which no block starts.
    pub duration: Option<Duration>,
    /// True if the race ends early when the answer is clear.
    pub ends_early: bool,
    /// Differences below this part do not matter.
    pub margin: f64,
    /// Repeat a run if other processes used more than this fraction of the machine.
    pub outside: f64,
    /// Most repetitions of a disturbed run.
    pub repeats: u32,
    /// The measures that decide.
    pub measures: Vec<String>,
    /// Parent of the private folder.
    pub below: PathBuf,
}

/// Progress messages of a race.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// A leftover of a killed command was undone.
    CleanedUp(String),
    /// The load is being prepared.
    Preparing,
    /// A run starts.
    Running {
        /// Block number, from 0; warm-up blocks come first.
        block: u32,
        /// Blocks at most, warm-up included.
        of: u32,
        /// The arm.
        arm: usize,
    },
    /// There was too much outside load during a run, which is repeated.
    Repeated {
        /// The arm.
        arm: usize,
        /// The outside load.
        outside: OutsideLoad,
    },
    /// A setting was not restored, because someone else changed it during the race.
    LeftAlone(String),
    /// An interim look was taken.
    Looked {
        /// Blocks so far.
        blocks: usize,
        /// Comparisons that are not decided.
        open: usize,
    },
}

/// Reason there is no outcome. All settings are restored by then.
#[derive(Debug, thiserror::Error)]
pub enum RaceError {
    /// It cannot be run on this machine, or not with these settings.
    #[error("{0}")]
    Refused(String),
    /// A failure during the race.
    #[error("{0}")]
    Failed(String),
    /// Interrupted by this signal.
    #[error("interrupted by signal {0}; everything is restored")]
    Interrupted(i32),
}

impl RaceError {
    /// Exit code for the command line: 2 if the race cannot be run here, 128 + n after signal n, else 1.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            RaceError::Refused(_) => 2,
            RaceError::Failed(_) => 1,
            RaceError::Interrupted(signal) => 128 + u8::try_from(*signal).unwrap_or(0),
        }
    }
}

impl From<LoadError> for RaceError {
    fn from(why: LoadError) -> RaceError {
        RaceError::Failed(why.0)
    }
}

/// State of a race while it runs. Fields drop from first to last.
struct RunningRace<'a> {
    plan: &'a Plan,
    workspace: Workspace,
    hierarchies: Hierarchies,
    weights: bool,
    sessions: bool,
    _folder: Undo,
    restore: Restore,
    interrupt: Interrupt,
    cpus: usize,
}

/// Runs the race.
///
/// # Errors
/// [`RaceError`]: an arm this machine does not support, a load that fails, a signal.
pub fn race(plan: &Plan, load: Box<dyn Load>, tell: &mut dyn FnMut(Progress)) -> Result<Outcome, RaceError> {
    check(plan)?;
    for stale in goodness_restore::find() {
        stale.describe().into_iter().for_each(|what| tell(Progress::CleanedUp(what)));
        // A change that cannot be undone stays in the journal; `doctor` shows it.
        let _ = stale.undo();
    }
    let mut running = RunningRace::set_up(plan)?;
    let restore = running.restore.clone();
    let outcome = running.race(load, tell);
    drop(running);
    restore.left_alone().into_iter().for_each(|what| tell(Progress::LeftAlone(what)));
    outcome
}

/// Interim looks of the race.
#[must_use]
pub fn looks(plan: &Plan) -> Looks {
    let most = plan.blocks.max(1) as usize;
    if plan.ends_early {
        Looks::plan((FIRST_LOOK as usize).min(most), most, Confidence::P95)
    } else {
        Looks::once(most, Confidence::P95)
    }
}

/// Evaluates the runs so far. Returns whether all verdicts are decided.
fn look(plan: &Plan, runs: &[Run], looks: &Looks, looked: &mut Vec<usize>, counted: usize) -> Vec<(Judged, bool)> {
    let series = run::series(plan, runs);
    let Some(level) = looks.level(looked.last().copied().unwrap_or(0), counted) else { return Vec::new() };
    looked.push(counted);
    let judged = judge(&series, plan.reference, plan.margin, level);
    judged.into_iter().map(|one| (one.clone(), series[one.series].decides)).collect()
}

/// Checks that the plan can run on this machine, without changing anything.
///
/// # Errors
/// [`RaceError::Refused`] with the arm and the reason.
pub fn check(plan: &Plan) -> Result<(), RaceError> {
    if plan.arms.len() < 2 || plan.reference >= plan.arms.len() {
        return Err(RaceError::Refused("a race has two arms or more; the others are compared with the first".into()));
    }
    let hierarchies = Hierarchies::find();
    let weights = needs_weights(plan);
    plan.arms.iter().try_for_each(|arm| arm.check(&hierarchies, weights).map_err(RaceError::Refused))
}

fn needs_weights(plan: &Plan) -> bool {
    plan.arms.iter().flat_map(|arm| &arm.settings).any(|setting| setting.needs_weights())
}

/// True if every process, in all arms, needs its own session: only if an arm depends on it, because with autogroups,
/// nice values count within a session only.
fn needs_sessions(plan: &Plan) -> bool {
    plan.arms.iter().flat_map(|arm| &arm.settings).any(|setting| setting.is_of_sessions())
}

impl<'a> RunningRace<'a> {
    fn set_up(plan: &'a Plan) -> Result<RunningRace<'a>, RaceError> {
        let failed = |what: &str, why: &std::io::Error| RaceError::Failed(format!("{what}: {why}"));
        let interrupt = Interrupt::listen().map_err(|why| failed("signals cannot be listened for", &why))?;
        let restore = Restore::of_this_process().map_err(|why| {
            RaceError::Refused(format!(
                "the restore journal in {} cannot be written ({why}), and nothing is changed without it; name a folder \
                 that can be with XDG_STATE_HOME, or run as root",
                goodness_restore::folder().display()
            ))
        })?;
        let folder = plan.below.join(format!("{MARK}{}-race", std::process::id()));
        let folder = std::path::absolute(&folder).map_err(|why| failed("the private folder", &why))?;
        let undo = restore.before(&Action::RemoveTree(folder.clone())).map_err(|why| failed("the journal", &why))?;
        make(&folder).map_err(|why| failed(&format!("{} cannot be made", folder.display()), &why))?;
        let mut workspace = Workspace::new(folder);
        workspace.note_with(&restore);
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let (hierarchies, weights, sessions) = (Hierarchies::find(), needs_weights(plan), needs_sessions(plan));
        Ok(RunningRace { plan, workspace, hierarchies, weights, sessions, _folder: undo, restore, interrupt, cpus })
    }

    /// Prepares the load and runs the blocks. The load has ended when this returns, before the private folder is
    /// removed.
    fn race(&mut self, mut load: Box<dyn Load>, tell: &mut dyn FnMut(Progress)) -> Result<Outcome, RaceError> {
        let plan = self.plan;
        tell(Progress::Preparing);
        self.prepare(load.as_mut())?;
        let begun = Instant::now();
        let mut runs: Vec<Run> = Vec::new();
        let looks = looks(plan);
        let (mut looked, mut stopped, mut judged) = (Vec::new(), Stopped::Blocks, Vec::new());
        for block in 0..plan.warmup + plan.blocks {
            if plan.duration.is_some_and(|most| begun.elapsed() > most) {
                stopped = Stopped::Duration;
                break;
            }
            self.block(block, load.as_mut(), &mut runs, tell)?;
            if block == 0 {
                run::all_are_measured(plan, &runs).map_err(RaceError::Refused)?;
            }
            let counted = (block + 1).saturating_sub(plan.warmup) as usize;
            if looks.at().contains(&counted) {
                judged = look(plan, &runs, &looks, &mut looked, counted);
                let open = judged.iter().filter(|one: &&(Judged, bool)| one.1 && one.0.is_open()).count();
                tell(Progress::Looked { blocks: counted, open });
                if open == 0 && plan.ends_early {
                    stopped = if counted < plan.blocks as usize { Stopped::Clear } else { Stopped::Blocks };
                    break;
                }
            }
        }
        let counted = runs.iter().filter(|run| run.block >= plan.warmup).count() / plan.arms.len();
        if looked.last() != Some(&counted) {
            judged = look(plan, &runs, &looks, &mut looked, counted);
        }
        Ok(Outcome::of(plan, &self.hierarchies, runs, judged, looked, stopped))
    }

    fn block(
        &mut self,
        block: u32,
        load: &mut dyn Load,
        runs: &mut Vec<Run>,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(), RaceError> {
        let plan = self.plan;
        let of = plan.warmup + plan.blocks;
        for arm in order(plan.seed, block, plan.arms.len()) {
            tell(Progress::Running { block, of, arm });
            runs.push(self.quiet_run(block, arm, load, tell)?);
        }
        Ok(())
    }

    /// One run, repeated while outside load is high. Returns the try with the least outside load.
    fn quiet_run(
        &mut self,
        block: u32,
        arm: usize,
        load: &mut dyn Load,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Run, RaceError> {
        let mut best = self.run(block, arm, load)?;
        let mut repeated = 0;
        // Warm-up runs are dropped, so outside load does not matter.
        while block >= self.plan.warmup && best.outside.worst() > self.plan.outside && repeated < self.plan.repeats {
            tell(Progress::Repeated { arm, outside: best.outside });
            repeated += 1;
            let again = self.run(block, arm, load)?;
            // Chosen by the outside load, not by what it measured.
            if again.outside.worst() < best.outside.worst() {
                best = again;
            }
        }
        best.repeated = repeated;
        best.disturbed = best.outside.worst() > self.plan.outside;
        Ok(best)
    }
}

/// Creates a folder that others may enter but not list, because servers that drop root must reach their pages.
fn make(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().mode(0o711).create(folder)
}
