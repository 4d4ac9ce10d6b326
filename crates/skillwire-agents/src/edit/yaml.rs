//! YAML, changed line by line: no library keeps its comments.
//!
//! The table of servers must be a block of the outermost mapping. Anything else, such as a table in
//! braces, is left to the user.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use skillwire_core::yaml::{Limits, parse, quote, split};

use super::{ENTRY, EditError};

pub(super) fn read(text: &str) -> Result<Map<String, Value>, EditError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Map::new());
    }
    let syntax = |message: String| EditError::Syntax { format: "YAML", message };
    let body = text.strip_prefix("---\n").unwrap_or(text);
    let file = format!("---\n{body}\n---\n");
    let limits = Limits::default().with_bytes(1 << 20).with_depth(64).with_nodes(100_000);
    let fenced = split(file.as_bytes()).map_err(|finding| syntax(finding.message.clone()))?;
    let (document, findings) = parse(file.as_bytes(), &fenced, &limits);
    match document {
        Some(document) => Ok(document.map),
        None => {
            Err(syntax(findings.first().map_or_else(String::new, |found| found.message.clone())))
        }
    }
}

/// A block: the lines below a key that are indented more than it.
struct Block {
    /// The number of the first line below the key.
    start: usize,
    /// The number of the line after the last.
    end: usize,
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// Finds the block of `key`, whose own line has `depth` spaces, among the lines of `within`.
fn block(
    lines: &[&str],
    within: &Block,
    depth: usize,
    key: &str,
) -> Result<Option<Block>, EditError> {
    let is_key = |line: &&str| {
        let rest = line.get(depth..).and_then(|line| line.strip_prefix(key));
        indent(line) == depth && rest.is_some_and(|rest| rest.starts_with(':'))
    };
    let Some(at) = (within.start..within.end).find(|&at| is_key(&lines[at])) else {
        return Ok(None);
    };
    let value = lines[at][depth + key.len() + 1..].trim();
    if !value.is_empty() && !value.starts_with('#') {
        return Err(EditError::NotAlone);
    }
    let start = at + 1;
    let below = lines[start..within.end].iter();
    let inside = below.take_while(|line| !is_content(line) || indent(line) > depth);
    // Empty lines and comments after the last value belong to what follows.
    let last = inside.enumerate().filter(|(_, line)| is_content(line)).last();
    let end = last.map_or(start, |(offset, _)| start + offset + 1);
    Ok(Some(Block { start, end }))
}

pub(super) fn set(
    text: &str,
    names: &[String],
    entry: &Map<String, Value>,
) -> Result<String, EditError> {
    let [name] = names else { return Err(EditError::NotAlone) };
    let without = remove(text, names)?;
    let old = lines(&without);
    let whole = Block { start: 0, end: old.len() };
    let Some(servers) = block(&old, &whole, 0, name)? else {
        let mut new = without.clone();
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        let _ = writeln!(new, "{name}:");
        write_entry(&mut new, 2, entry);
        return Ok(new);
    };
    let first = old[servers.start..servers.end].iter().find(|line| is_content(line));
    let depth = first.map_or(2, |line| indent(line));
    let mut new = old[..servers.start].concat();
    if !new.ends_with('\n') {
        new.push('\n');
    }
    write_entry(&mut new, depth, entry);
    new.push_str(&old[servers.start..].concat());
    Ok(new)
}

pub(super) fn remove(text: &str, names: &[String]) -> Result<String, EditError> {
    let [name] = names else { return Err(EditError::NotAlone) };
    let old = lines(text);
    let whole = Block { start: 0, end: old.len() };
    let Some(servers) = block(&old, &whole, 0, name)? else { return Ok(text.to_owned()) };
    let first = old[servers.start..servers.end].iter().find(|line| is_content(line));
    let Some(depth) = first.map(|line| indent(line)) else { return Ok(text.to_owned()) };
    let Some(entry) = block(&old, &servers, depth, ENTRY)? else { return Ok(text.to_owned()) };
    Ok(old[..entry.start - 1].concat() + &old[entry.end..].concat())
}

/// Removes the key of the table, if nothing stands below it.
pub(super) fn remove_table(text: &str, names: &[String]) -> Result<String, EditError> {
    let [name] = names else { return Err(EditError::NotAlone) };
    let old = lines(text);
    let whole = Block { start: 0, end: old.len() };
    match block(&old, &whole, 0, name)? {
        Some(table) if table.start == table.end => {
            Ok(old[..table.start - 1].concat() + &old[table.end..].concat())
        }
        _ => Ok(text.to_owned()),
    }
}

fn write_entry(out: &mut String, depth: usize, entry: &Map<String, Value>) {
    let _ = writeln!(out, "{:depth$}{ENTRY}:", "");
    for (name, value) in entry {
        let _ = writeln!(out, "{:depth$}  {name}: {}", "", flow(value));
    }
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let pairs = map.iter().map(|(name, value)| format!("{name}: {}", flow(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
