//! Says when a test, or a part of one, could not run on this machine.
//!
//! The unit tests and the attack suite in `tests/it` share this file.

use std::{collections::BTreeSet, io::Write as _, sync::Mutex};

/// Something that a test needs and that not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(dead_code, reason = "each test binary uses only some of them")]
pub(crate) enum TestNeed {
    /// A version 2 cgroup in which this process can make others.
    Cgroups,
    /// A systemd manager of the ordinary user that runs the tests, which gives cgroups.
    UserManager,
    /// An effective user id of 0.
    Root,
    /// A kernel that gives a tier of isolation.
    Isolation,
    /// Python, Node, bash and sh in the system's directories.
    Interpreters,
    /// `openssl`, which makes a certificate for a test.
    Openssl,
    /// `LibreOffice` in the system's directories.
    Office,
    /// A set-user-id program, and a file system that honours it.
    SetUserId,
    /// A kernel with the entry for 32-bit programs.
    Entry32Bit,
    /// A loopback address of IPv6.
    Ipv6,
    /// A policy that lets processes trace others of the same user.
    Tracing,
}

impl TestNeed {
    /// The environment variable that turns a skip for this need into a failure.
    fn variable(self) -> &'static str {
        match self {
            Self::Cgroups => "SKILLWIRE_REQUIRE_CGROUPS",
            Self::UserManager => "SKILLWIRE_REQUIRE_USER_MANAGER",
            Self::Root => "SKILLWIRE_REQUIRE_ROOT",
            Self::Isolation => "SKILLWIRE_REQUIRE_ISOLATION",
            Self::Interpreters => "SKILLWIRE_REQUIRE_INTERPRETERS",
            Self::Openssl => "SKILLWIRE_REQUIRE_OPENSSL",
            Self::Office => "SKILLWIRE_REQUIRE_OFFICE",
            Self::SetUserId => "SKILLWIRE_REQUIRE_SET_USER_ID",
            Self::Entry32Bit => "SKILLWIRE_REQUIRE_32_BIT_ENTRY",
            Self::Ipv6 => "SKILLWIRE_REQUIRE_IPV6",
            Self::Tracing => "SKILLWIRE_REQUIRE_TRACING",
        }
    }
}

/// The lines that this process has written.
static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Reports that the current test, or a part of it, does not run because this machine lacks
/// something.
///
/// Fails the test where the need's variable, or `SKILLWIRE_REQUIRE_ALL`, is `1`. A machine that is
/// known to have something sets the variable, so that a test that stops running there is noticed.
#[expect(clippy::disallowed_methods, reason = "how tests are run is told by the environment")]
pub(crate) fn skip(need: TestNeed, why: &str) {
    let required = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
    let variable = need.variable();
    assert!(
        !required(variable) && !required("SKILLWIRE_REQUIRE_ALL"),
        "this test must run here (`{variable}` or `SKILLWIRE_REQUIRE_ALL` is 1), but: {why}",
    );
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("skipped: {test}: {why} (`{variable}=1` makes this a failure)\n");
    if REPORTED.lock().unwrap().insert(line.clone()) {
        // The test harness hides what passing tests print with `eprintln!`, but not this.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}
