//! Follows what a function gets from callers that the skill does not have: a model, or code that imports it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
};

use super::{
    FlowKinds, FlowPair,
    facts::Function,
    taint::{Flow, Parsed},
};

/// How often the names of one function are looked at again.
const ROUNDS: usize = 3;

/// The most uses of names that are looked at in one skill.
const MOST_LOOKS: usize = 200_000;

/// The most bytes of functions of one skill in which checks are looked for. Functions stand in each other.
const MOST_JUDGED: usize = 1 << 20;

/// What may still be looked at in a skill.
struct Budget {
    looks: usize,
    judged: usize,
}

/// Every way from a parameter to a sink in the same function, and whether all code was looked at.
///
/// Names are followed inside of the function alone: another one may use the same name for something else.
pub(super) fn follow(
    kinds: &FlowKinds,
    pairs: &[FlowPair],
    all_code: &[&str],
    parsed: &[Parsed<'_>],
) -> (Vec<Flow>, bool) {
    let mut budget = Budget { looks: MOST_LOOKS, judged: MOST_JUDGED };
    let mut called: HashMap<&str, bool> = HashMap::new();
    let mut flows = Vec::new();
    for it in parsed {
        for (function, sinks) in sinks_of_functions(kinds, pairs, it) {
            let name = function.name.as_str();
            let calls = |code: &&str| is_called(code, name);
            if *called.entry(name).or_insert_with(|| all_code.iter().any(calls)) {
                continue;
            }
            let names = given_names(it, function, &mut budget.looks);
            let mut judged: HashMap<usize, bool> = HashMap::new();
            for (from, to, place) in sinks {
                let reach = it.reach(place);
                // A sink's own text may be its argument, so the names stand anywhere in its reach.
                let is_given = it
                    .uses(&reach)
                    .take(budget.looks)
                    .inspect(|_| budget.looks -= 1)
                    .any(|used| names.contains(used.name.as_str()));
                if !is_given {
                    continue;
                }
                let unchecked = *judged.entry(to).or_insert_with(|| {
                    let within = function.body.len() <= budget.judged;
                    budget.judged = budget.judged.saturating_sub(function.body.len());
                    within && kinds.kinds[to].judges(it.text(&function.body))
                });
                if unchecked {
                    let at = |range: &Range<usize>| (it.chunk.passage, it.chunk.shifted(range));
                    let steps = vec![at(&function.given), at(place)];
                    flows.push(Flow { from, to, steps });
                }
            }
        }
    }
    (flows, budget.looks > 0 && budget.judged > 0)
}

/// A sink of parameters: the kind of the source, its own kind, and its place.
type ParameterSink<'a> = (usize, usize, &'a Range<usize>);

/// The sinks of parameters, by the innermost function that each stands in.
fn sinks_of_functions<'a>(
    kinds: &FlowKinds,
    pairs: &[FlowPair],
    parsed: &'a Parsed<'_>,
) -> Vec<(&'a Function, Vec<ParameterSink<'a>>)> {
    let functions = &parsed.facts.functions;
    let mut sinks: BTreeMap<usize, Vec<ParameterSink<'a>>> = BTreeMap::new();
    for (to, place) in &parsed.sinks {
        let Some(from) = kinds.parameters_of_sink(pairs, *to) else { continue };
        let around = functions.iter().enumerate();
        let around = around.filter(|(_, function)| function.body.contains(&place.start));
        if let Some((index, _)) = around.min_by_key(|(_, function)| function.body.len()) {
            sinks.entry(index).or_default().push((from, *to, place));
        }
    }
    let with_parameters = sinks.into_iter().map(|(index, sinks)| (&functions[index], sinks));
    with_parameters.filter(|(function, _)| !function.parameters.is_empty()).collect()
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
