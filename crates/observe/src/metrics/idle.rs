//! Idle while queued: time during which at least one CPU idled while at least one task waited that may run there. With
//! affinities it is known for up to 64 CPUs and 64 different affinities; beyond that it is not measured.

use super::Window;
use super::measured::Values;
use goodness_core::Span;

#[derive(Clone, Debug, Default)]
pub(super) struct IdleWhileQueued {
    total: Span,
    unknown: bool,
}

impl IdleWhileQueued {
    /// Adds `span`, during which a CPU idled while a suitable task waited, or it was unknown.
    #[inline]
    pub fn pass(&mut self, span: Span, idles: Option<bool>) {
        match idles {
            Some(false) => {}
            Some(true) => self.total += span,
            None => self.unknown = true,
        }
    }

    pub fn report(&self, window: Window, values: &mut Values) {
        let measured = !self.unknown && window.length() > 0.0;
        values.set("idle_while_queued", measured.then_some(self.total.ns() as f64), u64::from(measured));
    }
}
