//! `goodness compare --suite` and `--each`: unlike inputs, ranked together.

use super::{Compare, circumstances};
use crate::failure::{Failure, exit};
use crate::output;
use crate::watching::watch;
use crate::words::{self, command_line};
use goodness::{Timelines, check_names, recordings, suite};
use goodness_report::Report;
use goodness_report::model::Details;
use goodness_report::suite::Suite;

impl Compare {
    /// Compares on each input, and ranks over all.
    ///
    /// # Errors
    /// As [`Compare::run`]; an unknown suite.
    pub(super) fn suite(&self) -> Result<u8, Failure> {
        let outputs = &self.outputs;
        outputs.verbosity.begin();
        let suite = self.suite.as_deref().map(suite::find).transpose()?;
        let inputs = suite.map_or_else(|| self.input.clone(), |it| it.inputs.iter().map(|it| it.to_string()).collect());
        inputs.iter().try_for_each(|named| outputs.check(named))?;
        check_names(&self.policy, &[])?;
        let mut policies = self.policy.clone();
        if policies.is_empty() {
            policies = suite::ARMS.iter().map(|arm| arm.to_string()).collect();
        }
        let reports = inputs.iter().map(|named| self.report_on(named, &policies)).collect::<Result<Vec<_>, _>>()?;
        let result = Suite::of(suite.map_or("", |it| it.name), reports).map_err(Failure::usage)?;
        output::show(output::is_stdout(&outputs.json), &result, |width| result.text(width, outputs.verbosity.quiet));
        let json = output::write(output::file(&outputs.json), || result.json())?;
        let page = output::write(outputs.html.as_deref(), || result.page(&command_line()))?;
        let tables = outputs.tables.write(|| std::iter::once(result.costs()))?;
        output::say_unless_json(&outputs.json, &json.into_iter().chain(page).chain(tables).collect::<Vec<_>>());
        let violations = result.reports.iter().flat_map(|report| &report.policies).flat_map(|it| &it.violations).next();
        match violations {
            Some(v) => Err(Failure::violated(format!("{}: {} Reproduce: {}", v.checker, v.message, v.reproduce))),
            None if self.decide && result.is_undecided() => Ok(exit::INCONCLUSIVE),
            None => Ok(exit::OK),
        }
    }

    /// The comparison on one input.
    fn report_on(&self, named: &str, policies: &[String]) -> Result<Report, Failure> {
        let options = self.options.read()?;
        let said = |refusal| words::failure(&refusal, &self.options.words(named));
        let (runs, about, details) = recordings::of_one_load(
            &[named.to_string()],
            |named| goodness::open(named, &options, &watch()).map_err(said),
            |_, work| {
                let plan = self.plan_of(work, policies, Timelines::default())?;
                plan.run(&watch()).map_err(said)
            },
        )?;
        self.rank_by.as_deref().map(|metric| runs.check_rank_by(metric)).transpose()?;
        let ranked_by = self.rank_by.clone().or(details.ranked_by);
        let details = Details { command: Some(command_line()), ranked_by, ..details };
        let again = |again: &goodness::Again| words::reproduce(&self.options.words(named), again);
        Ok(runs.report(circumstances(about, details, &again)))
    }
}
