//! Kinds of the locks of an experiment file. A lock that steps name and no `[[lock]]` describes is a `mutex`.

use super::keys::LOCK;
use super::{Places, Reading};
use crate::script::Plan;
use goodness_core::{Awaited, LockId, LockKind};
use toml::{Table, Value};

impl Reading<'_> {
    /// The locks that the file describes.
    pub(super) fn locks(&self, table: &Table, plan: &mut Plan, places: &mut Places) -> Result<(), String> {
        for (number, table) in self.tables(table, "lock")?.into_iter().enumerate() {
            self.enter("[[lock]]", number);
            self.known(table, LOCK)?;
            let name = table.get("name").ok_or_else(|| self.wrong("lock", "it needs a name, such as name = \"m\""))?;
            let name = self.name(name)?;
            if places.locks.contains_key(name) {
                return Err(self.wrong("name", &format!("there are two locks \"{name}\"; rename one")));
            }
            let kind = match table.get("kind") {
                Some(value) => LockKind::parse(self.text("kind", value)?).map_err(|why| self.wrong("kind", &why))?,
                None => LockKind::default(),
            };
            add(name, kind, plan, places);
        }
        self.section.set(0);
        Ok(())
    }

    /// The lock that a step names.
    pub(super) fn lock(
        &self,
        key: &str,
        value: &Value,
        plan: &mut Plan,
        places: &mut Places,
    ) -> Result<LockId, String> {
        let name = self.text(key, value)?;
        Ok(places.locks.get(name).copied().unwrap_or_else(|| add(name, LockKind::default(), plan, places)))
    }

    /// The lock that a step names to share it.
    pub(super) fn shareable(
        &self,
        key: &str,
        value: &Value,
        plan: &mut Plan,
        places: &mut Places,
    ) -> Result<LockId, String> {
        let lock = self.lock(key, value, plan, places)?;
        match plan.locks[lock.0 as usize] {
            kind if kind.is_shareable() => Ok(lock),
            kind => {
                let name = self.text(key, value)?;
                let why = format!(
                    "the lock \"{name}\" is a {}, which has one owner; write [[lock]], name = \"{name}\", \
                     kind = \"rwsem\", or take it with lock",
                    kind.name()
                );
                Err(self.wrong(key, &why))
            }
        }
    }
}

fn add(name: &str, kind: LockKind, plan: &mut Plan, places: &mut Places) -> LockId {
    let lock = plan.lock(kind);
    plan.names.insert(Awaited::Lock(lock), format!("lock \"{name}\""));
    places.locks.insert(name.into(), lock);
    lock
}
