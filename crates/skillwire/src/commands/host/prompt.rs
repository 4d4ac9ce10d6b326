//! `skillwire prompt`: prints the catalogue of skills for a model.

use std::io::{self, Write as _};

use skillwire_host::context::catalogue::{
    CatalogueFormat, CatalogueItem, CatalogueOptions, render,
};
use skillwire_trust::Standing;

use super::Outcome;
use crate::{
    args::{PromptArgs, PromptFormat},
    exit::Exit,
    session::{self, report_incomplete, warn},
};

pub(super) fn run(args: &PromptArgs) -> Outcome {
    let options = session::SessionOptions::everywhere(args.origins).waiting(args.wait);
    session::with(false, options, async |session| {
        let found = session.discover(None).await?;
        report_incomplete(&found)?;
        let mut items = Vec::new();
        for item in found.registry.items() {
            match session.host().standing_of_known(&item.skill) {
                // A disabled skill is hidden. One that is not approved is shown: when the model
                // asks for it, the user is asked.
                Ok(Standing::Disabled) => {}
                Ok(_) => items.push(CatalogueItem {
                    handle: item.handle.clone(),
                    description: item.skill.entry().frontmatter.description().to_owned(),
                    origin: item.skill.id().origin.clone(),
                    location: session.host().location_of(item.skill.id()),
                }),
                Err(refusal) => warn(&format!("{} is left out: {refusal}", item.handle))?,
            }
        }
        let format = match args.format {
            PromptFormat::Xml => CatalogueFormat::Xml,
            PromptFormat::Md => CatalogueFormat::Markdown,
            PromptFormat::Json => CatalogueFormat::Json,
        };
        let options = CatalogueOptions::default().with_format(format).with_budget(args.budget);
        if let Some(catalogue) = render(&items, &options) {
            let mut out = io::stdout().lock();
            out.write_all(catalogue.text.as_str().as_bytes())?;
            out.flush()?;
        }
        Ok(Exit::Ok)
    })
}
