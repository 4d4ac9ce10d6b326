//! Follows data through the code of a skill.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    FlowKinds, FlowPair, KindPatterns, embedded,
    facts::{self, Facts},
    parameters,
};
use crate::{UnseenReason, code::ParsedOnce, language::Language};

/// How often names are looked at again; data that passes through more hands is lost.
const ROUNDS: usize = 6;

/// The most steps that are kept between a source and a sink.
const MOST_STEPS: usize = 6;

/// The most uses of names that are looked at. Deeply nested code has the same name in many ranges.
const MOST_LOOKS: usize = 400_000;

/// The most pieces of code of one skill.
const MOST_CHUNKS: usize = 400;

/// Methods that put their arguments into their object.
const ADDS: [&str; 11] = [
    "append",
    "update",
    "extend",
    "add",
    "push",
    "write",
    "write_text",
    "set",
    "setdefault",
    "read",
    "load",
];

/// Commands that write to a file which they are given as an argument.
const PACKS: [&str; 8] = ["tar", "zip", "7z", "cp", "mv", "gpg", "openssl", "tee"];

/// Code of a skill: a script, or a block of a document.
#[derive(Debug)]
pub(crate) struct CodeChunk<'a> {
    pub(crate) language: Language,
    pub(crate) code: &'a str,
    /// The file that it is in.
    pub(crate) file: &'a str,
    /// The index of the passage that it is.
    pub(crate) passage: usize,
    /// Where it begins in the text of the passage.
    pub(crate) offset: usize,
    /// The tree of the passage; none for code that is only a part of it.
    pub(crate) tree: Option<&'a ParsedOnce>,
}

/// Data that travels from a source to a sink.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The kind of the source.
    pub(crate) from: usize,
    /// The kind of the sink.
    pub(crate) to: usize,
    /// The places from the source to the sink: the passage, and the place in its text.
    pub(crate) steps: Vec<(usize, Range<usize>)>,
}

/// What following data through code shows.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    pub(crate) flows: Vec<Flow>,
    /// Code with too many mistakes to be parsed that has a source and a sink: one of each.
    pub(crate) unparsed: Vec<Flow>,
}

/// What is found in one piece of code.
pub(super) struct Parsed<'a> {
    pub(super) chunk: CodeChunk<'a>,
    pub(super) facts: Facts,
    sources: Vec<(usize, Range<usize>)>,
    pub(super) sinks: Vec<(usize, Range<usize>)>,
}

/// Data of a source that something holds.
#[derive(Debug, Clone)]
struct Taint {
    kind: usize,
    steps: Vec<(usize, Range<usize>)>,
}

/// Something that holds data.
#[derive(Debug, Clone, Copy)]
enum Holder<'a> {
    /// A name in one piece of code.
    Name(usize, &'a str),
    /// What a function of one piece of code returns.
    Returned(usize, &'a str),
    /// A file that is written and read.
    File(&'a str),
}

/// What is held, by the names of the holders.
type HeldByName = HashMap<String, Vec<Taint>>;

/// What every holder holds. Looking at a name copies nothing: it is done for every name in the code.
struct Held {
    /// For each piece of code.
    names: Vec<HeldByName>,
    /// For each piece of code.
    returned: Vec<HeldByName>,
    files: HeldByName,
}

impl Held {
    fn new(pieces: usize) -> Self {
        let none = || vec![HashMap::new(); pieces];
        Self { names: none(), returned: none(), files: HashMap::new() }
    }

    fn by(&self, holder: Holder<'_>) -> Option<&Vec<Taint>> {
        match holder {
            Holder::Name(index, name) => self.names[index].get(name),
            Holder::Returned(index, name) => self.returned[index].get(name),
            Holder::File(path) => self.files.get(path),
        }
    }

    fn by_mut(&mut self, holder: Holder<'_>) -> &mut Vec<Taint> {
        let (held, name) = match holder {
            Holder::Name(index, name) => (&mut self.names[index], name),
            Holder::Returned(index, name) => (&mut self.returned[index], name),
            Holder::File(path) => (&mut self.files, path),
        };
        held.entry(name.to_owned()).or_default()
    }

    /// How many things are held.
    fn count(&self) -> usize {
        let all = self.names.iter().chain(&self.returned).chain([&self.files]);
        all.flat_map(HashMap::values).map(Vec::len).sum()
    }
}

/// Follows data between the kinds that rules ask about; `unparsed` is told the passages of code that were not
/// followed to the end, and why.
pub(crate) fn follow(
    kinds: &FlowKinds,
    pairs: &[FlowPair],
    chunks: Vec<CodeChunk<'_>>,
    mut unparsed: impl FnMut(usize, UnseenReason),
) -> Followed {
    let mut all = Vec::new();
    for chunk in chunks {
        if chunk.language == Language::Shell {
            for (language, range) in embedded::find(chunk.code) {
                let (start, code) = (range.start, &chunk.code[range]);
                let (file, passage, offset) = (chunk.file, chunk.passage, chunk.offset + start);
                all.push(CodeChunk { language, code, file, passage, offset, tree: None });
            }
        }
        all.push(chunk);
    }
    for left_out in all.drain(all.len().min(MOST_CHUNKS)..) {
        unparsed(left_out.passage, UnseenReason::NotParsed);
    }
    // What no rule asks about would only be followed for nothing.
    let asked = |kind| pairs.iter().any(|it| it.from == kind || it.to == kind);
    let places = |patterns: &KindPatterns, code: &str| {
        let mut places = patterns.find(code);
        places.retain(|(kind, _)| asked(*kind));
        places
    };
    let sinks: Vec<_> = all.iter().map(|it| places(kinds.sinks(it.language), it.code)).collect();
    let mut found = Followed::default();
    if sinks.iter().all(Vec::is_empty) {
        return found;
    }
    let sources: Vec<_> =
        all.iter().map(|it| places(kinds.sources(it.language), it.code)).collect();
    let has = |of: &[Vec<(usize, Range<usize>)>], kind| {
        of.iter().flatten().any(|(found, _)| *found == kind)
    };
    let travels = pairs.iter().any(|pair| has(&sources, pair.from) && has(&sinks, pair.to));
    let takes_parameters = |sinks: &[(usize, Range<usize>)]| {
        sinks.iter().any(|(to, _)| kinds.parameters_of_sink(pairs, *to).is_some())
    };
    if !travels && !sinks.iter().any(|sinks| takes_parameters(sinks)) {
        return found;
    }
    let all_code: Vec<_> = all.iter().map(|chunk| chunk.code).collect();
    let mut parsed = Vec::new();
    for ((chunk, mut sources), mut sinks) in all.into_iter().zip(sources).zip(sinks) {
        if !travels && !takes_parameters(&sinks) {
            continue;
        }
        let own = ParsedOnce::default();
        let code = chunk.tree.unwrap_or(&own).of(chunk.language, chunk.code);
        if let Some(reason) = code.unparsed {
            unparsed(chunk.passage, reason);
        }
        let facts = code.tree.as_ref();
        let facts = facts.map(|tree| facts::collect(tree, chunk.language, chunk.code));
        let facts = facts.unwrap_or_default();
        if code.unparsed.is_none() && !facts.complete {
            unparsed(chunk.passage, UnseenReason::NotParsed);
        }
        let within = |ranges: &[Range<usize>], at: usize| ranges.iter().any(|it| it.contains(&at));
        sources.retain(|(_, range)| !within(&facts.comments, range.start));
        sinks.retain(|(_, range)| {
            let quoted = chunk.language != Language::Shell && within(&facts.strings, range.start);
            !within(&facts.comments, range.start) && !quoted
        });
        if code.unparsed == Some(UnseenReason::ManyMistakes) {
            found.unparsed.extend(one_of_each(pairs, &chunk, &sources, &sinks));
        }
        // Behind the tree no command or call has an end, and a line may be the whole file.
        sources.retain(|(_, range)| range.end <= code.length);
        sinks.retain(|(_, range)| range.end <= code.length);
        if code.tree.is_some() {
            parsed.push(Parsed { chunk, facts, sources, sinks });
        }
    }
    let (flows, complete) = parameters::follow(kinds, pairs, &all_code, &parsed);
    found.flows = flows;
    if !complete {
        for it in &parsed {
            unparsed(it.chunk.passage, UnseenReason::NotParsed);
        }
    }
    if !travels {
        return found;
    }
    let visible = visible_from_each(&parsed);
    let looks = Cell::new(MOST_LOOKS);
    let follower =
        Follower { kinds, parsed: &parsed, visible, looks: &looks, held: Held::new(parsed.len()) };
    found.flows.extend(follower.run());
    if looks.get() == 0 {
        for it in &parsed {
            unparsed(it.chunk.passage, UnseenReason::NotParsed);
        }
    }
    let Followed { flows, unparsed } = &mut found;
    let is_followed = |it: &Flow, flow: &Flow| {
        let ends = |flow: &Flow| flow.steps.last().map(|(passage, _)| *passage);
        (it.from, it.to, ends(it)) == (flow.from, flow.to, ends(flow))
    };
    unparsed.retain(|it| !flows.iter().any(|flow| is_followed(it, flow)));
    found
}

/// The first source and the first sink in some code of each pair that it has both of.
fn one_of_each(
    pairs: &[FlowPair],
    chunk: &CodeChunk<'_>,
    sources: &[(usize, Range<usize>)],
    sinks: &[(usize, Range<usize>)],
) -> Vec<Flow> {
    let first = |places: &[(usize, Range<usize>)], kind| {
        let (_, range) = places.iter().find(|(found, _)| *found == kind)?;
        Some((chunk.passage, chunk.shifted(range)))
    };
    let both = pairs.iter().filter_map(|FlowPair { from, to }| {
        let steps = vec![first(sources, *from)?, first(sinks, *to)?];
        Some(Flow { from: *from, to: *to, steps })
    });
    both.collect()
}

/// The pieces of code whose functions and names each piece of code can use: those of its own file, and of
/// files of the same language that it names.
fn visible_from_each(parsed: &[Parsed<'_>]) -> Vec<Vec<usize>> {
    let called: Vec<_> = parsed.iter().map(|it| import_name(it.chunk.file)).collect();
    let names: HashSet<_> = called.iter().copied().filter(|name| !name.is_empty()).collect();
    let visible = parsed.iter().enumerate().map(|(index, it)| {
        let words = it.chunk.code.split(|c: char| !c.is_alphanumeric() && c != '_');
        // Collected once for all others: a skill may have hundreds of pieces.
        let mentioned: HashSet<_> = words.filter(|word| names.contains(word)).collect();
        let sees = |other: &CodeChunk<'_>, called: &str| {
            super::index_of(other.language) == super::index_of(it.chunk.language)
                && (other.file == it.chunk.file || mentioned.contains(called))
        };
        let others = parsed.iter().zip(&called).enumerate().filter(|(other, _)| *other != index);
        let usable = others.filter(|(_, (other, called))| sees(&other.chunk, called));
        std::iter::once(index).chain(usable.map(|(other, _)| other)).collect()
    });
    visible.collect()
}

/// The name by which code imports a file.
fn import_name(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name.split('.').next().unwrap_or(name);
    let folder = file.rsplit('/').nth(1).filter(|_| stem == "__init__" || stem == "index");
    folder.unwrap_or(stem)
}

struct Follower<'a> {
    kinds: &'a FlowKinds,
    parsed: &'a [Parsed<'a>],
    /// For each piece of code, those that it can use.
    visible: Vec<Vec<usize>>,
    /// How many more uses of names are looked at.
    looks: &'a Cell<usize>,
    held: Held,
}

impl Follower<'_> {
    fn run(mut self) -> Vec<Flow> {
        for _ in 0..ROUNDS {
            let before = self.held.count();
            for index in 0..self.parsed.len() {
                self.round(index);
            }
            if self.held.count() == before {
                break;
            }
        }
        let mut flows = Vec::new();
        for (index, parsed) in self.parsed.iter().enumerate() {
            for (to, place) in &parsed.sinks {
                let reach = parsed.reach(place);
                for taint in self.tainted(index, &reach, Some(place)) {
                    let mut steps = taint.steps;
                    steps.push((parsed.chunk.passage, parsed.chunk.shifted(place)));
                    flows.push(Flow { from: taint.kind, to: *to, steps });
                }
            }
        }
        flows
    }

    /// Passes data on through one piece of code.
    fn round(&mut self, index: usize) {
        let parsed = &self.parsed[index];
        for binding in &parsed.facts.bindings {
            let mut taints = self.tainted(index, &binding.value, None);
            taints.retain(|taint| !(binding.member && self.kinds.kinds[taint.kind].whole));
            let holder = match binding.name.strip_prefix("file:") {
                Some(path) => Holder::File(path),
                None => Holder::Name(index, &binding.name),
            };
            self.hold(holder, taints, index, &binding.value);
        }
        for (function, value) in &parsed.facts.returns {
            let taints = self.tainted(index, value, None);
            self.hold(Holder::Returned(index, function), taints, index, value);
        }
        for call in &parsed.facts.calls {
            let given: Vec<_> =
                call.arguments.iter().map(|argument| self.tainted(index, argument, None)).collect();
            if given.iter().all(Vec::is_empty) && self.tainted(index, &call.range, None).is_empty()
            {
                continue;
            }
            if let Some(object) =
                call.object.as_ref().filter(|_| ADDS.contains(&call.callee.as_str()))
            {
                for taints in &given {
                    self.hold(Holder::Name(index, object), taints.clone(), index, &call.range);
                }
                self.write_file(index, object, &call.range, &given);
            }
            if parsed.chunk.language == Language::Shell && PACKS.contains(&call.callee.as_str()) {
                let files = parsed.uses(&call.range).filter(|it| it.name.starts_with("file:"));
                let files: Vec<_> = files.map(|it| it.name.clone()).collect();
                let whole = [self.tainted(index, &call.range, None)];
                for file in files {
                    self.write_file(index, &file, &call.range, &whole);
                }
            }
            if call.callee == "dump" {
                let into = call.arguments.last().cloned().unwrap_or_default();
                let names: Vec<_> = parsed.uses(&into).map(|it| it.name.clone()).collect();
                for name in names {
                    self.write_file(index, &name, &call.range, &given);
                }
            }
            self.pass_arguments(index, call, &given);
        }
    }

    /// Gives the arguments of a call to the parameters of every function with that name.
    fn pass_arguments(&mut self, index: usize, call: &facts::Call, given: &[Vec<Taint>]) {
        for other in self.visible[index].clone() {
            let functions = &self.parsed[other].facts.functions;
            for function in functions.iter().filter(|it| it.name == call.callee) {
                for (parameter, taints) in function.parameters.iter().zip(given) {
                    let holder = Holder::Name(other, parameter);
                    self.hold(holder, taints.clone(), index, &call.range);
                }
            }
        }
    }

    /// Data that is written through a handle is in the file that the handle was opened for.
    fn write_file(&mut self, index: usize, handle: &str, at: &Range<usize>, given: &[Vec<Taint>]) {
        let parsed = &self.parsed[index];
        let opened = parsed.facts.bindings.iter().filter(|binding| binding.name == handle);
        let places = opened.map(|binding| binding.value.clone()).chain([at.clone()]);
        let mut files: Vec<String> = Vec::new();
        for place in places {
            let names = parsed.uses(&place).filter_map(|it| it.name.strip_prefix("file:"));
            files.extend(names.map(ToOwned::to_owned));
        }
        files.extend(handle.strip_prefix("file:").map(ToOwned::to_owned));
        for file in files {
            for taints in given {
                self.hold(Holder::File(&file), taints.clone(), index, at);
            }
        }
    }

    fn hold(&mut self, holder: Holder<'_>, taints: Vec<Taint>, index: usize, at: &Range<usize>) {
        if taints.is_empty() {
            return;
        }
        let chunk = &self.parsed[index].chunk;
        let held = self.held.by_mut(holder);
        for mut taint in taints {
            if held.iter().any(|known| known.kind == taint.kind) {
                continue;
            }
            let step = (chunk.passage, chunk.shifted(at));
            let covers = taint.steps.last().is_some_and(|(passage, last)| {
                *passage == step.0 && step.1.start <= last.start && last.end <= step.1.end
            });
            if !covers && taint.steps.len() < MOST_STEPS {
                taint.steps.push(step);
            }
            held.push(taint);
        }
    }

    /// The data of sources that stands or is held in a range. At a sink, `sink` is its own name, which
    /// may look like a source: downloading is both.
    fn tainted(
        &self,
        index: usize,
        range: &Range<usize>,
        sink: Option<&Range<usize>>,
    ) -> Vec<Taint> {
        let parsed = &self.parsed[index];
        let mut found: Vec<Taint> = Vec::new();
        let mut add = |taint: &Taint| {
            if !found.iter().any(|known| known.kind == taint.kind) {
                found.push(taint.clone());
            }
        };
        // A pattern may match the blank before or behind a command, too.
        let inside = |place: &Range<usize>| {
            range.contains(&place.start) || range.contains(&place.end.saturating_sub(1))
        };
        for (kind, place) in parsed.sources.iter().filter(|(_, place)| inside(place)) {
            let becomes_environment =
                self.kinds.kinds[*kind].whole && parsed.is_environment(range, place.start);
            if becomes_environment || sink.is_some_and(|sink| sink.start == place.start) {
                continue;
            }
            let steps = vec![(parsed.chunk.passage, parsed.chunk.shifted(place))];
            add(&Taint { kind: *kind, steps });
        }
        for used in parsed.uses(range) {
            let left = self.looks.get().saturating_sub(1);
            self.looks.set(left);
            if left == 0 {
                break;
            }
            let taints = match used.name.strip_prefix("file:") {
                Some(path) => self.held.by(Holder::File(path)),
                None => self
                    .held
                    .by(Holder::Name(index, &used.name))
                    .or_else(|| self.others_hold(index, &used.name)),
            };
            for taint in taints.into_iter().flatten() {
                let only_whole = self.kinds.kinds[taint.kind].whole;
                if !only_whole || (used.whole && !parsed.is_environment(range, used.at)) {
                    add(taint);
                }
            }
        }
        found
    }

    /// What a function returns, or what a name that comes from another file holds there.
    fn others_hold(&self, index: usize, name: &str) -> Option<&Vec<Taint>> {
        let imported = &self.parsed[index].facts.imported;
        self.visible[index].iter().find_map(|other| {
            let returned = self.held.by(Holder::Returned(*other, name));
            returned.or_else(|| {
                let comes_from_there = *other != index && imported.iter().any(|it| it == name);
                comes_from_there.then(|| self.held.by(Holder::Name(*other, name)))?
            })
        })
    }
}

impl Parsed<'_> {
    /// The code in a range.
    pub(super) fn text(&self, range: &Range<usize>) -> &str {
        self.chunk.code.get(range.clone()).unwrap_or_default()
    }

    /// The uses of names in a range.
    pub(super) fn uses(&self, range: &Range<usize>) -> impl Iterator<Item = &facts::NameUse> {
        let uses = &self.facts.uses;
        let from = uses.partition_point(|it| it.at < range.start);
        let to = uses.partition_point(|it| it.at < range.end);
        uses[from..to.max(from)].iter()
    }

    /// Tells whether a value becomes the environment of a process: `env=x`. What such a process prints is
    /// not its environment.
    fn is_environment(&self, range: &Range<usize>, at: usize) -> bool {
        let before = self.chunk.code.get(range.start..at).unwrap_or_default().trim_end();
        ["env=", "env:", "env ="].iter().any(|name| before.ends_with(name))
    }

    /// What the command or call at a place reaches over: for a command, the pipeline that feeds it.
    pub(super) fn reach(&self, place: &Range<usize>) -> Range<usize> {
        let around = self
            .facts
            .spans
            .iter()
            .filter(|span| span.start <= place.start && place.start < span.end);
        let chosen = if self.chunk.language == Language::Shell {
            around.max_by_key(|span| span.len())
        } else {
            around.filter(|span| place.end <= span.end).min_by_key(|span| span.len())
        };
        chosen.cloned().unwrap_or_else(|| line_around(self.chunk.code, place))
    }
}

/// The lines that a place stands in.
fn line_around(code: &str, place: &Range<usize>) -> Range<usize> {
    let start = code[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = code[place.end..].find('\n').map_or(code.len(), |at| place.end + at);
    start..end
}

impl CodeChunk<'_> {
    /// A place of the code as a place of the passage's text.
    pub(super) fn shifted(&self, range: &Range<usize>) -> Range<usize> {
        range.start + self.offset..range.end + self.offset
    }
}
