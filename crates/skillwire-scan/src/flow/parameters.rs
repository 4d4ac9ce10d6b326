//! Follows what a function gets from callers that the skill does not have: a model, or code that imports it.

use std::{collections::HashSet, ops::Range};

use super::{
    FlowKinds, FlowPair,
    facts::Function,
    taint::{Flow, Parsed},
};

/// How often the names of one function are looked at again.
const ROUNDS: usize = 3;

/// The most uses of names that are looked at in one skill.
const MOST_LOOKS: usize = 200_000;

/// Every way from a parameter to a sink in the same function. Names are followed inside of the function
/// alone: another one may use the same name for something else.
pub(super) fn follow(
    kinds: &FlowKinds,
    pairs: &[FlowPair],
    all_code: &[&str],
    parsed: &[Parsed<'_>],
) -> Vec<Flow> {
    let mut looks = MOST_LOOKS;
    let mut flows = Vec::new();
    for it in parsed {
        for function in &it.facts.functions {
            let sinks: Vec<_> = it
                .sinks
                .iter()
                .filter(|(_, place)| function.body.contains(&place.start))
                .filter_map(|(to, place)| Some((kinds.from_parameters(pairs, *to)?, *to, place)))
                .filter(|(_, to, _)| kinds.kinds[*to].judges(it.text(&function.body)))
                .collect();
            if sinks.is_empty()
                || function.parameters.is_empty()
                || all_code.iter().any(|code| is_called(code, &function.name))
            {
                continue;
            }
            let names = given_names(it, function, &mut looks);
            for (from, to, place) in sinks {
                let reach = it.reach(place);
                // A sink's own text may be its argument, so the names stand anywhere in its reach.
                let is_given = it.uses(&reach).any(|used| names.contains(used.name.as_str()));
                if is_given {
                    let at = |range: &Range<usize>| (it.chunk.passage, it.chunk.shifted(range));
                    let steps = vec![at(&function.given), at(place)];
                    flows.push(Flow { from, to, steps });
                }
            }
        }
    }
    flows
}

/// The names that hold what a function was given, or what is made of that.
fn given_names<'a>(
    parsed: &'a Parsed<'_>,
    function: &'a Function,
    looks: &mut usize,
) -> HashSet<&'a str> {
    let mut names: HashSet<_> = function.parameters.iter().map(String::as_str).collect();
    let bindings = &parsed.facts.bindings;
    let inside: Vec<_> =
        bindings.iter().filter(|binding| function.body.contains(&binding.value.start)).collect();
    for _ in 0..ROUNDS {
        let before = names.len();
        for binding in &inside {
            let mut uses = parsed.uses(&binding.value).take(*looks).inspect(|_| *looks -= 1);
            if uses.any(|used| names.contains(used.name.as_str())) {
                names.insert(&binding.name);
            }
        }
        if names.len() == before {
            break;
        }
    }
    names
}

/// Tells whether code calls a function with anything but a literal. What it is given then is known, and
/// followed from where it comes.
fn is_called(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].trim_end_matches(' ');
        let defines = before.ends_with("def") || before.ends_with("function");
        if defines || code[..at].ends_with(is_word) {
            return false;
        }
        let Some(arguments) = code[at + name.len()..].strip_prefix('(') else { return false };
        let first = arguments.trim_start().chars().next();
        first.is_some_and(|c| !matches!(c, '"' | '\'' | '`' | ')') && !c.is_ascii_digit())
    })
}
