//! Prints refusals for people and for programs.

use std::fmt;

use skillwire_core::visible::one_line;
use skillwire_trust::{Refusal, RefusalClass};

use crate::{
    commands::Outcome,
    exit::Exit,
    output::{ERROR, FAINT, HELP},
    remedies, report,
};

/// The exit code of a refusal.
pub(crate) fn exit(class: RefusalClass) -> Exit {
    match class {
        RefusalClass::Verification => Exit::Verification,
        // A state file that cannot be read approves nothing.
        RefusalClass::Approval | RefusalClass::State => Exit::Approval,
        RefusalClass::NotFound => Exit::NotFound,
        RefusalClass::Ambiguous => Exit::Ambiguous,
        RefusalClass::Unreachable => Exit::Unreachable,
        RefusalClass::Declined => Exit::Declined,
    }
}

/// With `json`, prints a refusal as JSON on standard output, where programs read the result.
pub(crate) fn answer(json: bool, outcome: Outcome) -> Outcome {
    match outcome {
        Err(failure) if json => match failure.refusal() {
            Some(refusal) => {
                report::json(&mut std::io::stdout().lock(), &remedies::worded(refusal))?;
                Ok(failure.exit())
            }
            None => Err(failure),
        },
        outcome => outcome,
    }
}

/// A refusal in the form of a compiler's message.
pub(crate) struct RefusalText<'a>(pub(crate) &'a Refusal);

impl fmt::Display for RefusalText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worded =
            self.0.worded(|remedy| remedies::sentence(remedy, |id| argument(&id.to_string())));
        let Refusal { reason, subject, file, expected, actual, server_text, hint, .. } = &worded;
        write!(f, "{ERROR}error[{}]{ERROR:#}: {}", reason.code(), reason.meaning())?;
        if let Some(subject) = subject {
            write!(f, "\n  {FAINT}-->{FAINT:#} {}", one_line(&subject.to_string()))?;
        }
        if let Some(file) = file {
            write!(f, "\n  {FAINT}file:{FAINT:#} {}", one_line(file))?;
        }
        if let Some(expected) = expected {
            write!(f, "\n  {FAINT}expected:{FAINT:#} {}", one_line(expected))?;
        }
        if let Some(actual) = actual {
            write!(f, "\n  {FAINT}actual:{FAINT:#} {}", one_line(actual))?;
        }
        for line in server_text.as_deref().unwrap_or_default().lines() {
            write!(f, "\n  {FAINT}server:{FAINT:#} {}", one_line(line))?;
        }
        if let Some(hint) = hint {
            write!(f, "\n{HELP}help:{HELP:#} {}", one_line(hint))?;
        }
        Ok(())
    }
}

/// Quotes untrusted text as one argument of a command that users copy into a shell.
///
/// A server chooses the URI, which may hold `;`, `&`, `$`, parentheses and quotes. Unquoted, it
/// could run a command of the server's choice.
pub(crate) fn argument(text: &str) -> String {
    // Quoting fails only for a NUL. It is allowed here, since no shell passes it to a command.
    let quoted = shlex::Quoter::new().allow_nul(true).quote(text);
    quoted.map_or_else(|_| String::new(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use std::collections::BTreeMap;

    use skillwire_core::SkillUri;
    use skillwire_trust::{Origin, Reason, Remedy, SkillId};

    use super::*;

    #[test]
    fn every_class_but_one_has_an_exit_code_of_its_own_hst_118() {
        let mut codes: BTreeMap<u8, Vec<RefusalClass>> = BTreeMap::new();
        for reason in Reason::ALL {
            let classes = codes.entry(exit(reason.class()) as u8).or_default();
            if !classes.contains(&reason.class()) {
                classes.push(reason.class());
            }
        }
        let codes: Vec<_> = codes.into_iter().collect();
        assert_eq!(
            codes,
            [
                (3, vec![RefusalClass::Verification]),
                (4, vec![RefusalClass::Approval, RefusalClass::State]),
                (5, vec![RefusalClass::NotFound]),
                (6, vec![RefusalClass::Ambiguous]),
                (7, vec![RefusalClass::Unreachable]),
                (8, vec![RefusalClass::Declined]),
            ]
        );
    }

    /// The table of all codes in the documentation.
    fn table() -> String {
        let mut table = String::from("| code | exit | what it means |\n|---|---|---|\n");
        for reason in Reason::ALL {
            let (code, exit) = (reason.code(), exit(reason.class()) as u8);
            let _ = writeln!(table, "| `{code}` | {exit} | {} |", reason.meaning());
        }
        table
    }

    #[test]
    fn every_code_is_documented_as_it_is_hst_118() {
        let page = include_str!("../../../docs/refusals.md");
        let table = table();
        assert!(page.contains(&table), "docs/refusals.md should have this table:\n{table}");
    }

    #[test]
    fn a_uri_in_a_hint_cannot_become_a_command_when_it_is_copied() {
        let uri = SkillUri::parse("skill://$(reboot);x'y/a/SKILL.md").unwrap();
        let skill = SkillId { origin: Origin::parse("acme").unwrap(), uri };
        let refusal = Refusal::new(Reason::NotApproved).about(&skill);
        let shown = RefusalText(&refusal.remedy(Remedy::ApproveSkill(skill))).to_string();
        let copied = "skillwire approve 'acme:skill://$(reboot);x'\"'y/a/SKILL.md\"";
        assert!(shown.contains(copied), "{shown}");
        assert_eq!(argument("acme:billing/refunds"), "acme:billing/refunds");
        assert_eq!(argument(""), "''");
    }

    #[test]
    fn what_a_server_says_does_not_act_on_a_terminal_hst_112() {
        let refusal = Refusal::new(Reason::ServerError)
            .about("acme\u{1b}[2J")
            .file("x\u{202e}")
            .expected("a\nb")
            .actual("\u{7}")
            .hint("\u{1b}]0;x");
        let shown = anstream::adapter::strip_str(&RefusalText(&refusal).to_string()).to_string();
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{shown:?}");
        assert_eq!(shown.lines().count(), 6);
    }
}
