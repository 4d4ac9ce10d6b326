//! What code does with names: which get which values, which functions are called with what.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use crate::{code::slice, language::Language};

/// The most facts of one piece of code.
const MOST_FACTS: usize = 20_000;

/// What one piece of code does with names.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Names that get a value.
    pub(super) bindings: Vec<Binding>,
    /// Functions, with their parameters.
    pub(super) functions: Vec<Function>,
    /// Values that functions return.
    pub(super) returns: Vec<(String, Range<usize>)>,
    /// Calls of functions.
    pub(super) calls: Vec<Call>,
    /// Every use of a name, in order of place.
    pub(super) uses: Vec<NameUse>,
    /// Comments.
    pub(super) comments: Vec<Range<usize>>,
    /// Texts that are not code.
    pub(super) strings: Vec<Range<usize>>,
    /// Names that come from other files.
    pub(super) imported: Vec<String>,
    /// What one command or call reaches over: pipelines, commands, calls.
    pub(super) spans: Vec<Range<usize>>,
    /// Whether all of the code was looked at.
    pub(super) complete: bool,
}

#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    /// Whether the name gets a named member of the value, and not all of it: `const { A } = value`.
    pub(super) member: bool,
    pub(super) value: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) parameters: Vec<String>,
    /// Where the parameters stand.
    pub(super) given: Range<usize>,
    /// The whole function.
    pub(super) body: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) callee: String,
    /// The object that the function is called on, if there is one.
    pub(super) object: Option<String>,
    pub(super) arguments: Vec<Range<usize>>,
    pub(super) range: Range<usize>,
}

#[derive(Debug)]
pub(super) struct NameUse {
    pub(super) at: usize,
    pub(super) name: String,
    /// Whether the value as a whole is used, and not a member of it.
    pub(super) whole: bool,
}

/// The name under which a file that is written and read again is known.
pub(super) fn path_name(written: &str) -> Option<String> {
    let written = written.rsplit(['@', '=']).next().unwrap_or(written);
    let trimmed = written.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | '(' | ')'));
    let plain = trimmed.len() >= 4
        && trimmed.len() <= 200
        && trimmed.contains('/')
        && !trimmed.contains("://")
        && !trimmed.contains(char::is_whitespace)
        && !trimmed.starts_with("/dev/");
    plain.then(|| format!("file:{}", trimmed.trim_start_matches("./")))
}

/// Collects what a tree says.
pub(super) fn collect(tree: &Tree, language: Language, code: &str) -> Facts {
    let mut facts = Facts::default();
    let mut cursor = tree.walk();
    let mut functions: Vec<(usize, String)> = Vec::new();
    let mut seen = 0;
    loop {
        let node = cursor.node();
        seen += 1;
        if seen > MOST_FACTS {
            break;
        }
        while functions.last().is_some_and(|(end, _)| *end <= node.start_byte()) {
            functions.pop();
        }
        if node.is_named() {
            let inside = functions.last().map(|(_, name)| name.as_str());
            if let Some(name) = visit(&mut facts, node, language, code, inside) {
                functions.push((node.end_byte(), name));
            }
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                facts.complete = true;
                facts.uses.sort_by_key(|it| it.at);
                return facts;
            }
        }
    }
    facts.uses.sort_by_key(|it| it.at);
    facts
}

/// Adds what a node says; returns the name of the function that it begins.
fn visit(
    facts: &mut Facts,
    node: Node<'_>,
    language: Language,
    code: &str,
    inside: Option<&str>,
) -> Option<String> {
    let field = |name: &str| node.child_by_field_name(name);
    match node.kind() {
        "comment" => facts.comments.push(node.byte_range()),
        "identifier"
        | "property_identifier"
        | "shorthand_property_identifier"
        | "variable_name"
        | "variable"
        | "private_property_identifier" => {
            let name = slice(code, node).trim_start_matches('$').to_owned();
            let whole = !takes_member(&code[node.end_byte()..]);
            facts.uses.push(NameUse { at: node.start_byte(), name, whole });
        }
        "string" | "raw_string" | "word" | "template_string" | "concatenation"
        | "string_literal" => {
            if language != Language::Shell && node.kind() != "word" {
                facts.strings.push(node.byte_range());
            }
            if let Some(name) = path_name(slice(code, node)) {
                facts.uses.push(NameUse { at: node.start_byte(), name, whole: true });
            }
        }
        // Values that get a name.
        "assignment"
        | "augmented_assignment"
        | "assignment_expression"
        | "augmented_assignment_expression" => {
            let left = field("left").or_else(|| node.named_child(0));
            let count = u32::try_from(node.named_child_count()).unwrap_or_default();
            let right = field("right").or_else(|| node.named_child(count.saturating_sub(1)));
            bind(facts, left, right, code);
        }
        "variable_declarator" | "named_expression" | "variable_assignment" => {
            bind(facts, field("name"), field("value"), code);
        }
        "for_statement" | "for_in_statement" | "for_in_clause" => {
            let left = field("left").or_else(|| field("variable"));
            let right = field("right").or_else(|| field("value"));
            bind(facts, left, right, code);
        }
        "as_pattern" => {
            let value = node.named_child(0);
            bind(facts, node.named_child(1), value, code);
        }
        "foreach_statement" => bind(facts, node.named_child(0), node.named_child(1), code),
        "pair" => bind_pair(facts, node, code),
        "redirected_statement" => redirect(facts, node, code),
        // Functions.
        "function_definition"
        | "function_declaration"
        | "method_definition"
        | "function_expression" => {
            return field("name").map(|name| function(facts, node, slice(code, name), code));
        }
        "arrow_function" => {
            let named = node.parent().filter(|parent| parent.kind() == "variable_declarator");
            let name = named.and_then(|parent| parent.child_by_field_name("name"));
            let name = name.map(|name| function(facts, node, slice(code, name), code));
            if let (Some(name), Some(body)) = (&name, field("body"))
                && body.kind() != "statement_block"
            {
                facts.returns.push((name.clone(), body.byte_range()));
            }
            return name;
        }
        "return_statement" | "yield" => {
            if let Some(name) = inside {
                facts.returns.push((name.to_owned(), node.byte_range()));
            }
        }
        "import_from_statement" | "import_statement" | "import_clause" => {
            let names = slice(code, node).split(|c: char| !c.is_alphanumeric() && c != '_');
            facts.imported.extend(names.filter(|name| name.len() > 1).map(ToOwned::to_owned));
        }
        // Commands and calls.
        "pipeline" | "command" | "invokation_expression" => {
            facts.spans.push(node.byte_range());
            if let Some(name) = field("name").or_else(|| field("command_name")) {
                let callee = slice(code, name).to_owned();
                if language == Language::Shell && callee == "read" {
                    read_names(facts, node, code);
                }
                let mut walk = node.walk();
                let rest = node.named_children(&mut walk).skip(1).map(|it| it.byte_range());
                let arguments = rest.collect();
                facts.calls.push(Call {
                    callee,
                    object: None,
                    arguments,
                    range: node.byte_range(),
                });
            }
        }
        "call" | "call_expression" | "new_expression" => {
            facts.spans.push(node.byte_range());
            call(facts, node, code);
        }
        _ => {}
    }
    None
}

/// Tells whether what follows a name takes a member of its value.
fn takes_member(after: &str) -> bool {
    const WHOLE: [&str; 8] =
        [".items", ".values", ".entries", ".copy", ".keys", ".toString", ".encode", ".decode"];
    (after.starts_with('.') || after.starts_with('[') || after.starts_with("?."))
        && !WHOLE.iter().any(|method| after.starts_with(method))
}

/// Gives every name of the left side the value of the right side.
fn bind(facts: &mut Facts, left: Option<Node<'_>>, right: Option<Node<'_>>, code: &str) {
    let (Some(left), Some(right)) = (left, right) else { return };
    let member = left.kind() == "object_pattern" && !slice(code, left).contains("...");
    for name in targets(left, code) {
        facts.bindings.push(Binding { name, member, value: right.byte_range() });
    }
}

/// The names that a left side writes to: `a`, `self.a`, `a[k]`, `{a, b}`.
fn targets(left: Node<'_>, code: &str) -> Vec<String> {
    let text = slice(code, left);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    match left.kind() {
        "attribute" | "member_expression" => {
            let last = text.rsplit('.').next().unwrap_or(text);
            vec![last.to_owned()]
        }
        "subscript" | "subscript_expression" => {
            let object = text.split('[').next().unwrap_or(text);
            vec![object.rsplit('.').next().unwrap_or(object).to_owned()]
        }
        _ => text
            .split(|c: char| !is_name(c))
            .filter(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()))
            .take(8)
            .map(ToOwned::to_owned)
            .collect(),
    }
}

/// A member of an object that is made in place belongs to the name the object gets.
fn bind_pair(facts: &mut Facts, node: Node<'_>, code: &str) {
    let (Some(key), Some(value)) =
        (node.child_by_field_name("key"), node.child_by_field_name("value"))
    else {
        return;
    };
    let name = slice(code, key).trim_matches(|c| matches!(c, '"' | '\'')).to_owned();
    if !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        facts.bindings.push(Binding {
            name: format!("member:{name}"),
            member: false,
            value: value.byte_range(),
        });
    }
}

/// `… | while read x` gives the names what the pipeline brings.
fn read_names(facts: &mut Facts, command: Node<'_>, code: &str) {
    let mut at = command.parent();
    for _ in 0..8 {
        let Some(node) = at else { return };
        if node.kind() == "pipeline" {
            let words = slice(code, command).split_whitespace().skip(1);
            for name in words.filter(|word| !word.starts_with('-')).take(4) {
                let value = node.start_byte()..command.start_byte();
                facts.bindings.push(Binding { name: name.to_owned(), member: false, value });
            }
            return;
        }
        at = node.parent();
    }
}

/// A file gets what a command writes into it.
fn redirect(facts: &mut Facts, node: Node<'_>, code: &str) {
    let Some(body) = node.child_by_field_name("body") else { return };
    let mut walk = node.walk();
    for redirect in node.children_by_field_name("redirect", &mut walk) {
        let Some(target) = redirect.child_by_field_name("destination") else { continue };
        if let Some(name) = path_name(slice(code, target)) {
            facts.bindings.push(Binding { name, member: false, value: body.byte_range() });
        }
    }
}

fn function(facts: &mut Facts, node: Node<'_>, name: &str, code: &str) -> String {
    let parameters =
        node.child_by_field_name("parameters").or_else(|| node.child_by_field_name("parameter"));
    let given = parameters.map_or(node.byte_range(), |parameters| parameters.byte_range());
    let names = parameters.map_or("", |parameters| slice(code, parameters));
    let names = names.trim_matches(|c| matches!(c, '(' | ')')).split(',');
    let name_of = |written: &str| {
        let end = |c: char| !c.is_alphanumeric() && c != '_';
        let name = written.trim().trim_start_matches(['*', '.', '{', '$']);
        name.split(end).next().unwrap_or_default().to_owned()
    };
    let parameters =
        names.map(name_of).filter(|name| !matches!(name.as_str(), "" | "self" | "cls" | "this"));
    let (name_of_it, parameters) = (name.to_owned(), parameters.take(20).collect());
    let function = Function { name: name_of_it, parameters, given, body: node.byte_range() };
    facts.functions.push(function);
    name.to_owned()
}

fn call(facts: &mut Facts, node: Node<'_>, code: &str) {
    let callee =
        node.child_by_field_name("function").or_else(|| node.child_by_field_name("constructor"));
    let Some(callee) = callee else { return };
    let written = slice(code, callee);
    let (object, name) = match written.rsplit_once('.') {
        Some((object, name)) => (object.rsplit('.').next(), name),
        None => (None, written),
    };
    let arguments = node.child_by_field_name("arguments").map(|arguments| {
        let mut walk = arguments.walk();
        arguments.named_children(&mut walk).take(20).map(|it| it.byte_range()).collect()
    });
    facts.calls.push(Call {
        callee: name.to_owned(),
        object: object.map(|object| object.trim_end_matches(['(', ')', '?']).to_owned()),
        arguments: arguments.unwrap_or_default(),
        range: node.byte_range(),
    });
}
