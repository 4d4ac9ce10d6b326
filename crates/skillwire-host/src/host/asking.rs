//! Limits on how often the user is asked, and forms that were declined.

use std::time::SystemTime;

use skillwire_core::{ContentSet, Digest};
use skillwire_trust::{Origin, Reason, Record, Refusal, Remedy, SkillId, Standing};

use super::{Host, unusable};

impl Host {
    /// Counts one more question about a skill, unless there were too many already; returns how many
    /// there were before. The record keeps the count, so that it holds across processes.
    pub fn count_question(&self, skill: &SkillId) -> Result<usize, Refusal> {
        self.count_for_server(skill)?;
        let most = self.inner.policy.questions_per_skill;
        let now = self.inner.clock.now();
        let mut before = 0;
        let mut change = |record: &mut Record| {
            record.asked.retain(|at| self.is_recent(now, *at));
            before = record.asked.len();
            if before < most {
                record.asked.push(now);
            }
        };
        self.inner.records.update(skill, &mut change).map_err(unusable)?;
        if before >= most {
            return Err(too_often(skill, before, most));
        }
        Ok(before)
    }

    /// Counts one more form about a skill, unless there were too many already. Forms are counted in
    /// this process only.
    pub fn count_form(&self, skill: &SkillId) -> Result<(), Refusal> {
        self.count_for_server(skill)?;
        let most = self.inner.policy.questions_per_skill;
        let now = self.inner.clock.now();
        let mut forms = self.inner.forms.lock();
        let shown = forms.entry(skill.clone()).or_default();
        shown.retain(|at| self.is_recent(now, *at));
        if shown.len() >= most {
            return Err(too_often(skill, shown.len(), most));
        }
        shown.push(now);
        Ok(())
    }

    /// Takes back the last [`Self::count_form`], because the form was closed without an answer.
    /// Some clients close forms by themselves, and a user who closes one has not been flooded.
    pub fn uncount_form(&self, skill: &SkillId) {
        if let Some(shown) = self.inner.forms.lock().get_mut(skill) {
            shown.pop();
        }
        if let Origin::Server(label) = &skill.origin
            && let Some(asked) = self.inner.questions.lock().get_mut(label.as_str())
        {
            asked.pop();
        }
    }

    fn count_for_server(&self, skill: &SkillId) -> Result<(), Refusal> {
        let Origin::Server(label) = &skill.origin else { return Ok(()) };
        let most = self.inner.policy.questions_per_server;
        let now = self.inner.clock.now();
        let mut questions = self.inner.questions.lock();
        let asked = questions.entry(label.to_string()).or_default();
        asked.retain(|at| self.is_recent(now, *at));
        if asked.len() >= most {
            return Err(too_often(skill, asked.len(), most));
        }
        asked.push(now);
        Ok(())
    }

    fn is_recent(&self, now: SystemTime, at: SystemTime) -> bool {
        // A clock that was set back must not let a server ask again at once. One that was wrong by
        // years must not keep the user from being asked.
        let distance = now.duration_since(at).unwrap_or_else(|ahead| ahead.duration());
        distance < self.inner.policy.asking_period
    }

    /// Holds that a form about this content was declined, until the process ends.
    pub(super) fn hold_declined_form(&self, skill: &SkillId, content: Digest) {
        self.inner.declined_forms.lock().insert(skill.clone(), content);
    }

    /// Adds to a standing that a form about this content was declined in this process. A later
    /// approval at a terminal counts more.
    pub(super) fn with_declined_form(
        &self,
        skill: &SkillId,
        content: impl FnOnce() -> Option<ContentSet>,
        standing: Standing,
    ) -> Standing {
        if !matches!(standing, Standing::New | Standing::Changed(_)) {
            return standing;
        }
        let declined = self.inner.declined_forms.lock().get(skill).copied();
        if declined.is_some() && declined == content().map(|content| content.fingerprint()) {
            return Standing::Declined;
        }
        standing
    }
}

fn too_often(skill: &SkillId, count: usize, most: usize) -> Refusal {
    Refusal::new(Reason::AskedTooOften)
        .about(skill)
        .expected(format!("at most {most} questions"))
        .actual(format!("{count} already"))
        .remedy(Remedy::ApproveSkill(skill.clone()))
}
