//! Loops that never end and never wait.

use std::{cell::Cell, collections::HashMap, ops::Range};

use tree_sitter::{Node, Tree};

use crate::{code::slice, language::Language};

/// The most nodes of one piece of code that are looked at.
const MOST_NODES: usize = 200_000;

/// The most nodes that are looked at to tell what loops do. One function may be called ten thousand times.
const MOST_LOOKS: usize = 400_000;

/// The most loops of one piece of code that are looked into.
const MOST_LOOPS: usize = 20;

/// Texts without which code has no such loop.
const BEGINNINGS: [&str; 6] =
    ["while True", "while 1", "while (true", "while(true", "for (;;", "for(;;"];

/// Functions that neither wait nor end anything: they only compute, or take more memory or processes.
const COMPUTES: [&str; 22] = [
    "append", "extend", "add", "push", "insert", "update", "copy", "fork", "len", "range", "str",
    "int", "float", "list", "dict", "set", "tuple", "abs", "min", "max", "sum", "sorted",
];

/// What ends a loop, or gives its turn to others.
const ENDS: [&str; 9] = [
    "break_statement",
    "return_statement",
    "raise_statement",
    "throw_statement",
    "yield",
    "yield_expression",
    "await",
    "await_expression",
    "assert_statement",
];

/// Tells whether code may have such a loop, from its text alone.
pub(crate) fn may_be_in(language: Language, text: &str) -> bool {
    let known = matches!(language, Language::Python | Language::JavaScript | Language::TypeScript);
    known && BEGINNINGS.iter().any(|beginning| text.contains(beginning))
}

/// The first loop of some code that never ends and never waits, and whether all of the tree was looked at.
///
/// A loop counts only if all that it calls is known to compute: a call of anything else may wait or end
/// the program.
pub(crate) fn endless(text: &str, tree: &Tree) -> (Option<Range<usize>>, bool) {
    let (loops, functions) = collect(tree, text);
    let left = Cell::new(MOST_LOOKS);
    let computes = |node| only_computes(node, text, &functions, 0, &left);
    let found = loops.into_iter().find(|body| computes(*body)).map(|found| {
        let whole = found.parent().unwrap_or(found);
        whole.start_byte()..found.start_byte().max(whole.start_byte() + 1)
    });
    (found, left.get() > 0)
}

/// The bodies of loops without a condition, and the bodies of functions by their names.
fn collect<'a>(tree: &'a Tree, text: &'a str) -> (Vec<Node<'a>>, HashMap<&'a str, Node<'a>>) {
    let (mut loops, mut functions) = (Vec::new(), HashMap::new());
    for node in nodes(tree.root_node()) {
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "while_statement" if loops.len() < MOST_LOOPS => {
                let condition = field("condition").map_or("", |it| slice(text, it));
                let condition = condition.trim_matches(|c| matches!(c, '(' | ')' | ' '));
                if matches!(condition, "True" | "true" | "1") {
                    loops.extend(field("body"));
                }
            }
            "for_statement" if loops.len() < MOST_LOOPS => {
                let end = field("body").map_or(node.start_byte(), |body| body.start_byte());
                let head = text.get(node.start_byte()..end).unwrap_or_default();
                if head.split_whitespace().collect::<String>() == "for(;;)" {
                    loops.extend(field("body"));
                }
            }
            "function_definition" | "function_declaration" | "method_definition" => {
                if let (Some(name), Some(body)) = (field("name"), field("body")) {
                    functions.insert(slice(text, name), body);
                }
            }
            _ => {}
        }
    }
    (loops, functions)
}

/// Tells whether code does nothing but compute. A function of the same file may return; a loop may not.
fn only_computes<'a>(
    body: Node<'a>,
    text: &'a str,
    functions: &HashMap<&'a str, Node<'a>>,
    depth: usize,
    left: &Cell<usize>,
) -> bool {
    let within = || {
        left.set(left.get().saturating_sub(1));
        left.get() > 0
    };
    nodes(body).take_while(|_| within()).all(|node| match node.kind() {
        "return_statement" => depth > 0,
        kind if ENDS.contains(&kind) || kind == "ERROR" => false,
        "call" | "call_expression" | "new_expression" => {
            let callee = node.child_by_field_name("function");
            let callee = callee.map_or("", |callee| slice(text, callee));
            let name = callee.rsplit('.').next().unwrap_or(callee);
            COMPUTES.contains(&name)
                || (depth == 0
                    && name == callee
                    && functions
                        .get(name)
                        .is_some_and(|body| only_computes(*body, text, functions, depth + 1, left)))
        }
        _ => true,
    }) && left.get() > 0
}

/// Every named node of a tree; of a tree with too many, the first.
fn nodes(root: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = root.walk();
    let mut next = Some(root);
    let mut seen = 0;
    std::iter::from_fn(move || {
        let node = next?;
        seen += 1;
        next = None;
        if seen < MOST_NODES {
            if cursor.goto_first_child() {
                next = Some(cursor.node());
            } else {
                loop {
                    if cursor.goto_next_sibling() {
                        next = Some(cursor.node());
                        break;
                    }
                    if !cursor.goto_parent() || cursor.node() == root {
                        break;
                    }
                }
            }
        }
        Some(node)
    })
    .filter(Node::is_named)
}
