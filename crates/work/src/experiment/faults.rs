//! Faults of the machine in an experiment file. Their keys: `keys.rs`.

use super::Reading;
use super::keys::FAULT;
use crate::script::Plan;
use goodness_core::tunable::TunableValue;
use goodness_core::{CpuId, FaultKind, HORIZON_MAX, MachineFault, Span, Time};
use toml::Table;

impl Reading<'_> {
    /// The faults that the file plans, and the lines of their CPUs.
    pub(super) fn faults(&self, table: &Table, plan: &mut Plan) -> Result<Vec<usize>, String> {
        let mut lines = Vec::new();
        for (number, table) in self.tables(table, "fault")?.into_iter().enumerate() {
            self.enter("[[fault]]", number);
            self.known(table, FAULT)?;
            let required = |key: &str, example: &str| {
                table.get(key).ok_or_else(|| self.wrong("fault", &format!("it needs {key}, such as {key} = {example}")))
            };
            let kind = self.text("kind", required("kind", "\"stolen\"")?)?;
            let kind = FaultKind::read(kind).map_err(|why| self.wrong("kind", &why))?;
            let at = self.span("at", required("at", "\"1s\"")?)?;
            let span = self.span("for", required("for", "\"200ms\"")?)?;
            if span == Span::ZERO || span > HORIZON_MAX {
                return Err(self.wrong("for", &format!("a time above 0 is needed, {HORIZON_MAX} at most")));
            }
            if plan.horizon.is_some_and(|end| Time::ZERO + at >= end) {
                return Err(self.wrong("at", "it is not before the end of the run; the fault would never come"));
            }
            let cpu = table.get("cpu").map(|value| self.integer("cpu", value, 0, CpuId::LAST.0.into())).transpose()?;
            let cpu = cpu.map(|number| CpuId(number as u32));
            if kind == FaultKind::Offline && cpu.is_none() {
                return Err(self.wrong("kind", "offline needs the CPU that goes offline, such as cpu = 1"));
            }
            lines.push(self.line_of("cpu", ""));
            plan.faults.push(MachineFault { kind, at: Time::ZERO + at, span, cpu });
        }
        self.section.set(0);
        Ok(lines)
    }
}
