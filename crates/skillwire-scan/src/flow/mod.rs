//! Follows data from where it is read to where it goes, through the code of all files of a skill.

mod embedded;
mod facts;
mod parameters;
mod taint;

use serde::Deserialize;

pub(crate) use self::taint::{CodeChunk, Flow, follow};
use crate::{
    language::Language,
    pattern::{Pattern, PatternSet},
};

/// A kind of source or sink: what it is called and how each language spells it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowSource {
    kind: String,
    /// What happens there, such as `reads private keys`.
    step: String,
    /// For sources: whether data of this kind is lost when a part of it is taken. The environment as a
    /// whole is worth stealing; the address of a service from it is not.
    #[serde(default)]
    whole: bool,
    /// For sources: whether it is what functions get from callers that the skill does not have.
    #[serde(default)]
    parameters: bool,
    /// For sinks of parameters: texts that the function must have.
    #[serde(default)]
    with: Vec<String>,
    /// For sinks of parameters: texts that the function must not have, such as a check.
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    shell: Vec<String>,
    #[serde(default)]
    python: Vec<String>,
    #[serde(default)]
    javascript: Vec<String>,
    #[serde(default)]
    powershell: Vec<String>,
}

/// Every kind of source and sink.
#[derive(Debug, Default)]
pub(crate) struct FlowKinds {
    pub(crate) kinds: Vec<FlowKind>,
    languages: Vec<LanguagePatterns>,
}

#[derive(Debug)]
pub(crate) struct FlowKind {
    pub(crate) name: String,
    pub(crate) step: String,
    pub(crate) whole: bool,
    pub(crate) is_sink: bool,
    parameters: bool,
    with: Vec<Pattern>,
    unless: Vec<Pattern>,
    patterns: [Vec<String>; 4],
}

impl FlowKind {
    /// Tells whether a parameter that reaches this sink in a function matters.
    fn judges(&self, function: &str) -> bool {
        self.with.iter().all(|it| it.is_match(function))
            && !self.unless.iter().any(|it| it.is_match(function))
    }
}

/// A kind of source and a kind of sink that a rule asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowPair {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The patterns of one language.
#[derive(Debug)]
struct LanguagePatterns {
    sources: KindPatterns,
    sinks: KindPatterns,
}

#[derive(Debug)]
struct KindPatterns {
    any: PatternSet,
    /// Each pattern with the index of its kind.
    each: Vec<(Pattern, usize)>,
}

impl KindPatterns {
    /// Every match: its kind and its place.
    fn find(&self, code: &str) -> Vec<(usize, std::ops::Range<usize>)> {
        let mut found = Vec::new();
        for index in self.any.matches(code) {
            let (regex, kind) = &self.each[index];
            found.extend(regex.find_iter(code).take(MOST_PLACES).map(|place| (*kind, place)));
        }
        found.sort_by_key(|(_, range)| range.start);
        found
    }
}

fn compiled(patterns: &[String]) -> Result<Vec<Pattern>, String> {
    patterns.iter().map(|pattern| Pattern::new(pattern)).collect()
}

/// The most places of one pattern in one piece of code.
const MOST_PLACES: usize = 200;

fn index_of(language: Language) -> usize {
    match language {
        Language::Shell => 0,
        Language::Python => 1,
        Language::JavaScript | Language::TypeScript => 2,
        Language::PowerShell => 3,
    }
}

impl FlowKinds {
    /// Adds kinds; says which pattern is no pattern.
    pub(crate) fn add(
        &mut self,
        sources: Vec<FlowSource>,
        sinks: Vec<FlowSource>,
    ) -> Result<(), String> {
        let sources = sources.into_iter().map(|kind| (kind, false));
        for (kind, is_sink) in sources.chain(sinks.into_iter().map(|kind| (kind, true))) {
            let FlowSource { kind: name, step, whole, parameters, .. } = kind;
            let FlowSource { with, unless, shell, python, javascript, powershell, .. } = kind;
            let (with, unless) = (compiled(&with)?, compiled(&unless)?);
            let patterns = [shell, python, javascript, powershell];
            for pattern in patterns.iter().flatten() {
                Pattern::new(pattern)?;
            }
            self.kinds.push(FlowKind {
                name,
                step,
                whole,
                is_sink,
                parameters,
                with,
                unless,
                patterns,
            });
        }
        Ok(())
    }

    pub(crate) fn knows(&self, kind: &str) -> bool {
        self.kinds.iter().any(|known| known.name == kind)
    }

    /// The indices of the kinds with these names.
    pub(crate) fn named<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = usize> + 'a {
        let all = self.kinds.iter().enumerate();
        all.filter(|(_, kind)| names.contains(&kind.name)).map(|(index, _)| index)
    }

    /// The kind of parameters from which a sink is asked about.
    fn parameters_of_sink(&self, pairs: &[FlowPair], to: usize) -> Option<usize> {
        let mut from = pairs.iter().filter(|pair| pair.to == to).map(|pair| pair.from);
        from.find(|from| self.kinds[*from].parameters)
    }

    /// Compiles the patterns of all kinds, once all are there.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        let patterns = |language: usize, is_sink: bool| {
            let kinds = self.kinds.iter().enumerate().filter(|(_, kind)| kind.is_sink == is_sink);
            let written: Vec<_> = kinds
                .flat_map(|(index, kind)| kind.patterns[language].iter().map(move |it| (it, index)))
                .collect();
            let any = PatternSet::new(written.iter().map(|(pattern, _)| pattern.as_str()))?;
            let compiled =
                |(pattern, kind): &(&String, usize)| Pattern::new(pattern).map(|it| (it, *kind));
            let each = written.iter().map(compiled).collect::<Result<_, _>>()?;
            Ok::<_, String>(KindPatterns { any, each })
        };
        let languages = (0..4).map(|language| {
            let sources = patterns(language, false)?;
            Ok(LanguagePatterns { sources, sinks: patterns(language, true)? })
        });
        self.languages = languages.collect::<Result<_, String>>()?;
        Ok(())
    }

    fn sources(&self, language: Language) -> &KindPatterns {
        &self.languages[index_of(language)].sources
    }

    fn sinks(&self, language: Language) -> &KindPatterns {
        &self.languages[index_of(language)].sinks
    }
}
