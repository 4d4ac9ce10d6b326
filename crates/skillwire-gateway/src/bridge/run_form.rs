//! Asks the user whether a script may run: which script, with which arguments and files, and what it
//! gets.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillwire_core::visible::{one_line, one_line_within};
use skillwire_engine::offer::{Client, Elicited, Form};
use skillwire_trust::{Answer, ApprovalReview, DecisionChannel, Grants, Reason, Refusal, SkillId};

use super::{
    Bridge,
    approval_form::describe,
    run_packages::{INSTALL, describe_packages, install_field},
    running::WantedRun,
    script_runner::MissingPackages,
    shell,
    stop::CallError,
    windows::OpenWindow,
};

/// The key of the question in a request that carries its answer.
const KEY: &str = "run";

/// The field with which the user lets the script run.
const RUN: &str = "run";

/// The field with which the user lets all scripts of the skill run from now on.
const ALWAYS: &str = "always";

/// The most characters of the arguments that a form shows.
const MAX_WORDS: usize = 2_000;

/// A question about one run.
pub(crate) struct RunQuestion {
    review: ApprovalReview,
    pub(super) text: String,
    /// The field that asks about packages, if some are missing.
    install: Option<Value>,
}

impl RunQuestion {
    /// Asks about a run in isolation, and about the packages that it lacks.
    pub(crate) fn isolated(
        opened: &OpenWindow,
        wanted: &WantedRun,
        packages: Option<&MissingPackages>,
    ) -> Result<Self, Refusal> {
        let review = opened.window.review_run(&wanted.request)?;
        let mut text = first_lines("Run", "in isolation on this machine", opened, wanted);
        text.push_str("It gets:\n");
        for line in review.card().proposed.run.lines() {
            let _ = writeln!(text, "  {line}");
        }
        if !wanted.request.inputs.is_empty() {
            text.push_str("Copies of these files of yours:\n");
            for input in &wanted.request.inputs {
                let _ = writeln!(text, "  {}", one_line(&input.to_string()));
            }
        }
        if let Some(packages) = packages {
            describe_packages(&mut text, packages);
        }
        let install = packages.map(install_field);
        Ok(Self { install, ..Self::about_content(review, text) })
    }

    /// Asks about a run on the skill's server.
    pub(crate) fn on_server(opened: &OpenWindow, wanted: &WantedRun) -> Result<Self, Refusal> {
        let review = opened.window.review_remote_run()?;
        let server = opened.window.skill().origin.label();
        let place = format!("on its server `{server}`");
        let mut text = first_lines("Run", &place, opened, wanted);
        text.push_str(
            "The server sees the arguments, and nothing isolates the script there. What it answers is \
             the server's word.\n",
        );
        Ok(Self::about_content(review, text))
    }

    /// Adds what the skill is and the content that the answer is for.
    pub(super) fn about_content(review: ApprovalReview, mut text: String) -> Self {
        let card = review.card();
        describe(&mut text, &card.skill, &card.entry);
        if let Some(content) = card.content {
            let _ = writeln!(text, "Your answer is for exactly this content: {content}");
        }
        Self { review, text, install: None }
    }
}

/// The first two lines, because many clients show no more of a form.
fn first_lines(verb: &str, place: &str, opened: &OpenWindow, wanted: &WantedRun) -> String {
    let script = one_line(wanted.script.as_str());
    let handle = one_line(&opened.handle);
    let words: Vec<_> = wanted.words.iter().map(|word| shell::word(word)).collect();
    let words = words.join(" ");
    let arguments = match words.chars().count() {
        0 => "Without arguments.".to_owned(),
        length if length > MAX_WORDS => {
            format!("Arguments ({length} characters): {}", one_line_within(&words, MAX_WORDS))
        }
        _ => format!("Arguments: {}", one_line(&words)),
    };
    format!("{verb} `{script}` of the skill {handle}, {place}?\n{arguments}\n")
}

impl Bridge {
    /// Returns the grants with which a run may go on, and whether the packages that the form named may be
    /// installed; or `refusal` if the user did not agree.
    ///
    /// An answer counts for the run that it was asked about: a client that sends it again is asked
    /// again. A no is for this run alone and does not withdraw the approval to load the skill.
    pub(crate) async fn ask_to_run(
        &self,
        client: &Client,
        opened: &OpenWindow,
        question: RunQuestion,
        refusal: Refusal,
    ) -> Result<(Grants, bool), CallError> {
        let refused = |refusal: Refusal| {
            opened.window.log_run(Err(refusal.reason), "asked");
            CallError::from(refusal)
        };
        if refusal.reason != Reason::NotGranted || !self.options().asks_user || !client.can_ask() {
            return Err(refused(refusal));
        }
        let RunQuestion { review, mut text, install } = question;
        self.write_notes(&mut text, review.card()).await;
        let skill = opened.window.skill();
        let mut fields = json!({
            RUN: {
                "type": "boolean",
                "title": "Run it",
                "description": "Yes runs the script once.",
                "default": false,
            },
            ALWAYS: {
                "type": "boolean",
                "title": "Do not ask again for this skill",
                "description": "Yes lets each of its scripts run with what is shown, until its \
                    content changes.",
                "default": false,
            },
        });
        if let Some(install) = install {
            fields[INSTALL] = install;
        }
        let form = Form::new(text, &fields, &[RUN]).on_occasion(self.run_occasion(skill)?);
        if !client.has_answer(KEY, &form) {
            self.host().count_form(skill)?;
        }
        let elicited = client.ask(KEY, &form).await?;
        let is_true = |content: &serde_json::Map<String, Value>, field: &str| {
            content.get(field) == Some(&Value::Bool(true))
        };
        let grants = review.card().proposed.clone();
        let (answer, installs) = match &elicited {
            Elicited::Accepted(content) if is_true(content, RUN) => {
                // A user who agrees is not flooded with questions.
                self.host().uncount_form(skill);
                self.count_answered_run(skill);
                let always = is_true(content, ALWAYS);
                let answer = if always { Answer::Yes(grants) } else { Answer::Once(grants) };
                (answer, is_true(content, INSTALL))
            }
            Elicited::Declined => {
                return Err(refused(Refusal::new(Reason::UserDeclined).about(skill)));
            }
            Elicited::Accepted(_) => return Err(refused(refusal)),
            Elicited::Dismissed | Elicited::Unavailable => {
                self.host().uncount_form(skill);
                return Err(refused(refusal));
            }
        };
        let answered = review.show().answer(answer, DecisionChannel::Form);
        let approved = self.host().record_review(answered)?;
        self.look_again();
        Ok((approved.grants().clone(), installs))
    }

    /// What an answer about a run must agree with besides the form: a client that sends an answer again
    /// is asked again.
    pub(super) fn run_occasion(&self, skill: &SkillId) -> Result<String, Refusal> {
        let revocations = self.host().revocations(skill)?;
        Ok(format!("{revocations} {}", self.answered_runs(skill)))
    }
}
