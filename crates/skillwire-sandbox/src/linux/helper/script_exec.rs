//! The last step: a process becomes the script.

use std::{
    cell::Cell,
    ffi::{CString, OsStr, OsString, c_char, c_int, c_void},
    io,
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use rustix::process::Pid;

use super::{
    super::helper_protocol::{AtStep as _, IsolationStep, JobSpec, ScriptProgram, StepFailure},
    visible_paths,
};

/// The stack of a new process, which only sets limits and executes the script.
const STACK_BYTES: usize = 64 * 1024;

/// Where a script finds its files.
pub(super) struct ScriptPaths<'a> {
    pub(super) skill: &'a Path,
    pub(super) output: &'a Path,
    pub(super) temporary: &'a Path,
    /// The port of the egress proxy.
    pub(super) proxy_port: Option<u16>,
}

/// A script with its words and variables, as the kernel takes them.
///
/// Everything is allocated here, before the script's process exists. That process shares the memory
/// of its parent until it executes, so it must not allocate.
pub(super) struct PreparedScript {
    program: CString,
    words: CStringArray,
    variables: CStringArray,
    working_folder: CString,
}

impl PreparedScript {
    pub(super) fn new(spec: &JobSpec, paths: &ScriptPaths<'_>) -> io::Result<Self> {
        let script = paths.skill.join(spec.program.script());
        let mut words = Vec::new();
        match &spec.program {
            ScriptProgram::Interpreter { path, options, .. } => {
                words.push(c_string(path.as_os_str().as_bytes())?);
                for option in options {
                    words.push(c_string(option)?);
                }
                words.push(c_string(script.as_os_str().as_bytes())?);
            }
            ScriptProgram::Static(_) => words.push(c_string(script.as_os_str().as_bytes())?),
        }
        let program = words.first().ok_or(io::ErrorKind::InvalidInput)?.clone();
        for word in &spec.words {
            words.push(c_string(word)?);
        }
        Ok(Self {
            program,
            words: CStringArray::new(words),
            variables: CStringArray::new(variables(spec, paths)?),
            working_folder: c_string(paths.output.as_os_str().as_bytes())?,
        })
    }

    /// Makes this process the script. Returns only if that failed.
    pub(super) fn execute(&self) -> StepFailure {
        // SAFETY: all strings end with a NUL and both arrays with a null pointer, and they live as
        // long as this value.
        unsafe {
            if libc::chdir(self.working_folder.as_ptr()) == 0 {
                libc::execve(self.program.as_ptr(), self.words.as_ptr(), self.variables.as_ptr());
            }
        }
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        StepFailure { step: IsolationStep::Exec, errno }
    }

    /// Makes a new process the script, which calls `set_limits` first.
    ///
    /// The new process shares the memory of this one until it executes, so that no page is copied
    /// for it. This process is suspended meanwhile.
    pub(super) fn start(
        &self,
        set_limits: &dyn Fn() -> rustix::io::Result<()>,
    ) -> Result<Pid, StepFailure> {
        let mut stack = vec![0_u8; STACK_BYTES];
        let start = CloneArgument { script: self, set_limits, failure: Cell::new(None) };
        // SAFETY: a whole stack lies below its end, which is aligned as calls need it. This process
        // is suspended until the new one has executed the script or ended (`CLONE_VFORK`), so
        // `stack` and `start` outlive their use, and nothing else touches them meanwhile.
        let pid = unsafe {
            let top = stack.as_mut_ptr_range().end;
            libc::clone(
                become_script,
                top.wrapping_sub(top.addr() % 16).cast::<c_void>(),
                libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                (&raw const start).cast_mut().cast::<c_void>(),
            )
        };
        let started = Pid::from_raw(pid).filter(|_| pid > 0);
        let started = started.ok_or_else(io::Error::last_os_error).at(IsolationStep::Fork)?;
        start.failure.get().map_or(Ok(started), Err)
    }
}

/// What a new process is given.
struct CloneArgument<'a> {
    script: &'a PreparedScript,
    set_limits: &'a dyn Fn() -> rustix::io::Result<()>,
    /// Why the process ended before it became the script.
    failure: Cell<Option<StepFailure>>,
}

extern "C" fn become_script(argument: *mut c_void) -> c_int {
    // SAFETY: `PreparedScript::start` gives a pointer to such a value, which lives until this
    // process has executed the script or ended.
    let argument = unsafe { &*argument.cast::<CloneArgument<'_>>() };
    let failure = (argument.set_limits)().at(IsolationStep::Limits).err();
    argument.failure.set(Some(failure.unwrap_or_else(|| argument.script.execute())));
    127
}

/// The variables by which programs find a proxy. Some read only one case.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// The whole environment of the script. Nothing of the caller's environment is in it but what was
/// granted.
fn variables(spec: &JobSpec, paths: &ScriptPaths<'_>) -> io::Result<Vec<CString>> {
    let path = search_path(&spec.program);
    let own = [
        ("PATH", path.as_os_str()),
        ("HOME", paths.temporary.as_os_str()),
        ("TMPDIR", paths.temporary.as_os_str()),
        // Text is UTF-8. For everything else the `C` locale, which needs no files.
        ("LANG", OsStr::new("C")),
        ("LC_CTYPE", OsStr::new("C.UTF-8")),
        ("SKILL_DIR", paths.skill.as_os_str()),
        ("OUTPUT_DIR", paths.output.as_os_str()),
        // Scripts import modules by their path from the top of the skill.
        ("PYTHONPATH", paths.skill.as_os_str()),
    ];
    let granted = spec.environment.iter().map(|(name, value)| (name.as_str(), OsStr::new(value)));
    let proxy = paths.proxy_port.map(|port| format!("http://127.0.0.1:{port}"));
    let proxies =
        proxy.iter().flat_map(|proxy| PROXY_VARIABLES.map(|name| (name, OsStr::new(proxy))));
    // Newer versions of Node use the proxy if this variable is set; the module does it for others.
    let require = OsStr::new(visible_paths::NODE_PROXY_OPTION);
    let for_node = [("NODE_USE_ENV_PROXY", OsStr::new("1")), ("NODE_OPTIONS", require)];
    let for_node = for_node.into_iter().filter(|_| proxy.is_some());
    let all = own.into_iter().chain(granted).chain(proxies).chain(for_node);
    all.map(|(name, value)| c_string([name.as_bytes(), b"=", value.as_bytes()].concat())).collect()
}

/// Where programs are looked for. A virtual environment comes first, as if it were activated, so that
/// scripts which start Python get the same one.
fn search_path(program: &ScriptProgram) -> OsString {
    let mut path = OsString::new();
    if let ScriptProgram::Interpreter { path: interpreter, .. } = program
        && let Some(folder) = interpreter.parent()
        && !["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|system| folder == Path::new(system))
    {
        path.push(folder);
        path.push(":");
    }
    path.push("/usr/local/bin:/usr/bin:/bin");
    path
}

fn c_string(text: impl AsRef<[u8]>) -> io::Result<CString> {
    Ok(CString::new(text.as_ref())?)
}

/// An array of strings that ends with a null pointer.
struct CStringArray {
    pointers: Vec<*const c_char>,
    /// Owns what the pointers lead to.
    _strings: Vec<CString>,
}

impl CStringArray {
    fn new(strings: Vec<CString>) -> Self {
        let end = std::iter::once(std::ptr::null());
        Self {
            pointers: strings.iter().map(|string| string.as_ptr()).chain(end).collect(),
            _strings: strings,
        }
    }

    fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}
