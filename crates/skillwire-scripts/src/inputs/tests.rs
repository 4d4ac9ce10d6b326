#![cfg(unix)]

use std::{fs, os::unix::fs::symlink};

use super::*;

struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for (path, text) in
            [("work/data.csv", "a,b\n"), ("work/in/x/one.txt", "1"), ("other/data.csv", "c\n")]
        {
            let path = project.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        project
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn inputs(&self) -> UserInputs {
        UserInputs::new(self.path("work"))
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn copied(inputs: UserInputs) -> Vec<(String, String)> {
    let mut files: Vec<_> = inputs
        .into_files()
        .into_iter()
        .map(|file| {
            (file.path.as_str().to_owned(), String::from_utf8(file.bytes.to_vec()).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn words_that_name_files_are_copied_and_others_stay_as_they_are() {
    let project = Project::new();
    let mut inputs = project.inputs();
    let typed = [
        "check",
        "data.csv",
        "--in=./in/x/one.txt",
        "--verbose",
        "-",
        "no.csv",
        "../other/data.csv",
    ];
    let passed = inputs.add_words(&words(&typed)).unwrap();
    let expected =
        ["check", "data.csv", "--in=./in/x/one.txt", "--verbose", "-", "no.csv", "data-2.csv"];
    assert_eq!(passed, expected);
    let files = copied(inputs);
    let expected = [("data-2.csv", "c\n"), ("data.csv", "a,b\n"), ("in/x/one.txt", "1")];
    assert_eq!(files, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
}

#[test]
fn absolute_paths_become_names_in_the_working_folder() {
    let project = Project::new();
    let mut inputs = project.inputs();
    let file = project.path("other/data.csv");
    let passed = inputs.add_words(&words(&[file.to_str().unwrap()])).unwrap();
    assert_eq!(passed, ["data.csv"]);
    assert_eq!(inputs.sources()[0].bytes, 2);
}

#[test]
fn a_folder_is_copied_only_if_it_is_an_input() {
    let project = Project::new();
    let mut inputs = project.inputs();
    assert_eq!(inputs.add_words(&words(&["in", "--dir=in"])).unwrap(), ["in", "--dir=in"]);
    assert_eq!(inputs.folders_in_words(), ["in"]);
    let mut inputs = project.inputs();
    inputs.add("in", Some("source"), false).unwrap();
    let passed = inputs.add_words(&words(&["in", "--file=in/x/one.txt"])).unwrap();
    assert_eq!(passed, ["source", "--file=source/x/one.txt"]);
    assert_eq!(copied(inputs), [("source/x/one.txt".to_owned(), "1".to_owned())]);
    let mut inputs = project.inputs();
    inputs.add(".", None, false).unwrap();
    assert_eq!(inputs.add_words(&words(&["data.csv"])).unwrap(), ["data.csv"]);
    assert_eq!(inputs.sources().len(), 1);
}

#[test]
fn one_file_of_a_copied_folder_may_be_changed_and_the_others_not() {
    let project = Project::new();
    fs::write(project.path("work/in/two.txt"), "2").unwrap();
    let mut inputs = project.inputs();
    inputs.add("in", None, false).unwrap();
    inputs.add("in/x/one.txt", None, true).unwrap();
    // Another file cannot take the place of one of the folder.
    let other = project.path("other/data.csv");
    let refused = inputs.add(other.to_str().unwrap(), Some("in/two.txt"), true);
    assert!(matches!(refused, Err(InputError::Twice(name)) if name == "in/two.txt"));
    let mut files = inputs.into_files();
    files.sort_by_key(|file| file.path.as_str().to_owned());
    let files: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.writable)).collect();
    assert_eq!(files, [("in/two.txt", false), ("in/x/one.txt", true)]);
}

#[test]
fn no_link_is_followed_out_of_the_folder_that_the_user_means() {
    let project = Project::new();
    symlink(project.path("other/data.csv"), project.path("work/link.csv")).unwrap();
    symlink(project.path("other"), project.path("work/in/out")).unwrap();
    symlink("x/one.txt", project.path("work/in/inner.txt")).unwrap();
    symlink(project.path("other/data.csv"), project.path("work/in/leak.csv")).unwrap();
    let mut inputs = project.inputs();
    let refused = inputs.add_words(&words(&["link.csv"])).unwrap_err();
    assert!(matches!(refused, InputError::LinkOut { .. }), "{refused}");
    let through = inputs.add_words(&words(&["in/out/data.csv"])).unwrap_err();
    assert!(matches!(through, InputError::LinkOut { .. }), "{through}");
    let absolute = project.path("work/link.csv");
    let refused = inputs.add_words(&words(&[absolute.to_str().unwrap()])).unwrap_err();
    assert!(matches!(refused, InputError::LinkOut { .. }), "{refused}");
    inputs.add("in", None, false).unwrap();
    assert_eq!(inputs.sources()[0].left_out, 2);
    let files = copied(inputs);
    let paths: Vec<_> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["in/inner.txt", "in/x/one.txt"]);
}

#[test]
fn inputs_that_are_too_large_or_no_files_are_refused() {
    let project = Project::new();
    let large = File::create(project.path("work/large")).unwrap();
    large.set_len(ScriptJob::MAX_INPUT_BYTES as u64 + 1).unwrap();
    let refused = project.inputs().add("large", None, false).unwrap_err();
    assert!(matches!(refused, InputError::TooLarge(_)), "{refused}");
    let refused = project.inputs().add("/dev/null", None, false).unwrap_err();
    assert!(matches!(refused, InputError::NotAFile(_)), "{refused}");
    let refused = project.inputs().add("data.csv", Some("../up"), false).unwrap_err();
    assert!(matches!(refused, InputError::Name { .. }), "{refused}");
    let mut inputs = project.inputs();
    inputs.add("data.csv", None, false).unwrap();
    let refused = inputs.add("../other/data.csv", Some("data.csv"), true).unwrap_err();
    assert!(matches!(refused, InputError::Twice(_)), "{refused}");
}
