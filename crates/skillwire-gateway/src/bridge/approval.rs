//! Asking the user, through their client, whether a skill may be loaded.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillwire_core::{ContentDiff, Resources, SkillEntry, SkillResource, SkillUri};
use skillwire_engine::offer::{Client, Elicited, Form};
use skillwire_host::context::text::{one_line, one_line_within};
use skillwire_trust::{
    ApprovedSkill, Grants, KnownSkill, ListedSkill, Origin, Question, Reason, Refusal, SkillId,
};

use super::{
    Bridge,
    stop::CallError,
    text::{count, size},
};

/// What the answer to the question is known by.
const KEY: &str = "approve";

/// The field with which the user agrees.
const AGREE: &str = "load";

/// The most files that a form names, and the most of each kind of change.
const MAX_FILES: usize = 40;

/// The most characters of a skill's own words.
const MAX_WORDS: usize = 1_100;

impl Bridge {
    /// The approval a skill has, or the one the user gives now.
    pub(crate) async fn approved_or_ask(
        &self,
        client: &Client,
        skill: &KnownSkill,
    ) -> Result<ApprovedSkill, CallError> {
        let refusal = match skill.certain().and_then(|listed| self.host().approved(listed)) {
            Ok(approved) => return Ok(approved),
            Err(refusal) if matches!(refusal.reason, Reason::NotApproved | Reason::Changed) => {
                refusal
            }
            Err(refusal) => return Err(refusal.into()),
        };
        if !self.options().asks || !client.can_ask() {
            return Err(refusal.into());
        }
        // Nobody should be asked about what is no longer there: the server is asked first.
        let now = self.host().refresh(skill).await?;
        if now.entry() != skill.entry() {
            self.look_again();
        }
        match self.host().approved(&now) {
            Ok(approved) => Ok(approved),
            Err(refusal) if matches!(refusal.reason, Reason::NotApproved | Reason::Changed) => {
                self.ask(client, &now, refusal).await
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Asks the user; `refusal` is the answer as long as they have not decided.
    async fn ask(
        &self,
        client: &Client,
        listed: &ListedSkill,
        refusal: Refusal,
    ) -> Result<ApprovedSkill, CallError> {
        let form = self.form(listed).await?;
        if !client.has_answer(KEY, &form) {
            self.host().count_question(listed.id())?;
        }
        match client.ask(KEY, &form).await? {
            Elicited::Accepted(content) if content.get(AGREE) == Some(&Value::Bool(true)) => {
                let approved = self.host().approve(listed, Grants::load_only())?;
                self.windows().close_outdated(listed.id(), listed.entry());
                self.look_again();
                Ok(approved)
            }
            Elicited::Accepted(_) | Elicited::Declined => {
                let declined = self.host().decline(listed)?;
                self.look_again();
                Err(declined.into())
            }
            Elicited::Dismissed | Elicited::Unavailable => Err(refusal.into()),
        }
    }

    /// The form: everything the user should see before they agree, and the exact content it is about.
    async fn form(&self, listed: &ListedSkill) -> Result<Form, Refusal> {
        let Question::Approve { skill, entry, tools, changes, integrity, .. } =
            self.host().question(listed)?
        else {
            return Err(Refusal::new(Reason::NotApproved).skill(listed.id()));
        };
        let mut text = match changes {
            None => format!("May the skill {} be loaded?\n\n", one_line(&skill.to_string())),
            Some(_) => format!(
                "The skill {} has changed since you approved it. May it be loaded as it is now?\n\n",
                one_line(&skill.to_string())
            ),
        };
        describe(&mut text, &skill, &entry);
        if integrity.is_first_seen() {
            text.push_str(
                "Its server lists no digests: these were taken when the skill was first seen here.\n",
            );
        }
        if !tools.is_empty() {
            let tools: Vec<String> = tools.iter().map(|tool| one_line_within(tool, 200)).collect();
            let _ = writeln!(
                text,
                "It asks for these tools, which loading does not grant: {}",
                tools.join(", ")
            );
        }
        if let Some(changes) = &changes {
            text.push('\n');
            describe_changes(&mut text, &skill.uri, changes);
            text.push_str(&self.differences(listed, changes).await);
        }
        if let Some(content) = listed.content() {
            let _ = writeln!(text, "\nYou approve exactly this content: {}", content.fingerprint());
        } else {
            text.push_str("\nIts files have no digests, so nobody can say what will be loaded.\n");
        }
        text.push_str(
            "It is text for the model. Skillwire cannot control what this client does with it.",
        );
        let field = json!({
            "type": "boolean",
            "title": "Load this skill",
            "description": "Yes lets the model read it, until its content changes.",
            "default": false,
        });
        Ok(Form::new(text, &json!({ AGREE: field }), &[AGREE]))
    }
}

fn describe(text: &mut String, skill: &SkillId, entry: &SkillEntry) {
    let origin = match &skill.origin {
        Origin::Server(label) => format!("the MCP server `{label}` (the name you gave it)"),
        Origin::Local => "a skill folder of yours".to_owned(),
        Origin::Project => "a skill folder of this project".to_owned(),
    };
    let _ = writeln!(text, "From: {origin}");
    let description = one_line_within(entry.frontmatter.description(), MAX_WORDS);
    let _ = writeln!(text, "It says it does: {description}");
    let Resources::Listed(files) = &entry.resources else {
        text.push_str("Files: not listed by its server\n");
        return;
    };
    let total = files.iter().map(|file| file.size).sum();
    let _ = writeln!(text, "Files: {}, {} in all", count(files.len(), "file"), size(total));
    for file in files.iter().take(MAX_FILES) {
        let _ = writeln!(text, "  {} ({})", path(&skill.uri, file), size(file.size));
    }
    more(text, files.len());
}

fn describe_changes(text: &mut String, skill: &SkillUri, changes: &ContentDiff) {
    text.push_str("What changed:\n");
    for (sign, files) in [("+", &changes.added), ("-", &changes.removed)] {
        for file in files.iter().take(MAX_FILES) {
            let _ = writeln!(text, "  {sign} {} ({})", path(skill, file), size(file.size));
        }
        more(text, files.len());
    }
    for (before, after) in changes.changed.iter().take(MAX_FILES) {
        let _ = writeln!(
            text,
            "  ~ {} ({}, was {})",
            path(skill, after),
            size(after.size),
            size(before.size)
        );
    }
    more(text, changes.changed.len());
    for field in changes.frontmatter.iter().take(MAX_FILES) {
        let value = |value: &Option<Value>| match value {
            Some(value) => one_line_within(&value.to_string(), 400),
            None => "nothing".to_owned(),
        };
        let (before, after) = (value(&field.before), value(&field.after));
        let pointer = one_line_within(&field.pointer, 200);
        let _ = writeln!(text, "  frontmatter {pointer}: {after} (was {before})");
    }
    if changes.is_empty() {
        text.push_str("  It was something else in between, and is what you approved again.\n");
    }
}

/// The path of a file in its skill, with nothing in it that acts or hides.
pub(crate) fn path(skill: &SkillUri, file: &SkillResource) -> String {
    let path = skill.below(&file.uri).map_or_else(|| file.uri.to_string(), |path| path.to_string());
    one_line_within(&path, 200)
}

fn more(text: &mut String, files: usize) {
    if files > MAX_FILES {
        let _ = writeln!(text, "  … and {} more", count(files - MAX_FILES, "file"));
    }
}
