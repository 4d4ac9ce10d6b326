//! The contract of sources: ours keep it, and the checks detect broken ones.

mod broken;
#[expect(dead_code, reason = "only its source is of interest here, not that it runs")]
#[path = "../../examples/custom_source.rs"]
mod example;

use std::{path::PathBuf, sync::Arc};

use skillwire_core::{Finding, RelPath, Scheme, SkillPath};
use skillwire_source::{
    DirectoryOptions, DirectorySource, EmbeddedSkill, GeneratedFiles, GeneratedSource,
    MemorySource, ScanRequest, SingleSkillSource, SkillSource, SourceChange, SourceUnavailable,
};
use skillwire_testkit::{SkillFolder, skill_md, source_contract};

/// A source of a folder that is deleted with it.
#[derive(Debug)]
struct InFolder<S> {
    folder: SkillFolder,
    source: S,
}

impl<S: SkillSource> SkillSource for InFolder<S> {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        self.source.scan(look, report)
    }

    fn watched_directories(&self) -> Vec<PathBuf> {
        self.source.watched_directories()
    }
}

/// Creates two skills, one of them nested in another, and one that cannot be served.
fn folder() -> SkillFolder {
    let folder = SkillFolder::with_skills(&["team/outer", "team/outer/inner", "other"]);
    folder.file("other/a b/ü.txt", "x").file("other/data.bin", [0xff, 0]).directory("other/empty");
    folder.file("broken/SKILL.md", "# No frontmatter\n");
    folder
}

fn options() -> DirectoryOptions {
    DirectoryOptions::default().label("skills".to_owned())
}

mod directory {
    use super::*;

    fn make() -> InFolder<DirectorySource> {
        let folder = folder();
        let source = DirectorySource::new(folder.path(), options()).expect("the folder is there");
        InFolder { folder, source }
    }

    source_contract!(make, |source: &InFolder<_>| {
        source.folder.file("other/data.bin", "changed").remove("team/outer/inner");
    });
}

mod placed {
    use super::*;

    fn make() -> InFolder<SingleSkillSource> {
        let folder = folder();
        let path = SkillPath::parse("acme/shelf/other").expect("a path");
        let source = SingleSkillSource::new(path, folder.join("other"), options());
        InFolder { folder, source: source.expect("the folder is there") }
    }

    source_contract!(make, |source: &InFolder<_>| {
        source.folder.file("other/data.bin", "changed");
    });
}

mod memory {
    use super::*;

    fn make() -> MemorySource {
        let mut source = MemorySource::new("memory");
        let path = SkillPath::parse("team/outer").expect("a path");
        let files = [("SKILL.md", skill_md("outer")), ("inner/SKILL.md", skill_md("inner"))];
        let files = files.map(|(path, text)| (RelPath::parse(path).expect("a path"), text.into()));
        source.add(&path, files).expect("the files do not clash");
        source
    }

    source_contract!(make);
}

mod embedded {
    use super::*;

    const SKILL: EmbeddedSkill = EmbeddedSkill {
        path: "acme/a",
        files: &[("SKILL.md", b"---\nname: a\ndescription: Does it. Use when testing.\n---\n")],
    };

    fn make() -> MemorySource {
        let mut source = MemorySource::new("embedded");
        source.add_embedded(&SKILL).expect("the skill is well formed");
        source
    }

    source_contract!(make);
}

mod generated {
    use super::*;

    fn make() -> GeneratedSource {
        let files = GeneratedFiles::new()
            .file("SKILL.md", || skill_md("daily"))
            .try_file("data/now.csv", || Ok::<_, std::io::Error>("a,b\n"));
        let path = SkillPath::parse("reports/daily").expect("a path");
        GeneratedSource::new(path, Scheme::default(), Arc::new(files))
    }

    source_contract!(make);
}

/// The source of the example, with which authors of other sources begin.
mod custom {
    use super::*;

    use super::example::Runbooks;

    fn make() -> Runbooks {
        let runbooks = Runbooks::default();
        let mut table = runbooks.table.lock().expect("nobody panicked");
        table.insert("ops/a".to_owned(), skill_md("a"));
        table.insert("ops/b".to_owned(), skill_md("b"));
        table.insert("ops/../c".to_owned(), skill_md("c"));
        drop(table);
        runbooks
    }

    source_contract!(make, |runbooks: &Runbooks| {
        let mut table = runbooks.table.lock().expect("nobody panicked");
        table.remove("ops/a");
        table.insert("ops/b".to_owned(), skill_md("b") + "More.\n");
    });
}
