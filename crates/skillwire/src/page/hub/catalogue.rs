//! The skills that the channel `latest` serves to a reader.

use std::collections::BTreeSet;

use skillwire_hub::{Caller, SkillId};
use skillwire_page::{
    Filled, PageProblem,
    model::{
        CatalogueQuery, CatalogueRow, CatalogueView, FilterChoice, FilterGroup, SkillKey,
        SkillState, Tone,
    },
};
use skillwire_source::Skill;

use super::{HubPage, problem};
use crate::page::{
    listing::{description, fields},
    scanned::{finding_filter, fits_finding},
    texts,
};

/// The most namespaces that can be chosen from.
const MAX_NAMESPACES: usize = 500;

impl HubPage {
    pub(super) async fn catalogue_page(
        &self,
        caller: &Caller,
        query: &CatalogueQuery,
    ) -> Filled<CatalogueView> {
        let (catalog, view) = self.readers().catalogue(caller).await.map_err(problem)?;
        let snapshot = catalog.now(view).ok_or(PageProblem::NotFound)?;
        let (wanted, finding) = (query.filter("namespace"), query.filter("finding"));
        let is_wanted = |skill: &Skill| {
            wanted.is_none_or(|_| namespace_of(skill) == wanted)
                && finding.is_none_or(|finding| fits_finding(finding, self.scans().of_skill(skill)))
        };
        let fits = wanted.or(finding).map(|_| &is_wanted as &dyn Fn(&Skill) -> bool);
        let (page, total) = self.0.listing.page(&catalog, &snapshot, query, fits);
        let all = self.store().all_namespaces().await.map_err(problem)?;
        let readable = all.iter().filter(|known| caller.may(skillwire_hub::Action::Read, known));
        let names: BTreeSet<String> = readable.map(|known| known.name.to_string()).collect();
        let choice = |name: String| FilterChoice { value: name.clone(), label: name };
        let namespaces = FilterGroup {
            name: "namespace",
            label: texts::NAMESPACE.to_owned(),
            choices: names.into_iter().take(MAX_NAMESPACES).map(choice).collect(),
        };
        Ok(CatalogueView {
            rows: page.iter().filter_map(|skill| self.row(skill)).collect(),
            total,
            all: snapshot.listed_count(),
            filters: vec![namespaces, finding_filter()],
            notices: Vec::new(),
            empty: Some(texts::HUB_EMPTY.to_owned()),
        })
    }

    fn row(&self, skill: &Skill) -> Option<CatalogueRow> {
        let id: SkillId = skill.path().parse().ok()?;
        Some(CatalogueRow {
            key: SkillKey::new(id.to_string()),
            name: skill.name().to_owned(),
            description: description(&fields(skill)),
            origin: id.namespace.to_string(),
            state: SkillState::new(texts::SERVED, Tone::Good),
            scan: self.scans().of_skill(skill),
            signer: None,
            marks: Vec::new(),
        })
    }
}

fn namespace_of(skill: &Skill) -> Option<&str> {
    let (_, path) = skill.uri.as_str().split_once("://")?;
    path.split('/').next()
}
