//! Content of upstreams that was approved, as skills of the mounts that show it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::SystemTime,
};

use serde_json::{Map, Value, json};
use skillwire_attest::DECISION_META;
use skillwire_core::{SkillName, SkillUri};
use skillwire_gateway::{GatewayId, passed_on_entry};
use skillwire_hub::{Decision, NamespaceName, SkillFacts, SkillId, UpstreamMode};
use skillwire_hub_store::{HubStore, OfferRecord};
use skillwire_hub_upstreams::{MountKind, PROVENANCE_META, names_script};
use skillwire_source::{FileTree, Skill, SkillContent};

use crate::{
    classes::{ChannelClasses, KnownSkill},
    files::StoredFiles,
    signing::{Admitted, DecisionSigner},
    skill::file_record,
};

/// Makes the skills of approved content.
#[derive(Clone)]
pub(crate) struct OfferMaker {
    pub(crate) store: HubStore,
    pub(crate) signer: DecisionSigner,
    pub(crate) gateway: GatewayId,
    /// The name of the hub.
    pub(crate) hub: String,
}

impl OfferMaker {
    /// Makes the skill of an approved content for a mount, and notes what is known about it before it is
    /// shown.
    pub(crate) fn make(
        &self,
        offer: &OfferRecord,
        mode: UpstreamMode,
        mount: MountKind,
        classes: &ChannelClasses,
    ) -> Option<Arc<Skill>> {
        let (label, own) = (&offer.skill.upstream, &offer.skill.uri);
        let uris = mount.uris(label)?;
        let decision = offer.decision.as_ref()?;
        let uri = uris.passed_on_skill(own)?;
        let notes = self.notes(offer, decision, mode);
        let entry = match passed_on_entry(&offer.entry, &uris, &self.gateway, &notes) {
            Ok(entry) => entry,
            Err(error) => {
                tracing::warn!(skill = %offer.skill, %error, "approved content is not served");
                return None;
            }
        };
        let store = StoredFiles::of_offer(self.store.clone(), offer);
        let tree = FileTree {
            files: offer.files.iter().map(|file| file_record(file, None)).collect(),
            empty_directories: Box::default(),
            store: Arc::new(store),
        };
        let paths = offer.files.iter().map(|file| &file.path);
        classes.know(&uri, known_offer(label, offer, decision)?, paths);
        let content = SkillContent::Files(tree);
        let skill = Skill { uri, entry: entry.into(), content, listed: true, provenance: None };
        // The signed decision is as large as some files are, and stands in the entry.
        let mut claims = notes;
        claims.retain(|name, _| name == PROVENANCE_META);
        Some(Arc::new(skill.with_provenance(&claims)))
    }

    /// What the hub says about the content: where it comes from, and its signed decision.
    fn notes(
        &self,
        offer: &OfferRecord,
        decision: &Decision,
        mode: UpstreamMode,
    ) -> Map<String, Value> {
        let provenance = BTreeMap::from([
            ("origin".to_owned(), offer.skill.upstream.to_string()),
            ("uri".to_owned(), offer.skill.uri.to_string()),
            ("hub".to_owned(), self.hub.clone()),
            ("mode".to_owned(), mode.to_string()),
            ("decidedAt".to_owned(), decision.at.to_string()),
        ]);
        let mut claims = json!(provenance);
        claims["contentId"] = json!(offer.content);
        claims["decision"] = json!(decision.verdict);
        let mut notes = Map::from_iter([(PROVENANCE_META.to_owned(), claims)]);
        let skills: BTreeSet<SkillUri> = MountKind::ALL
            .into_iter()
            .filter_map(|mount| {
                mount.uris(&offer.skill.upstream)?.passed_on_skill(&offer.skill.uri)
            })
            .collect();
        let admitted = Admitted {
            content: offer.content,
            skills: skills.into_iter().collect(),
            policy: format!("approved in the hub `{}`", self.hub),
            at: decision.at,
            until: decision.until,
            provenance,
        };
        if let Some(signed) = self.signer.sign(admitted, SystemTime::now()) {
            notes.insert(DECISION_META.to_owned(), signed);
        }
        notes
    }
}

/// What a policy may ask about approved content; its age follows from when it was approved.
fn known_offer(
    label: &NamespaceName,
    offer: &OfferRecord,
    decision: &Decision,
) -> Option<KnownSkill> {
    let name = SkillName::parse(offer.skill.uri.root().name().as_ref()).ok()?;
    let mut facts = SkillFacts::new(SkillId::new(label.clone(), name));
    facts.origin = label.to_string();
    facts.signed_by.clone_from(&offer.facts.signers);
    facts.has_scripts =
        !offer.facts.scripts.is_empty() || offer.files.iter().any(|file| names_script(&file.path));
    if let Some(worst) = &offer.facts.worst {
        facts.worst_finding.clone_from(worst);
    }
    Some(KnownSkill { facts, since: decision.at })
}
