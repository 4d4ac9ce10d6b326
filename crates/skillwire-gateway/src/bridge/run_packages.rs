//! Asks the user whether packages that a script lists may be installed: by name and version.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillwire_core::visible::{one_line, one_line_within};
use skillwire_engine::offer::{Client, Elicited, Form};
use skillwire_trust::{Reason, Refusal};

use super::{
    Bridge,
    run_form::RunQuestion,
    running::WantedRun,
    script_runner::{BridgeScripts, MissingPackages},
    stop::CallError,
    text::count,
    windows::OpenWindow,
};

/// The key of the question in a request that carries its answer.
const KEY: &str = "packages";

/// The field with which the user lets packages be installed.
pub(super) const INSTALL: &str = "install";

/// The most packages that a form names.
const MAX_PACKAGES: usize = 60;

/// The most characters of a package's name and version, and of a path.
const MAX_NAME: usize = 200;

impl Bridge {
    /// Finds the packages that a script lists and does not have, where the user can be asked about
    /// them.
    pub(crate) async fn missing_packages(
        &self,
        client: &Client,
        opened: &OpenWindow,
        runner: &dyn BridgeScripts,
        wanted: &WantedRun,
    ) -> Result<Option<MissingPackages>, Refusal> {
        if !self.options().asks_user || !client.can_ask() {
            return Ok(None);
        }
        let listed = opened.window.paths();
        let mut files = Vec::new();
        let lists = runner.package_lists(&wanted.script);
        for path in lists.into_iter().filter(|path| listed.contains(path)) {
            let content = opened.window.read(path.as_str()).await?;
            files.push((path, content.bytes().clone()));
        }
        Ok(runner.missing_packages(wanted.script.clone(), files).await)
    }

    /// Asks whether packages may be installed for a script that the user lets run anyway. A client that
    /// shows no form gets the run without them.
    pub(crate) async fn ask_to_install(
        &self,
        client: &Client,
        opened: &OpenWindow,
        wanted: &WantedRun,
        packages: &MissingPackages,
    ) -> Result<bool, CallError> {
        let skill = opened.window.skill();
        let review = opened.window.review_run(&wanted.request)?;
        let mut text = format!(
            "Install {} for `{}` of the skill {}? You let it run already.\n",
            count(packages.packages.len(), "package"),
            one_line(wanted.script.as_str()),
            one_line(&opened.handle),
        );
        describe_packages(&mut text, packages);
        let text = RunQuestion::about_content(review, text).text;
        let fields = json!({ INSTALL: install_field(packages) });
        let form = Form::new(text, &fields, &[INSTALL]).on_occasion(self.run_occasion(skill)?);
        if !client.has_answer(KEY, &form) && self.host().count_form(skill).is_err() {
            return Ok(false);
        }
        let answer = client.ask(KEY, &form).await?;
        let agreed = matches!(&answer, Elicited::Accepted(content) if content.get(INSTALL) == Some(&true.into()));
        match answer {
            Elicited::Declined => {
                opened.window.log_run(Err(Reason::UserDeclined), "asked about packages");
                return Err(Refusal::new(Reason::UserDeclined).about(skill).into());
            }
            Elicited::Accepted(_) if !agreed => {}
            _ => self.host().uncount_form(skill),
        }
        if agreed {
            self.count_answered_run(skill);
        }
        Ok(agreed)
    }

    /// Installs what the user agreed to. The error is a sentence for the model.
    pub(crate) async fn install_packages(
        &self,
        opened: &OpenWindow,
        wanted: &WantedRun,
        packages: MissingPackages,
    ) -> Result<(), String> {
        let record = json!({ "asked_by": "model", "script": wanted.script.as_str(), "outcome":
            "packages agreed to", "packages_digest": packages.digest });
        opened.window.log_run(Ok(()), &record.to_string());
        (packages.install)().await.inspect_err(|why| {
            opened.window.log_run(Err(Reason::NotGranted), why);
        })
    }
}

/// Writes which packages would be installed.
pub(super) fn describe_packages(text: &mut String, packages: &MissingPackages) {
    let number = packages.packages.len();
    let file = one_line_within(&packages.file, MAX_NAME);
    let _ = writeln!(text, "`{file}` lists {}, to be installed:", count(number, "package"));
    for package in packages.packages.iter().take(MAX_PACKAGES) {
        let _ = writeln!(text, "  {}", one_line_within(package, MAX_NAME));
    }
    if number > MAX_PACKAGES {
        let _ = writeln!(text, "  … and {} more", number - MAX_PACKAGES);
    }
    let _ = writeln!(
        text,
        "The whole list, with the digest of each file, has the digest {}. Nothing else is installed, and \
         no code of a package runs outside of the isolation.",
        packages.digest
    );
}

/// The field that asks about packages.
pub(super) fn install_field(packages: &MissingPackages) -> Value {
    json!({
        "type": "boolean",
        "title": format!("Install {}", count(packages.packages.len(), "package")),
        "description": "Yes installs exactly what is listed, for each script that lists the same. No runs the \
            script without.",
        "default": false,
    })
}

#[cfg(test)]
mod tests {
    use skillwire_core::Digest;

    use super::*;

    #[test]
    fn a_long_list_is_cut_and_its_digest_stands_for_the_rest() {
        let packages = MissingPackages {
            file: "requirements.txt".to_owned(),
            packages: (0..100).map(|number| format!("p{number} 1.0\u{202e}")).collect(),
            digest: Digest::of(b"all"),
            install: Box::new(|| Box::pin(async { Ok(()) })),
        };
        let mut text = String::new();
        describe_packages(&mut text, &packages);
        assert!(
            text.starts_with("`requirements.txt` lists 100 packages, to be installed:\n"),
            "{text}"
        );
        assert!(text.contains("\n  p59 1.0") && !text.contains("p60 "), "{text}");
        assert!(text.contains("… and 40 more\n"), "{text}");
        assert!(text.contains(&Digest::of(b"all").to_string()), "{text}");
        assert!(!text.contains('\u{202e}'), "no character turns the text around: {text}");
    }
}
