//! Which interpreter and which packages a script of `run` gets.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use skillwire_core::RelPath;
use skillwire_sandbox::{InterpreterFinder, JobFile, ScriptInterpreter, ScriptLanguage};
use skillwire_scripts::{
    NodeNeeds, Package, PackageCache, PackageError, PythonNeeds, VirtualEnvironment,
    first_closed_folder,
};

use crate::{
    args::RunArgs,
    execution,
    exit::Exit,
    failure::Failure,
    output::counted,
    prose, report, settings,
    terminal::{self, Choice},
};

/// The environment of a project, which is used without being named.
const PROJECT_VENV: &str = ".venv";

/// What a script is started with, and packages for it.
pub(super) struct RunEnvironment {
    pub(super) interpreters: InterpreterFinder,
    /// Where packages appear in the skill, and the folder that they are installed in.
    pub(super) packages: Option<(RelPath, PathBuf)>,
    /// Sentences about packages that are not there.
    pub(super) notes: Vec<String>,
}

/// Finds what a script needs, and installs it if the user agrees.
pub(super) fn choose(
    args: &RunArgs,
    script: &RelPath,
    files: &[JobFile],
) -> Result<RunEnvironment, Failure> {
    let mut environment = RunEnvironment {
        interpreters: execution::interpreters(&args.interpreter)?,
        packages: None,
        notes: Vec::new(),
    };
    match language(&environment.interpreters, script, files) {
        Some(ScriptLanguage::Python) => environment.choose_python(args, script, files)?,
        Some(ScriptLanguage::Node) if !args.no_packages => {
            environment.choose_node(args, script, files)?;
        }
        _ => {}
    }
    Ok(environment)
}

fn language(
    interpreters: &InterpreterFinder,
    script: &RelPath,
    files: &[JobFile],
) -> Option<ScriptLanguage> {
    let file = files.iter().find(|file| file.path == *script)?;
    match interpreters.find(script, &file.bytes).ok()? {
        ScriptInterpreter::Program { language, .. } => Some(language),
        ScriptInterpreter::Static => None,
    }
}

impl RunEnvironment {
    fn choose_python(
        &mut self,
        args: &RunArgs,
        script: &RelPath,
        files: &[JobFile],
    ) -> Result<(), Failure> {
        let names_python = args.interpreter.iter().any(|named| named.starts_with("python="));
        if let Some(folder) = &args.venv {
            if names_python {
                return Err(Failure::usage(
                    "`--venv` and `--interpreter python=…` both name a Python.",
                )
                .hint("Leave one of them out."));
            }
            return self.use_venv(&read_venv(folder)?);
        }
        if names_python || args.no_packages {
            return Ok(());
        }
        match PythonNeeds::of(script, files) {
            Ok(Some(needs)) if !needs.requirements.is_empty() => {
                if let Some(venv) = self.python_packages(args, &needs)? {
                    return self.use_venv(&venv);
                }
            }
            Ok(_) => {}
            Err(error) => {
                self.notes.push(execution::sentence(&error.to_string()));
            }
        }
        // The folder must be a real one: a link could name any folder of the user.
        let project = Path::new(PROJECT_VENV);
        let is_folder = project.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_folder && project.join("pyvenv.cfg").is_file() {
            return self.use_venv(&read_venv(project)?);
        }
        Ok(())
    }

    fn use_venv(&mut self, venv: &VirtualEnvironment) -> Result<(), Failure> {
        for root in &venv.roots {
            check_open(root)?;
        }
        self.interpreters
            .use_environment(ScriptLanguage::Python, &venv.program, venv.roots.clone())
            .map_err(|error| Failure::caused(Exit::Usage, error))
    }

    /// The environment with the packages that a script asks for. `None` if it cannot be made here.
    fn python_packages(
        &mut self,
        args: &RunArgs,
        needs: &PythonNeeds,
    ) -> Result<Option<VirtualEnvironment>, Failure> {
        let Ok((python, _)) = self.interpreters.program(ScriptLanguage::Python) else {
            return Ok(None);
        };
        let cache = cache()?;
        if let Some(found) = cache.find_python(needs, &python) {
            return Ok(Some(found));
        }
        let Some(uv) = settings::find_program("uv") else {
            self.notes.push(format!(
                "`{}` lists packages that are not installed. Install `uv`, or name an environment \
                 that has them with `--venv DIR`.",
                report::printable(&needs.file)
            ));
            return Ok(None);
        };
        let resolved = cache.resolve_python(needs, &python, &uv).map_err(not_installed)?;
        consent(args, &needs.file, &resolved.packages)?;
        let venv = cache.install_python(needs, &python, &uv, &resolved).map_err(not_installed)?;
        Ok(Some(venv))
    }

    fn choose_node(
        &mut self,
        args: &RunArgs,
        script: &RelPath,
        files: &[JobFile],
    ) -> Result<(), Failure> {
        let needs = match NodeNeeds::of(script, files) {
            Ok(Some(needs)) => needs,
            Ok(None) => return Ok(()),
            Err(error) => {
                self.notes.push(execution::sentence(&error.to_string()));
                return Ok(());
            }
        };
        let cache = cache()?;
        let folder = if let Some(folder) = cache.find_node(&needs) {
            folder
        } else {
            let Some(npm) = settings::find_program("npm") else {
                self.notes.push(format!(
                    "`{}` lists packages that are not installed, and `npm` is not there.",
                    report::printable(&needs.file)
                ));
                return Ok(());
            };
            consent(args, &needs.file, &needs.packages)?;
            cache.install_node(&needs, &npm).map_err(not_installed)?
        };
        check_open(&folder)?;
        self.packages = Some((needs.modules, folder));
        Ok(())
    }
}

fn read_venv(folder: &Path) -> Result<VirtualEnvironment, Failure> {
    VirtualEnvironment::read(folder).map_err(|error| {
        Failure::usage("The virtual environment cannot be used.")
            .because(error)
            .hint("`python3 -m venv DIR` makes one; `--no-packages` runs the script without.")
    })
}

fn cache() -> Result<PackageCache, Failure> {
    let folder = settings::package_folder().ok_or_else(|| {
        Failure::usage("There is no folder for packages, because no home folder is known.")
            .hint("Set `SKILLWIRE_HOME`, or pass `--no-packages`.")
    })?;
    Ok(PackageCache::new(folder))
}

/// Where this process is root, scripts run as another user.
fn check_open(root: &Path) -> Result<(), Failure> {
    let Some(closed) = first_closed_folder(root) else { return Ok(()) };
    let message = format!(
        "Scripts cannot read `{}`: as you are root they run as another user, who cannot enter `{}`.",
        report::printable(&root.display().to_string()),
        report::printable(&closed.display().to_string())
    );
    Err(Failure::new(Exit::Declined, message)
        .hint("Put the environment into a folder that all users can enter, or do not run as root."))
}

/// Shows the packages by name and version, and asks.
fn consent(args: &RunArgs, file: &str, packages: &[Package]) -> Result<(), Failure> {
    let listed: Vec<_> =
        packages.iter().map(|package| report::printable(&package.to_string())).collect();
    let file = report::printable(file);
    let mut err = prose::stderr();
    if !args.quiet || !args.install {
        writeln!(err, "`{file}` asks for {}:", counted(packages.len(), "package"))?;
        listed.iter().try_for_each(|package| writeln!(err, "  {package}"))?;
        err.flush()?;
    }
    if args.install {
        return Ok(());
    }
    let question = "Install them for this skill?";
    let agreed = terminal::is_interactive()
        && terminal::choose(question, &[Choice::Yes, Choice::No])
            .is_some_and(|chosen| chosen.choice == Choice::Yes);
    if agreed {
        return Ok(());
    }
    Err(Failure::new(Exit::Approval, "The packages that the script needs are not installed.").hint(
        "`--install` installs what is listed above; `--no-packages` runs the script without them.",
    ))
}

fn not_installed(error: PackageError) -> Failure {
    Failure::new(Exit::Declined, "The packages of the script cannot be installed.")
        .because(error)
        .hint("`--venv DIR` uses an environment of yours; `--no-packages` runs without packages.")
}
