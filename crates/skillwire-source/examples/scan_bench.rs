//! Measures scans of a folder beside the least work that could be done for them.
//!
//! `cargo run --release -p skillwire-source --example scan_bench -- FOLDER [SKILLS [WHAT]]`
//!
//! With `WHAT`, only rows whose name contains it are measured, for a profiler.
//!
//! The folder is made when it is not there: each skill has a `SKILL.md` of about 4 KB and three
//! files of 2 to 20 KB.
#![expect(clippy::print_stdout, reason = "a table is what this program is for")]
#![expect(clippy::cast_precision_loss, reason = "milliseconds need no more")]

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use skillwire_core::Digest;
use skillwire_source::{DirectoryOptions, DirectorySource, ScanRequest, SkillSource, SourceChange};

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("Name a folder.")?);
    let skills = arguments.next().map_or(Ok(10_000), |skills| skills.parse())?;
    if !folder.exists() {
        make(&folder, skills)?;
    }
    measure("stat walk, one thread", || stat_walk(&folder))?;
    measure("read and hash, one thread", || read_and_hash(&folder))?;
    measure("first scan", || Ok(scan(&source(&folder, None)?, &ScanRequest::everything())))?;
    let index = folder.with_extension("index");
    measure("first scan, index written", || {
        let _none = fs::remove_file(&index);
        Ok(scan(&source(&folder, Some(&index))?, &ScanRequest::everything()))
    })?;
    measure("start with index", || {
        Ok(scan(&source(&folder, Some(&index))?, &ScanRequest::everything()))
    })?;
    let kept = source(&folder, None)?;
    scan(&kept, &ScanRequest::everything());
    measure("next scan", || Ok(scan(&kept, &ScanRequest::everything())))?;
    measure("next scan, forced", || Ok(scan(&kept, &ScanRequest::everything().force_read())))?;
    let one = ScanRequest::paths([folder.canonicalize()?.join("group-00/skill-00000/SKILL.md")]);
    measure("one changed path", || Ok(scan(&kept, &one)))?;
    Ok(())
}

fn source(folder: &Path, index: Option<&Path>) -> io::Result<DirectorySource> {
    let index = index.map(Path::to_owned);
    let options = DirectoryOptions::default().brief(true).index(index);
    DirectorySource::new(folder, options).map_err(io::Error::other)
}

fn scan(source: &DirectorySource, request: &ScanRequest) -> usize {
    let mut changes = Vec::new();
    let mut take = |change: SourceChange| changes.push(change);
    let findings = source.scan(request, &mut take).unwrap_or_default();
    changes.len() + findings.len()
}

/// Prints the best of some rounds, and the processor time of one on average.
fn measure(what: &str, mut work: impl FnMut() -> io::Result<usize>) -> io::Result<()> {
    if std::env::args().nth(3).is_some_and(|only| !what.contains(&only)) {
        return Ok(());
    }
    let mut best = Duration::MAX;
    let mut count = 0;
    let before = processor_ticks();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        count = work()?;
        best = best.min(start.elapsed());
    }
    // A tick is a hundredth of a second.
    let ticks = before.zip(processor_ticks()).map(|(before, after)| after - before);
    let spent = ticks.map_or_else(String::new, |ticks| {
        format!("{:9.0} ms of processor", ticks as f64 * 10.0 / ROUNDS as f64)
    });
    println!("{what:28} {:9.2} ms {spent}   {count}", best.as_secs_f64() * 1e3);
    Ok(())
}

/// The time all threads of this process have spent, in ticks, where the system tells.
fn processor_ticks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

fn stat_walk(dir: &Path) -> io::Result<usize> {
    let mut seen = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        seen += 1;
        if entry.metadata()?.is_dir() {
            seen += stat_walk(&entry.path())?;
        }
    }
    Ok(seen)
}

fn read_and_hash(dir: &Path) -> io::Result<usize> {
    let mut read = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            read += read_and_hash(&entry.path())?;
        } else {
            let bytes = fs::read(entry.path())?;
            std::hint::black_box(Digest::of(&bytes));
            read += 1;
        }
    }
    Ok(read)
}

fn make(folder: &Path, skills: usize) -> io::Result<()> {
    for n in 0..skills {
        let name = format!("skill-{n:05}");
        let dir = folder.join(format!("group-{:02}", n / 100)).join(&name);
        fs::create_dir_all(dir.join("references"))?;
        let head = format!(
            "---\nname: {name}\ndescription: Does number {n}. Use when number {n} is to be done.\n---\n"
        );
        fs::write(dir.join("SKILL.md"), head + &text(n, 4_000))?;
        for (index, file) in ["references/a.md", "references/b.md", "run.py"].iter().enumerate() {
            let size = 2_000 + (n * 7_919 + index * 104_729) % 18_000;
            fs::write(dir.join(file), text(n + index, size))?;
        }
    }
    Ok(())
}

fn text(seed: usize, size: usize) -> String {
    let mut text = String::with_capacity(size + 40);
    let mut line = seed;
    while text.len() < size {
        text += &["Line ", &line.to_string(), " of this file says nothing new.\n"].concat();
        line += 1;
    }
    text
}
