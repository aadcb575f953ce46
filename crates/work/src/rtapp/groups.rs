//! `taskgroup`: cgroups by path, all of the usual weight. An arm can give them another (`site/web.cpu_weight=200`).

use super::Reading;
use crate::json::Member;
use crate::soundness::{self, GROUPS_MAX};
use goodness_core::{Class, Group, GroupId};

impl Reading<'_> {
    /// The group that `member` names, made with those around it if it is new; `None` for an empty path, which names
    /// none. A group is called by its path without the first slash.
    pub(super) fn taskgroup(&mut self, member: &Member) -> Result<Option<GroupId>, String> {
        let path = self.text(member)?;
        let Some(names) = path.strip_prefix('/') else {
            return match path {
                "" => Ok(None),
                _ => self.error(member.line, format!("\"taskgroup\": \"{path}\" is no path; write \"/{path}\"")),
            };
        };
        let (mut group, mut full) = (GroupId::ROOT, String::new());
        for name in names.split('/').filter(|name| !name.is_empty()) {
            if !full.is_empty() {
                full.push('/');
            }
            full.push_str(name);
            soundness::name(&full).or_else(|why| self.error(member.line, why))?;
            group = match self.groups.named(&full) {
                Some(known) => known,
                None if self.groups.count() > GROUPS_MAX => {
                    return self.error(member.line, format!("{GROUPS_MAX} groups are the most of a run"));
                }
                None => self.groups.add(Group::new(&full, group)),
            };
        }
        Ok(Some(group))
    }

    /// Refuses a group for a real-time task, as rt-app does.
    pub(super) fn check_class(&self, line: usize, group: GroupId, class: Class) -> Result<(), String> {
        if group != GroupId::ROOT && class.is_realtime() {
            return self.error(
                line,
                "a real-time task has no \"taskgroup\"; rt-app refuses it, too. Leave one of the two out",
            );
        }
        Ok(())
    }
}
