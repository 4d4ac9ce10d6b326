//! From a file of a skill to its bytes, by the fetch route of each dialect.

use bytes::Bytes;
use serde_json::{Map, Value};
use skillwire_core::{MAX_DESCRIPTION_CHARS, RelPath, ResourceUri};
use skillwire_protocol::method;
use skillwire_trust::{Reason, Refusal, SkillId};

use super::{
    FetchRoute, Offer,
    archive::Archive,
    by_name::{self, NamedSkill},
    over_mcp,
    page::{self, ReadSkill},
};
use crate::{
    contents::{self, Content},
    remote::Remote,
};

/// What a skill without a description is described by, so that its `SKILL.md` can be put together.
const UNDESCRIBED: &str = "The server gives no description.";

impl Remote {
    /// Reads a file of an offered skill and compares it with what was promised.
    pub(crate) async fn read_offered(
        &self,
        skill: &SkillId,
        offer: &Offer,
        file: &ResourceUri,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let bytes = self.read_unchecked(skill, offer, file, most).await;
        let bytes = bytes.map_err(|refusal| refusal.about(skill))?;
        offer.check(skill, file, &bytes)?;
        if bytes.len() as u64 > most {
            return Err(Refusal::new(Reason::SkillTooLarge)
                .about(skill)
                .file(file)
                .expected(format!("at most {most} bytes"))
                .actual(format!("{} bytes", bytes.len())));
        }
        Ok(bytes)
    }

    async fn read_unchecked(
        &self,
        skill: &SkillId,
        offer: &Offer,
        file: &ResourceUri,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(skill).file(file);
        let path = skill.uri.below(file).ok_or_else(|| refuse(Reason::PathOutsideSkill))?;
        let is_skill_file = file == skill.uri.file();
        match &offer.route {
            FetchRoute::Live | FetchRoute::Manifest(_) => Ok(self.read(file, most).await?.bytes),
            FetchRoute::Alone(uri)
            | FetchRoute::Collection(uri, _)
            | FetchRoute::Documents(uri, _)
                if is_skill_file =>
            {
                let bytes = self.read_text_uri(uri, most).await?.bytes;
                if over_mcp::is_error(&bytes) {
                    return Err(refuse(Reason::FileMissing).actual("an error written as content"));
                }
                Ok(bytes)
            }
            FetchRoute::WebFile(url) if is_skill_file => {
                Ok(self.read_web(skill, url, most).await?.bytes)
            }
            FetchRoute::Alone(_) | FetchRoute::WebFile(_) => Err(refuse(Reason::FileNotListed)),
            FetchRoute::WebFolder(folder) => {
                // A path of such an index is plain, so its URI is spelt as it is.
                let below = skill.uri.root().as_str().len() + 1;
                let url = format!("{folder}{}", &file.as_str()[below..]);
                Ok(self.read_web(skill, &url, most).await?.bytes)
            }
            FetchRoute::Collection(_, all) => self.read_collected(skill, all, file, most).await,
            FetchRoute::Documents(address, list) => {
                self.read_document(skill, (address, list), &path, most).await
            }
            FetchRoute::ByName(name) => self.read_named(skill, name, &path, most).await,
            FetchRoute::Page(name) => self.read_page(skill, name, &path).await,
            FetchRoute::Archive { url, format, digest } => {
                let archive = Archive { url, declared: *format, digest: *digest };
                self.read_archived(skill, &archive, file).await
            }
        }
    }

    /// Reads a file of a web origin.
    pub(super) async fn read_web(
        &self,
        skill: &SkillId,
        url: &str,
        most: u64,
    ) -> Result<Content, Refusal> {
        let missing = || Refusal::new(Reason::FileMissing).about(skill).file(url);
        let web = self.web().ok_or_else(missing)?;
        let fetched = web.get(url, most, self.policy.budgets.answer_time).await;
        let fetched = fetched.map_err(|refusal| refusal.about(skill))?.ok_or_else(missing)?;
        self.spend(fetched.bytes.len())?;
        Ok(fetched)
    }

    /// Takes one file out of a resource that is all of them; one outside the skill spoils them all.
    async fn read_collected(
        &self,
        skill: &SkillId,
        collection: &str,
        file: &ResourceUri,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(skill).file(file);
        let answer = self.read_raw(collection, most).await?;
        let contents = contents::read_all(answer.text())
            .map_err(|actual| refuse(Reason::ContentInvalid).actual(actual))?;
        let mut found = None;
        for (uri, bytes) in contents {
            let inside = skill.uri.resource(&uri).ok_or_else(|| {
                Refusal::new(Reason::ResourceOutside).about(skill).file(uri.escape_debug())
            })?;
            if inside == *file && found.replace(bytes).is_some() {
                return Err(refuse(Reason::ResourceDuplicate));
            }
        }
        found.ok_or_else(|| refuse(Reason::FileMissing))
    }

    async fn read_document(
        &self,
        skill: &SkillId,
        (address, list): (&str, &str),
        path: &RelPath,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(skill).file(path);
        let listing = self.read_text_uri(list, 1 << 20).await?.bytes;
        let listing = String::from_utf8_lossy(&listing);
        let (uri, promise) = over_mcp::document(&listing, address, path)
            .ok_or_else(|| refuse(Reason::FileNotListed))?;
        let bytes = self.read_text_uri(&uri, most).await?.bytes;
        let actual = bytes.len() as u64;
        if let Some(size) = promise.size.filter(|size| *size != actual) {
            if over_mcp::is_error(&bytes) {
                return Err(refuse(Reason::FileMissing).actual("an error written as content"));
            }
            let refusal = refuse(Reason::SizeMismatch).expected(format!("{size} bytes"));
            return Err(refusal.actual(format!("{actual} bytes")));
        }
        Ok(bytes)
    }

    async fn read_named(
        &self,
        skill: &SkillId,
        name: &str,
        path: &RelPath,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let answer = self.ask_by_name(method::SKILLS_GET, &[("name", name)]).await?;
        let named = NamedSkill::read(&answer).map_err(|actual| unlike(skill, actual))?;
        if path.as_str() == skillwire_core::SKILL_FILE {
            let description = described(named.description.as_deref());
            return Ok(by_name::skill_file(name, &description, &named.instructions).into());
        }
        let resource = named.resource(path);
        let resource =
            resource.ok_or_else(|| Refusal::new(Reason::FileNotListed).about(skill).file(path))?;
        Ok(self.read_text_uri(resource, most).await?.bytes)
    }

    async fn read_page(
        &self,
        skill: &SkillId,
        name: &str,
        path: &RelPath,
    ) -> Result<Bytes, Refusal> {
        if path.as_str() == skillwire_core::SKILL_FILE {
            let answer = self.ask_by_name(page::READ, &[("name", name)]).await?;
            let read = ReadSkill::read(&answer, name).map_err(|actual| unlike(skill, actual))?;
            let description = described(read.description.as_deref());
            return Ok(by_name::skill_file(name, &description, &read.instructions).into());
        }
        let asked = [("name", name), ("reference", path.as_str())];
        let answer = self.ask_by_name(page::READ_REFERENCE, &asked).await?;
        page::reference(&answer).map_err(|actual| unlike(skill, actual))
    }

    /// Sends a request whose parameters are texts, and returns the result's text.
    async fn ask_by_name(&self, method: &str, params: &[(&str, &str)]) -> Result<String, Refusal> {
        let client = self.client().await?;
        let params: Map<String, Value> =
            params.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        let answer = self.request(&client, method, params, self.limits()).await;
        let answer = answer.map_err(|error| {
            if error.is_unknown_method() {
                self.forget_dialect();
            }
            let missing = error.is_missing_name().then_some(Reason::FileMissing);
            let refusal = self.refuse(&error);
            Refusal { reason: missing.unwrap_or(refusal.reason), ..refusal }
        })?;
        self.spend(answer.text().len())?;
        Ok(answer.text().to_owned())
    }
}

fn unlike(skill: &SkillId, actual: String) -> Refusal {
    Refusal::new(Reason::ContentInvalid).about(skill).actual(actual)
}

/// A description that fits into frontmatter.
fn described(description: Option<&str>) -> String {
    let text = description.map(str::trim).filter(|text| !text.is_empty()).unwrap_or(UNDESCRIBED);
    text.chars().take(MAX_DESCRIPTION_CHARS).collect()
}
