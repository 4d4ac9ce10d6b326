//! Which packages a Python script asks for.

use skillwire_core::RelPath;
use skillwire_sandbox::JobFile;

use super::{PackageError, below, folders_above};

/// The file that lists the packages of all scripts in a folder.
const REQUIREMENTS: &str = "requirements.txt";

/// The most requirements that are read.
const MAX_REQUIREMENTS: usize = 256;

/// The files that can list the packages of a script besides itself, the nearest first.
pub(super) fn lists(script: &RelPath) -> impl Iterator<Item = RelPath> {
    folders_above(script).filter_map(|folder| RelPath::parse(&below(&folder, REQUIREMENTS)).ok())
}

/// The packages that a script asks for, before they are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PythonNeeds {
    /// The file that asks for them.
    pub file: String,
    /// Names with versions, such as `pandas>=2`.
    pub requirements: Vec<String>,
    /// The versions of Python that the script runs with.
    pub requires_python: Option<String>,
}

impl PythonNeeds {
    /// Reads what a script asks for: its own metadata (PEP 723), or the nearest `requirements.txt`.
    pub fn of(script: &RelPath, files: &[JobFile]) -> Result<Option<Self>, PackageError> {
        let text = |path: &str| {
            let file = files.iter().find(|file| file.path.as_str() == path)?;
            std::str::from_utf8(&file.bytes).ok()
        };
        let own = text(script.as_str()).and_then(inline_metadata);
        if let Some(metadata) = own {
            return Self::from_metadata(script.as_str(), &metadata).map(Some);
        }
        let listed = folders_above(script).map(|folder| below(&folder, REQUIREMENTS));
        let Some((file, text)) =
            listed.into_iter().find_map(|path| Some((path.clone(), text(&path)?)))
        else {
            return Ok(None);
        };
        let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim());
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self::checked(file, lines.map(str::to_owned).collect(), None).map(Some)
    }

    fn from_metadata(script: &str, metadata: &str) -> Result<Self, PackageError> {
        let lock = |why: String| PackageError::Lock { file: script.to_owned(), why };
        let table: toml::Table = metadata.parse().map_err(|error| lock(format!("{error}")))?;
        let requirements = match table.get("dependencies") {
            None => Vec::new(),
            Some(toml::Value::Array(values)) => values
                .iter()
                .map(|value| value.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| lock("`dependencies` is not a list of text".to_owned()))?,
            Some(_) => return Err(lock("`dependencies` is not a list".to_owned())),
        };
        let python = table.get("requires-python").and_then(toml::Value::as_str);
        Self::checked(script.to_owned(), requirements, python.map(str::to_owned))
    }

    /// Refuses options, paths and addresses: they could install code from anywhere, or run it.
    fn checked(
        file: String,
        requirements: Vec<String>,
        requires_python: Option<String>,
    ) -> Result<Self, PackageError> {
        let refused = requirements.iter().find(|line| !is_plain(line));
        if let Some(requirement) = refused.or_else(|| requirements.get(MAX_REQUIREMENTS)) {
            let requirement = requirement.chars().take(100).collect();
            return Err(PackageError::Requirement { file, requirement });
        }
        Ok(Self { file, requirements, requires_python })
    }
}

/// Whether a requirement is a name, perhaps with extras, versions and markers.
fn is_plain(requirement: &str) -> bool {
    let name: String = requirement
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        .collect();
    let rest = requirement[name.len()..].trim_start();
    let starts_name = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let continues =
        rest.is_empty() || rest.starts_with(['[', '=', '<', '>', '!', '~', ';', ',', '(']);
    starts_name
        && continues
        && requirement.len() <= 512
        && !requirement.contains(['@', '\\', '\n', '\0'])
        && !requirement.contains("://")
}

/// The metadata of a script: the lines between `# /// script` and `# ///`, without their `#`.
fn inline_metadata(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim_end).skip_while(|line| *line != "# /// script");
    lines.next()?;
    let mut metadata = String::new();
    for line in lines {
        match line {
            "# ///" => return Some(metadata),
            "#" => metadata.push('\n'),
            line => {
                metadata.push_str(line.strip_prefix("# ")?);
                metadata.push('\n');
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(files: &[(&str, &str)]) -> Result<Option<PythonNeeds>, PackageError> {
        let all: Vec<_> = files
            .iter()
            .map(|(path, text)| JobFile {
                path: RelPath::parse(path).unwrap(),
                bytes: bytes::Bytes::copy_from_slice(text.as_bytes()),
            })
            .collect();
        PythonNeeds::of(&all[0].path, &all)
    }

    #[test]
    fn a_script_says_itself_what_it_needs() {
        let script = "#!/usr/bin/env -S uv run --script\n# /// script\n# requires-python = '>=3.10'\n\
                      # dependencies = [\n#   \"rich>=13\",\n# ]\n# ///\nimport rich\n";
        let found = needs(&[("scripts/a.py", script), ("requirements.txt", "other")]).unwrap();
        let found = found.unwrap();
        assert_eq!(
            (found.file.as_str(), &*found.requirements),
            ("scripts/a.py", &["rich>=13".to_owned()][..])
        );
        assert_eq!(found.requires_python.as_deref(), Some(">=3.10"));
    }

    #[test]
    fn the_nearest_list_of_requirements_counts() {
        let listed =
            "# comment\npandas>=2,<3  # data\n\nrequests[socks]==2.31 ; python_version > '3.8'\n";
        let found =
            needs(&[("a/b/c.py", ""), ("requirements.txt", "x"), ("a/requirements.txt", listed)]);
        let found = found.unwrap().unwrap();
        assert_eq!(found.file, "a/requirements.txt");
        let expected = ["pandas>=2,<3", "requests[socks]==2.31 ; python_version > '3.8'"];
        assert_eq!(found.requirements, expected);
        assert_eq!(needs(&[("a/b.py", "print()")]).unwrap(), None);
    }

    #[test]
    fn requirements_that_are_more_than_names_are_refused() {
        for line in [
            "-r other.txt",
            "--index-url https://evil.example/simple",
            "-e .",
            "./local",
            "/etc/passwd",
            "name @ https://evil.example/x.whl",
            "git+https://evil.example/x",
            "https://evil.example/x.whl",
            "a b",
        ] {
            let refused = needs(&[("a.py", ""), ("requirements.txt", line)]);
            assert!(
                matches!(refused, Err(PackageError::Requirement { .. })),
                "{line}: {refused:?}"
            );
        }
    }
}
