//! Writes a corpus of frontmatter and what `skillwire_core::yaml` makes of it, one JSON per line.
//!
//! `yaml_corpus [documents] [seed]` is deterministic. `tools/yaml-differential` reads the corpus
//! with another YAML 1.2 implementation and compares.

mod document;
mod random;
mod scalar;
mod words;

use std::error::Error;
use std::io::{BufWriter, Write};

use serde_json::{Value, json};
use skillwire_core::Level;
use skillwire_core::yaml::{Limits, parse, split};

use crate::{
    document::{document, mutate},
    random::Random,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let documents: usize = arguments.next().map_or(Ok(40_000), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for _ in 0..documents {
        let mut yaml = document(&mut random);
        if random.chance(55) {
            yaml = mutate(&mut random, &yaml);
        }
        if random.chance(8) {
            yaml = yaml.replace('\n', "\r\n");
        }
        writeln!(out, "{}", record(&yaml))?;
    }
    out.flush()?;
    Ok(())
}

/// Reads one document and describes the outcome.
fn record(yaml: &str) -> Value {
    let file = format!("---\n{yaml}\n---\n");
    let fenced = match split(file.as_bytes()) {
        Ok(fenced) => fenced,
        Err(finding) => {
            return json!({ "yaml": "", "ours": null, "code": finding.code, "why": finding.message });
        }
    };
    let (document, findings) = parse(file.as_bytes(), &fenced, &Limits::default());
    let error = findings.iter().find(|finding| finding.level == Level::Error);
    json!({
        "yaml": fenced.yaml,
        "ours": document.map(|document| document.map),
        "code": error.map(|finding| finding.code),
        "why": error.map(|finding| &finding.message),
    })
}
