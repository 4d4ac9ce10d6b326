//! The last step: a process becomes the script.

use std::{
    cell::Cell,
    ffi::{CString, OsStr, c_char, c_int, c_void},
    io,
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use rustix::process::Pid;

use super::super::protocol::{At as _, Broken, Program, Spec, Step};

/// Room for the little that a new process does before it executes something.
const STACK: usize = 64 * 1024;

/// Where a script finds things.
pub(super) struct Places<'a> {
    pub(super) skill: &'a Path,
    pub(super) output: &'a Path,
    pub(super) temporary: &'a Path,
    /// The proxy's port.
    pub(super) proxy: Option<u16>,
}

/// A script with its words and variables, as the kernel takes them: nothing is allocated any more when
/// a process becomes it.
pub(super) struct Script {
    program: CString,
    words: Texts,
    variables: Texts,
    folder: CString,
}

impl Script {
    pub(super) fn new(spec: &Spec, places: &Places<'_>) -> io::Result<Self> {
        let script = places.skill.join(spec.program.script());
        let mut words = Vec::new();
        match &spec.program {
            Program::Interpreter { path, options, .. } => {
                words.push(text(path.as_os_str().as_bytes())?);
                for option in options {
                    words.push(text(option)?);
                }
                words.push(text(script.as_os_str().as_bytes())?);
            }
            Program::Script(_) => words.push(text(script.as_os_str().as_bytes())?),
        }
        let program = words.first().ok_or(io::ErrorKind::InvalidInput)?.clone();
        for word in &spec.words {
            words.push(text(word)?);
        }
        let variables = variables(spec, places)?;
        let folder = text(places.output.as_os_str().as_bytes())?;
        Ok(Self { program, words: Texts::new(words), variables: Texts::new(variables), folder })
    }

    /// Makes this process the script; returns only if that failed.
    pub(super) fn execute(&self) -> Broken {
        // SAFETY: all texts end with a NUL and both lists with a null pointer, and they live as long
        // as this value.
        unsafe {
            if libc::chdir(self.folder.as_ptr()) == 0 {
                libc::execve(self.program.as_ptr(), self.words.as_ptr(), self.variables.as_ptr());
            }
        }
        Broken { step: Step::Exec, errno: io::Error::last_os_error().raw_os_error().unwrap_or(0) }
    }

    /// Makes a new process the script, which limits itself first. It shares the memory of this one until
    /// it executes, so nothing is copied for it.
    pub(super) fn start(&self, limit: &dyn Fn() -> rustix::io::Result<()>) -> Result<Pid, Broken> {
        let mut stack = vec![0_u8; STACK];
        let start = Start { script: self, limit, failed: Cell::new(None) };
        // SAFETY: a whole stack lies below its end, which is aligned as calls need it. This process
        // waits until the new one has executed something or ended, so what the new one uses is there,
        // and nobody else uses it meanwhile.
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
        let started = started.ok_or_else(io::Error::last_os_error).at(Step::Fork)?;
        start.failed.get().map_or(Ok(started), Err)
    }
}

/// What a new process is given.
struct Start<'a> {
    script: &'a Script,
    limit: &'a dyn Fn() -> rustix::io::Result<()>,
    /// Why it ended before it became the script.
    failed: Cell<Option<Broken>>,
}

extern "C" fn become_script(start: *mut c_void) -> c_int {
    // SAFETY: `Script::start` gives a pointer to such a value, which lives until this process has
    // executed something or ended.
    let start = unsafe { &*start.cast::<Start<'_>>() };
    let failed = (start.limit)().at(Step::Limits).err();
    start.failed.set(Some(failed.unwrap_or_else(|| start.script.execute())));
    127
}

fn variables(spec: &Spec, places: &Places<'_>) -> io::Result<Vec<CString>> {
    let own = [
        ("PATH", OsStr::new("/usr/local/bin:/usr/bin:/bin")),
        ("HOME", places.temporary.as_os_str()),
        ("TMPDIR", places.temporary.as_os_str()),
        // Text is UTF-8; everything else about it needs no files that every program would read.
        ("LANG", OsStr::new("C")),
        ("LC_CTYPE", OsStr::new("C.UTF-8")),
        ("SKILL_DIR", places.skill.as_os_str()),
        ("OUTPUT_DIR", places.output.as_os_str()),
    ];
    let granted = spec.environment.iter().map(|(name, value)| (name.as_str(), OsStr::new(value)));
    let proxy = places.proxy.map(|port| format!("http://127.0.0.1:{port}"));
    let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
    let proxies = proxy.iter().flat_map(|proxy| proxies.map(|name| (name, OsStr::new(proxy))));
    let all = own.into_iter().chain(granted).chain(proxies);
    all.map(|(name, value)| text([name.as_bytes(), b"=", value.as_bytes()].concat().as_slice()))
        .collect()
}

fn text(text: impl AsRef<[u8]>) -> io::Result<CString> {
    Ok(CString::new(text.as_ref())?)
}

/// A list of texts as the kernel takes it.
struct Texts {
    pointers: Vec<*const c_char>,
    /// What the pointers lead to.
    _texts: Vec<CString>,
}

impl Texts {
    fn new(texts: Vec<CString>) -> Self {
        let ends = std::iter::once(std::ptr::null());
        Self {
            pointers: texts.iter().map(|text| text.as_ptr()).chain(ends).collect(),
            _texts: texts,
        }
    }

    fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}
