//! Fetching the bytes of a skill's file, by the route of each dialect.

use bytes::Bytes;
use serde_json::{Map, Value};
use skillwire_client::FetchedContent;
use skillwire_core::{RelPath, ResourceUri};
use skillwire_dialects::{
    FetchRoute, FilePromise, InvalidDocument, SkillFacts, SkillOffer,
    sep_2076::{self, ArgumentValues, SkillAnswer},
    skilljack,
    skills_over_mcp::{self, FoundDocument},
    skills_page::{self, RemoteRun},
};
use skillwire_protocol::method;
use skillwire_trust::{Reason, Refusal, SkillId, check_promise};

use super::{AskError, SkillServer, archive::OfferedArchive};

/// The largest list of a skill's documents that the host reads.
const MOST_LIST_BYTES: u64 = 1 << 20;

/// A skill of a server that knows it by its name.
pub(super) struct NamedContent {
    /// `SKILL.md`, put together from the answer.
    pub(super) skill_file: Bytes,
    /// The paths of all other files, if the server was asked.
    pub(super) paths: Option<Vec<RelPath>>,
}

/// The files of skills that a server offers.
pub(crate) struct OfferedFiles<'a, S> {
    pub(super) server: &'a S,
}

impl<'a, S: SkillServer> OfferedFiles<'a, S> {
    pub(crate) fn new(server: &'a S) -> Self {
        Self { server }
    }

    /// Reads a file of an offered skill and compares it with what the server promised.
    pub(crate) async fn read(
        &self,
        skill: &SkillId,
        offer: &SkillOffer,
        file: &ResourceUri,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let bytes = self.read_unchecked(skill, offer, file, most).await;
        let bytes = bytes.map_err(|refusal| refusal.about(skill))?;
        check_promise(skill, offer, file, &bytes)?;
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
        offer: &SkillOffer,
        file: &ResourceUri,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(skill).file(file);
        let path = skill.uri.below(file).ok_or_else(|| refuse(Reason::PathOutsideSkill))?;
        let is_skill_file = file == skill.uri.file();
        match &offer.route {
            FetchRoute::Resources | FetchRoute::Manifest { .. } => {
                Ok(self.server.read_resource(file.as_str(), most).await?.bytes)
            }
            FetchRoute::SingleResource { uri }
            | FetchRoute::Collection { skill_file: uri, .. }
            | FetchRoute::Documents { skill_file: uri, .. }
                if is_skill_file =>
            {
                let bytes = self.server.read_resource(uri, most).await?.bytes;
                if skills_over_mcp::is_error_text(&bytes) {
                    return Err(refuse(Reason::FileMissing).actual("an error written as content"));
                }
                Ok(bytes)
            }
            FetchRoute::WebFile { url } if is_skill_file => {
                Ok(self.read_web(skill, url, most).await?.bytes)
            }
            FetchRoute::SingleResource { .. } | FetchRoute::WebFile { .. } => {
                Err(refuse(Reason::FileNotListed))
            }
            FetchRoute::WebFolder { url } => {
                // Paths in such an index are plain, so the URI spells them unescaped.
                let below = skill.uri.root().as_str().len() + 1;
                let url = format!("{url}{}", &file.as_str()[below..]);
                Ok(self.read_web(skill, &url, most).await?.bytes)
            }
            FetchRoute::Collection { others, .. } => {
                self.read_collected(skill, others, file, most).await
            }
            FetchRoute::Documents { skill_file, list } => {
                self.read_document(skill, skill_file, list, &path, most).await
            }
            FetchRoute::SkillsGet { name, arguments } if is_skill_file => {
                Ok(self.get_named(skill, name, arguments, offer).await?.skill_file)
            }
            FetchRoute::SkillsGet { name, arguments } => {
                let (answer, _) = self.ask_skill(skill, name, arguments).await?;
                let uri = answer.resource(&path).ok_or_else(|| refuse(Reason::FileNotListed))?;
                Ok(self.server.read_resource(uri, most).await?.bytes)
            }
            FetchRoute::SkillsRead { name } if is_skill_file => {
                Ok(self.read_page(skill, name, offer).await?.skill_file)
            }
            FetchRoute::SkillsRead { name } => {
                let params = skills_page::reference_params(name, &path);
                let answer = self.ask_by_name(skills_page::READ_REFERENCE, params).await?;
                let bytes = skills_page::read_reference(&answer);
                bytes.map(Bytes::from).map_err(|invalid| unlike(skill, invalid))
            }
            FetchRoute::Archive { url, format, digest } => {
                let archive = OfferedArchive { url, declared: *format, digest: *digest };
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
    ) -> Result<FetchedContent, Refusal> {
        let missing = || Refusal::new(Reason::FileMissing).about(skill).file(url);
        let web = self.server.web().ok_or_else(missing)?;
        let time = self.server.policy().budgets.answer_time;
        let fetched = web.get(url, most, time).await;
        let fetched = fetched.map_err(|refusal| refusal.about(skill))?.ok_or_else(missing)?;
        self.server.spend(fetched.bytes.len())?;
        Ok(fetched)
    }

    /// Takes one file out of a resource that contains all of them; a file outside the skill
    /// invalidates the whole resource.
    async fn read_collected(
        &self,
        skill: &SkillId,
        collection: &str,
        file: &ResourceUri,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(skill).file(file);
        let answer = self.server.read_answer(collection, most).await?;
        let files = skilljack::read_collection(answer.text())
            .map_err(|invalid| refuse(Reason::ContentInvalid).actual(invalid))?;
        let mut found = None;
        for collected in files {
            let inside = skill.uri.resource(&collected.uri).ok_or_else(|| {
                let uri = collected.uri.escape_debug();
                Refusal::new(Reason::ResourceOutside).about(skill).file(uri)
            })?;
            if inside == *file && found.replace(collected.bytes).is_some() {
                return Err(refuse(Reason::ResourceDuplicate));
            }
        }
        found.map(Bytes::from).ok_or_else(|| refuse(Reason::FileMissing))
    }

    async fn read_document(
        &self,
        skill: &SkillId,
        skill_file: &str,
        list: &str,
        path: &RelPath,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(skill).file(path);
        let listing = self.server.read_resource(list, MOST_LIST_BYTES).await?.bytes;
        let listing = String::from_utf8_lossy(&listing);
        let document = skills_over_mcp::find_document(&listing, skill_file, path)
            .ok_or_else(|| refuse(Reason::FileNotListed))?;
        let bytes = self.server.read_resource(&document.uri, most).await?.bytes;
        let actual = bytes.len() as u64;
        if let Some(size) = document.promise.size.filter(|size| *size != actual) {
            if skills_over_mcp::is_error_text(&bytes) {
                return Err(refuse(Reason::FileMissing).actual("an error written as content"));
            }
            let refusal = refuse(Reason::SizeMismatch).expected(format!("{size} bytes"));
            return Err(refusal.actual(format!("{actual} bytes")));
        }
        Ok(bytes)
    }

    /// Asks for a skill by its name, and puts its `SKILL.md` together.
    ///
    /// A server that needs arguments gives no instructions without them. Then `SKILL.md` names the
    /// arguments, and no request is sent.
    pub(super) async fn get_named(
        &self,
        skill: &SkillId,
        name: &str,
        arguments: &ArgumentValues,
        offer: &SkillOffer,
    ) -> Result<NamedContent, Refusal> {
        let facts = &offer.facts;
        if arguments.is_empty() && facts.needs_arguments() {
            let skill_file = facts.skill_file_with_arguments(name).into();
            return Ok(NamedContent { skill_file, paths: None });
        }
        let (answer, more) = self.ask_skill(skill, name, arguments).await?;
        let facts = (**facts).clone().and(more);
        let skill_file = facts.skill_file(name, &answer.instructions).into();
        Ok(NamedContent { skill_file, paths: Some(answer.paths(name)) })
    }

    async fn ask_skill(
        &self,
        skill: &SkillId,
        name: &str,
        arguments: &ArgumentValues,
    ) -> Result<(SkillAnswer<'static>, SkillFacts), Refusal> {
        let params = sep_2076::params_with(name, arguments);
        let answer = self.ask_by_name(method::SKILLS_GET, params).await?;
        let read = SkillAnswer::read(&answer).map_err(|invalid| unlike(skill, invalid))?;
        Ok((read, SkillFacts::of_answer(&answer)))
    }

    /// Reads a skill by its name, and puts its `SKILL.md` together.
    pub(super) async fn read_page(
        &self,
        skill: &SkillId,
        name: &str,
        offer: &SkillOffer,
    ) -> Result<NamedContent, Refusal> {
        let answer = self.ask_by_name(skills_page::READ, sep_2076::params(name)).await?;
        let read = skills_page::read(&answer, name).map_err(|invalid| unlike(skill, invalid))?;
        let facts = (*offer.facts).clone().and(read.facts);
        let skill_file = facts.skill_file(name, &read.instructions).into();
        Ok(NamedContent { skill_file, paths: Some(read.paths) })
    }

    /// Has the server run a script of a skill that it knows by its name.
    pub(crate) async fn execute(
        &self,
        skill: &SkillId,
        offer: &SkillOffer,
        script: &RelPath,
        arguments: Value,
    ) -> Result<RemoteRun, Refusal> {
        let FetchRoute::SkillsRead { name } = &offer.route else {
            return Err(Refusal::new(Reason::FileNotListed)
                .about(skill)
                .file(script)
                .expected("a server that runs scripts (`skills/execute`)"));
        };
        let params = skills_page::execute_params(name, script, arguments);
        let answer = self.server.ask(skills_page::EXECUTE, params).await;
        let answer = answer.map_err(|error| {
            let unknown = error.is_unknown_method();
            let refusal = self.server.unanswered(error).about(skill).file(script);
            if unknown {
                refusal.expected("a server that runs scripts (`skills/execute`)")
            } else {
                refusal
            }
        })?;
        self.server.spend(answer.text().len())?;
        skills_page::read_run(answer.text()).map_err(|invalid| unlike(skill, invalid))
    }

    /// Returns the other files that a server names in a resource of their own.
    pub(super) async fn named_files(
        &self,
        skill: &SkillId,
        route: &FetchRoute,
    ) -> Result<Option<Vec<(ResourceUri, FilePromise)>>, Refusal> {
        match route {
            FetchRoute::Collection { others, .. } => {
                let most = self.server.policy().limits.bytes;
                let answer = self.server.read_answer(others, most).await?;
                let files = skilljack::read_collection(answer.text())
                    .map_err(|invalid| unlike(skill, invalid))?;
                let inside = files.iter().filter_map(|file| skill.uri.resource(&file.uri));
                Ok(Some(inside.map(|uri| (uri, FilePromise::default())).collect()))
            }
            FetchRoute::Documents { skill_file, list } => {
                let listing = self.server.read_resource(list, MOST_LIST_BYTES).await?.bytes;
                let listing = String::from_utf8_lossy(&listing);
                let documents = skills_over_mcp::read_documents(&listing, skill_file);
                let file = |(path, document): (RelPath, FoundDocument)| {
                    (skill.uri.root().child(&path), document.promise)
                };
                Ok(Some(documents.into_iter().map(file).collect()))
            }
            _ => Ok(None),
        }
    }

    /// Sends a request about one skill and returns the text of the result.
    async fn ask_by_name(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<String, Refusal> {
        let answer = self.server.ask(method, params).await.map_err(|error| {
            let mut missing = false;
            if let AskError::Failed(error) = &error {
                missing = error.is_missing_name();
                if error.is_unknown_method() {
                    self.server.forget_dialect();
                }
            }
            let refusal = self.server.unanswered(error);
            let reason = if missing { Reason::FileMissing } else { refusal.reason };
            Refusal { reason, ..refusal }
        })?;
        self.server.spend(answer.text().len())?;
        Ok(answer.text().to_owned())
    }
}

fn unlike(skill: &SkillId, invalid: InvalidDocument) -> Refusal {
    Refusal::new(Reason::ContentInvalid).about(skill).actual(invalid)
}
