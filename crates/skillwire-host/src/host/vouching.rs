//! Signatures of skills, and what the user's rules about signers decide.

use bytes::Bytes;
use skillwire_core::{ContentSet, Digest, RelPath, SkillResource};
use skillwire_trust::{
    ApprovedSkill, DecisionChannel, Integrity, ListedSkill, Reason, Record, Refusal,
    SignatureCheck, SignatureRule, SignatureRules, SkillId, Standing, Voucher,
};

use super::{Host, unusable};

/// How many results of checks are remembered.
const MOST_CHECKED: usize = 4_096;

impl Host {
    /// Returns what is known about the signature of a skill. This fetches nothing: a signature of
    /// a server's skill counts only if it is cached.
    pub fn known_signature(&self, listed: &ListedSkill) -> SignatureCheck {
        let Some((rules, rule)) = self.signature_rule(listed.id()) else {
            return SignatureCheck::NotAsked;
        };
        let found = match find_signature(rules, listed) {
            Ok(found) => found,
            Err(check) => return check,
        };
        let skill = listed.id();
        if let Some(known) = self.remembered_check(skill, &found) {
            return known;
        }
        let bytes = if skill.origin.server().is_some() {
            self.cached(skill, &found.file).map(|file| file.bytes().clone())
        } else {
            self.read_from_folder(skill, &found.file).ok().map(|file| file.bytes().clone())
        };
        match bytes {
            Some(bytes) => self.check_signature(rules, &rule, skill, &found, &bytes),
            None => SignatureCheck::NotRead,
        }
    }

    /// Returns what is known about the signature of a skill, after reading it from the skill's
    /// server if a decision depends on it. The manifest has the digests of all other files, so none
    /// of them is read.
    #[tracing::instrument(skip_all, fields(skill = %listed.id()))]
    pub async fn read_signature(&self, listed: &ListedSkill) -> SignatureCheck {
        let known = self.known_signature(listed);
        let Some((rules, rule)) = self.signature_rule(listed.id()) else { return known };
        if known != SignatureCheck::NotRead || !rule.decides() {
            return known;
        }
        let found = match find_signature(rules, listed) {
            Ok(found) => found,
            Err(check) => return check,
        };
        // Boxed, so that the futures of programs that call this do not nest too deeply to compile.
        match Box::pin(self.fetch(listed, &found.file)).await {
            Ok(file) => self.check_signature(rules, &rule, listed.id(), &found, file.bytes()),
            Err(refusal) => {
                SignatureCheck::Refused(format!("cannot be read: {}", refusal.reason.code()).into())
            }
        }
    }

    /// Returns the approval of a skill, without asking the user: from the records, from a signer that
    /// the user's rules trust instead of a question, or from a signed decision of its server.
    ///
    /// This differs from [`Self::approved`] in that it may read the signature of the skill, and takes an
    /// approval of the next load: the caller is about to load the skill.
    pub async fn approved_unasked(&self, listed: &ListedSkill) -> Result<ApprovedSkill, Refusal> {
        let signature = self.read_signature(listed).await;
        self.list_around(listed, &signature).await;
        match self.approved(listed) {
            Err(undecided) if undecided.reason.is_undecided() => {
                if let Some(approved) = self.take_next_load(listed)? {
                    return Ok(approved);
                }
                if let Some(approved) = self.approved_by_signer(listed, &signature)? {
                    return Ok(approved);
                }
                self.approved_by_decision(listed)?.ok_or(undecided)
            }
            decided => decided,
        }
    }

    /// Lists the server of a skill that is not approved, if someone else's word may decide and the server
    /// was not listed yet: only a listing tells whether the skill lies inside another one. If the server
    /// cannot be listed, the user is asked.
    async fn list_around(&self, listed: &ListedSkill, signature: &SignatureCheck) {
        let Some(label) = listed.id().origin.server().filter(|_| !self.inner.offline) else {
            return;
        };
        let is_listed = self.remote(label).is_ok_and(|remote| remote.held_listing().is_some());
        if is_listed || self.approved(listed).is_ok() {
            return;
        }
        let signer = self
            .signature_rule(listed.id())
            .and_then(|(_, rule)| signature.by_one_of(&rule.instead_of_asking).map(|_| ()));
        if signer.is_some() || self.known_decision(listed).decided().is_some() {
            // Boxed, so that the futures of programs that call this do not nest too deeply to compile.
            let _ = Box::pin(self.list(label)).await;
        }
    }

    /// Refuses a skill that no required signer vouches for.
    pub(super) fn check_required_signature(&self, listed: &ListedSkill) -> Result<(), Refusal> {
        let Some((_, rule)) = self.signature_rule(listed.id()) else { return Ok(()) };
        if rule.required.is_empty() {
            return Ok(());
        }
        let known = self.known_signature(listed);
        if known.by_one_of(&rule.required).is_some() {
            return Ok(());
        }
        let actual = match known {
            SignatureCheck::Refused(problem) => format!("a signature that {problem}"),
            SignatureCheck::NotRead => "a signature that was not read".to_owned(),
            SignatureCheck::Vouched(_) => "a signature of another trusted signer".to_owned(),
            SignatureCheck::Unsigned | SignatureCheck::NotAsked => "no signature".to_owned(),
        };
        let names: Vec<String> = rule.required.iter().map(|name| format!("`{name}`")).collect();
        Err(Refusal::new(Reason::SignatureRequired)
            .about(listed.id())
            .expected(format!("a signature of {}", names.join(" or ")))
            .actual(actual)
            .hint("Ask the skill's author for a signed version, or change your rules."))
    }

    /// Returns the record of a skill, without an approval that a signer gave whom the user's rules
    /// no longer trust instead of a question.
    pub(super) fn record(&self, skill: &SkillId) -> Result<Option<Record>, Refusal> {
        let record = self.inner.records.get(skill).map_err(unusable)?;
        Ok(record.map(|record| self.without_former_signer(record)))
    }

    /// Drops the approval of a record if a signer gave it whom the user no longer trusts instead of a
    /// question, or whose word has ended.
    pub(super) fn without_former_signer(&self, mut record: Record) -> Record {
        let channel = record.approval.as_ref().and_then(|approval| approval.channel);
        let suffices = match channel {
            Some(DecisionChannel::Signature) => self.still_suffices(&record),
            Some(DecisionChannel::Decision) => self.decision_still_holds(&record),
            _ => true,
        };
        if !suffices {
            record.approval = None;
        }
        record
    }

    fn still_suffices(&self, record: &Record) -> bool {
        let voucher = record.approval.as_ref().and_then(|approval| approval.voucher.as_ref());
        let (Some(voucher), Some((rules, rule))) = (voucher, self.signature_rule(&record.id))
        else {
            return false;
        };
        rule.instead_of_asking.contains(&voucher.name) && rules.trusts(voucher)
    }

    /// Approves loading of exactly this content because a signer vouches for it whom the user's rules
    /// trust instead of a question. `None` if the user has to decide.
    ///
    /// The user decides about everything else: a skill that they declined, switched off or withdrew
    /// the approval of, one that another signer vouched for before, one without digests, and one that
    /// lies inside another skill.
    fn approved_by_signer(
        &self,
        listed: &ListedSkill,
        signature: &SignatureCheck,
    ) -> Result<Option<ApprovedSkill>, Refusal> {
        let Some((_, rule)) = self.signature_rule(listed.id()) else { return Ok(None) };
        let Some(voucher) = signature.by_one_of(&rule.instead_of_asking) else { return Ok(None) };
        self.approved_by_voucher(listed, voucher, DecisionChannel::Signature)
    }

    /// Approves loading of exactly this content because of a signer's word, unless the user has to
    /// decide.
    pub(super) fn approved_by_voucher(
        &self,
        listed: &ListedSkill,
        voucher: &Voucher,
        channel: DecisionChannel,
    ) -> Result<Option<ApprovedSkill>, Refusal> {
        if self.inner.lock.is_some()
            || listed.integrity() != Integrity::Manifest
            || self.may_be_nested(listed)
            || !matches!(self.standing(listed)?, Standing::New | Standing::Changed(_))
        {
            return Ok(None);
        }
        let record = self.inner.records.get(listed.id()).map_err(unusable)?;
        let content = listed.content().map(|content| content.fingerprint());
        if !record.as_ref().is_none_or(|record| is_open_to(record, channel, voucher, content)) {
            return Ok(None);
        }
        let shown = self.review(listed)?.show();
        self.record_review(shown.decided_by(voucher.clone(), channel)).map(Some)
    }

    /// Tells whether a skill lies inside another one of its server, or may do so because the server
    /// was not listed.
    pub(super) fn may_be_nested(&self, listed: &ListedSkill) -> bool {
        let skill = listed.id();
        let Some(label) = skill.origin.server() else { return true };
        let listing = self.remote(label).ok().and_then(|remote| remote.held_listing());
        let Some(listing) = listing else { return true };
        let around =
            |other: &SkillId| other.uri != skill.uri && other.uri.contains(skill.uri.file());
        listing.skills.iter().any(|other| around(other.id()))
    }

    fn signature_rule(&self, skill: &SkillId) -> Option<(&dyn SignatureRules, SignatureRule)> {
        let rules = self.inner.signatures.as_deref()?;
        let rule = rules.rule(skill);
        (!rule.is_empty()).then_some((rules, rule))
    }

    fn remembered_check(&self, skill: &SkillId, found: &FoundSignature) -> Option<SignatureCheck> {
        let key = (skill.clone(), found.content.fingerprint());
        self.inner.signature_checks.lock().get(&key).cloned()
    }

    fn check_signature(
        &self,
        rules: &dyn SignatureRules,
        rule: &SignatureRule,
        skill: &SkillId,
        found: &FoundSignature,
        bytes: &Bytes,
    ) -> SignatureCheck {
        let now = self.inner.clock.now();
        let check = match rules.verify(rule, &found.content, &found.file, bytes, now) {
            Ok(vouchers) if vouchers.is_empty() => {
                SignatureCheck::Refused("is not by a trusted signer".into())
            }
            Ok(vouchers) => SignatureCheck::Vouched(vouchers),
            Err(problem) => SignatureCheck::Refused(problem.into()),
        };
        let mut checks = self.inner.signature_checks.lock();
        if checks.len() >= MOST_CHECKED {
            checks.clear();
        }
        checks.insert((skill.clone(), found.content.fingerprint()), check.clone());
        check
    }
}

/// The file that holds a signature, and the content that it should be over.
struct FoundSignature {
    file: SkillResource,
    content: ContentSet,
}

/// Finds the file that holds the signature of a skill.
fn find_signature(
    rules: &dyn SignatureRules,
    listed: &ListedSkill,
) -> Result<FoundSignature, SignatureCheck> {
    let digests = listed.content().filter(|_| listed.integrity() == Integrity::Manifest);
    let Some(content) = digests else {
        let problem = "is for nothing: the skill's files have no digests to compare";
        return Err(SignatureCheck::Refused(problem.into()));
    };
    let root = listed.id().uri.root();
    let mut paths = rules.file_names().iter().filter_map(|name| RelPath::parse(name).ok());
    let file = paths.find_map(|path| content.file(&root.child(&path)).cloned());
    let file = file.ok_or(SignatureCheck::Unsigned)?;
    let most = rules.most_bytes();
    if file.size > most {
        let problem = format!("has {} bytes, more than {most}", file.size);
        return Err(SignatureCheck::Refused(problem.into()));
    }
    Ok(FoundSignature { file, content })
}

/// Tells whether a signer may decide about a skill with this record: the user neither switched it off
/// nor declined this content nor withdrew an approval of it. A signature over files counts only if no
/// other signer vouched for what was approved before. A key for decisions is one that the user chose
/// for this one server, so that it may continue what another key or the user approved before.
pub(super) fn is_open_to(
    record: &Record,
    channel: DecisionChannel,
    voucher: &Voucher,
    content: Option<Digest>,
) -> bool {
    if record.disabled || (content.is_some() && record.declined == content) {
        return false;
    }
    match &record.approval {
        None => record.revocations == 0,
        Some(_) if channel == DecisionChannel::Decision => true,
        Some(approval) => {
            approval.voucher.as_ref().is_some_and(|before| before.signer == voucher.signer)
        }
    }
}

#[cfg(test)]
mod tests {
    use skillwire_core::SkillUri;
    use skillwire_trust::Origin;

    use super::*;

    #[test]
    fn a_signer_never_overrides_a_decision_that_the_user_took_meanwhile() {
        let uri = SkillUri::parse("skill://acme/refunds/SKILL.md").unwrap();
        let origin = Origin::parse("acme").unwrap();
        let new = Record::new(SkillId { origin, uri });
        let trusted = Digest::of(b"key");
        let voucher = Voucher { name: "acme".into(), signer: "key 1".into(), trusted, until: None };
        let content = Some(Digest::of(b"content"));
        for channel in [DecisionChannel::Signature, DecisionChannel::Decision] {
            let is_open = |record: &Record| is_open_to(record, channel, &voucher, content);
            assert!(is_open(&new));
            assert!(!is_open(&Record { disabled: true, ..new.clone() }));
            assert!(!is_open(&Record { declined: content, ..new.clone() }));
            assert!(is_open(&Record { declined: Some(Digest::of(b"other")), ..new.clone() }));
            assert!(!is_open(&Record { revocations: 1, ..new.clone() }));
        }
    }
}
