//! What a comparison asks.

use crate::error::{exception, reproduce};
use crate::waiting::Cancel;
use crate::work::Opened;
use goodness::standard::Field;
use goodness::{Circumstances, Contender, Own, Plan, PolicySpec, Refusal, Runs, recordings};
use goodness_report::Report;
use goodness_report::model::{Details, Input};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A policy or an arm: its text, and the policy where it is the caller's own. The text of an arm has no policy then.
#[derive(Clone)]
pub struct Named {
    /// As typed.
    pub text: String,
    /// The caller's own policy.
    pub own: Option<Own>,
}

impl Named {
    /// The expression that names it.
    fn shown(&self) -> String {
        match &self.own {
            None => format!("{:?}", self.text),
            Some(own) if self.text.is_empty() => own.name().into(),
            Some(own) => format!("goodness.arm({}, {:?})", own.name(), self.text),
        }
    }

    fn policy(&self) -> Result<PolicySpec, Refusal> {
        self.own.clone().map_or_else(|| PolicySpec::parse(&self.text), |own| Ok(PolicySpec::own(own)))
    }

    fn arm(&self, standard: &PolicySpec) -> Result<Contender, Refusal> {
        let arm = Contender::arm(&self.text, standard)?;
        Ok(match &self.own {
            None => arm,
            Some(own) => Contender { policy: PolicySpec::own(own.clone()), ..arm },
        })
    }
}

/// What is compared.
#[derive(Clone)]
pub struct Question {
    /// Works by name; several are recordings of one load.
    pub works: Vec<Arc<Opened>>,
    /// Arms as typed.
    pub arms: Vec<Named>,
    /// Policies as typed.
    pub policies: Vec<Named>,
    /// Elevators as typed.
    pub elevators: Vec<String>,
    /// Default arms.
    pub field: Option<Field>,
    /// True if the works are the arms.
    pub as_arms: bool,
    /// Runs of each arm.
    pub runs: u32,
    /// Number of the first run.
    pub first: u32,
    /// Random seed.
    pub seed: u64,
    /// Wish to end the work on it.
    pub cancel: Cancel,
    /// Metric that ranks, if it is not the default.
    pub rank_by: Option<String>,
}

impl Question {
    /// Makes the runs and the report.
    pub fn answer(&self, watch: &goodness::Watch) -> Result<(Report, Vec<Contender>), Refusal> {
        self.rank_by.as_deref().map(goodness::check_rank).transpose()?;
        self.policies.iter().try_for_each(|named| named.policy().map(drop))?;
        goodness::check_names(&[], &self.elevators)?;
        let (runs, about, details) = self.runs(watch)?;
        self.rank_by.as_deref().map(|metric| runs.check_rank_by(metric)).transpose()?;
        let ranked_by = self.rank_by.clone().or(details.ranked_by);
        let report = runs.report(Circumstances {
            input: about,
            details: Details { ranked_by, command: Some(self.call()), ..details },
            commit: goodness_cli::COMMIT.map(str::to_string),
            again: &|again| reproduce(&self.works[0].call, again),
        });
        Ok((report, runs.arms.into_iter().map(|arm| arm.contender).collect()))
    }

    /// The call that asks it.
    fn call(&self) -> String {
        let works: Vec<&str> = self.works.iter().map(|work| work.call.as_str()).collect();
        let works = if let [one] = works[..] { one.to_string() } else { format!("[{}]", works.join(", ")) };
        let lists = [("arms", &self.arms), ("policies", &self.policies)];
        let lists = lists.into_iter().filter(|(_, given)| !given.is_empty());
        let shown = |given: &[Named]| given.iter().map(Named::shown).collect::<Vec<_>>().join(", ");
        let mut words: Vec<String> = lists.map(|(name, given)| format!("{name}=[{}]", shown(given))).collect();
        words.extend((!self.elevators.is_empty()).then(|| format!("elevators={:?}", self.elevators)));
        words.extend(self.field.map(|field| format!("field={:?}", format!("{field:?}").to_lowercase())));
        words.extend(self.rank_by.as_ref().map(|metric| format!("rank_by={metric:?}")));
        match self.as_arms {
            true => words.push("as_arms=True".into()),
            false => words.push(format!("runs={}, seed={}", self.runs, self.seed)),
        }
        words.extend((self.first > 0).then(|| format!("first={}", self.first)));
        format!("goodness.compare({works}, {})", words.join(", "))
    }

    fn runs(&self, watch: &goodness::Watch) -> Result<(Runs, Input, Details), Refusal> {
        let names: Vec<String> = self.works.iter().map(|work| work.text.clone()).collect();
        let by_name: BTreeMap<&str, &Opened> = self.works.iter().map(|it| (it.text.as_str(), &**it)).collect();
        if self.as_arms {
            let again = |name: &str| goodness::open(name, &by_name[name].options, watch);
            return recordings::as_arms(&names, again);
        }
        let open = |name: &str| Ok::<_, Refusal>(&by_name[name].work);
        recordings::of_one_load(&names, open, |_, work| {
            let plan = Plan { runs: self.runs, first: self.first, ..self.plan(work, self.contenders(work)?) };
            plan.run(watch)
        })
    }

    fn contenders(&self, work: &goodness::Work) -> Result<Vec<Contender>, Refusal> {
        if self.arms.is_empty() && self.policies.is_empty() {
            return work.contenders(&[], &self.elevators, self.field);
        }
        if self.arms.is_empty() {
            let policies: Vec<PolicySpec> = self.policies.iter().map(Named::policy).collect::<Result<_, _>>()?;
            return Ok(Contender::cross(&policies, &work.elevators(&self.elevators)?));
        }
        let standard = work.standard_policy()?;
        let arms = self.arms.iter().map(|named| named.arm(&standard)).collect::<Result<_, _>>()?;
        work.behind_elevators(Contender::with_base(arms, &standard))
    }

    /// One run of each contender on `work`, with the seed of this question.
    pub fn plan<'a>(&self, work: &'a goodness::Work, contenders: Vec<Contender>) -> Plan<'a> {
        Plan { seed: self.seed, first: self.first, runs: 1, ..Plan::of(work, contenders) }
    }

    /// The error for a question that has no schedule of its own.
    pub fn simulated(&self) -> PyResult<&Arc<Opened>> {
        match self.works.first() {
            Some(work) if !self.as_arms => Ok(work),
            _ => {
                let refusal = Refusal::usage("recordings as arms are not simulated, so there is no schedule");
                Err(exception(&refusal.remedy("compare one recording with arms"), None))
            }
        }
    }
}
