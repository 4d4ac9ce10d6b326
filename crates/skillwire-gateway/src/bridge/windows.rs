//! The windows of clients, each with an id that cannot be guessed.
//!
//! Requests of the modern era have no session, so the id alone ties a request to the load before
//! it, on any connection. It must be random: a client that guessed an id could read another
//! client's window. Windows that a legacy session opened are closed with the session.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use skillwire_core::SkillEntry;
use skillwire_host::Window;
use skillwire_trust::{Reason, Refusal, SkillId, Subject};

/// The most open windows. A new window beyond them closes the least recently used one, because a
/// client without a session may never close its windows.
const MAX_WINDOWS: usize = 1_024;

/// A window, and the handle the client knows its skill by.
#[derive(Clone)]
pub(crate) struct OpenWindow {
    pub(crate) handle: String,
    pub(crate) window: Arc<Window>,
}

struct HeldWindow {
    opened: OpenWindow,
    session: Option<String>,
    /// When it was used last, as a tick of [`State::clock`].
    used: u64,
}

/// All open windows of all clients.
#[derive(Default)]
pub(crate) struct ClientWindows(Mutex<State>);

#[derive(Default)]
struct State {
    held: HashMap<String, HeldWindow>,
    /// The ids of all windows, least recently used first.
    by_use: BTreeMap<u64, String>,
    clock: u64,
}

impl ClientWindows {
    /// Keeps a window and returns its id.
    pub(crate) fn keep(
        &self,
        opened: OpenWindow,
        session: Option<&str>,
    ) -> Result<String, Refusal> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| {
            Refusal::new(Reason::StateUnusable)
                .expected("random numbers from the system")
                .actual(error)
        })?;
        let word = format!("w{:016x}", u64::from_be_bytes(random));
        let mut state = self.lock();
        if state.held.len() >= MAX_WINDOWS
            && let Some((_, oldest)) = state.by_use.pop_first()
        {
            state.forget(&oldest);
        }
        let (session, used) = (session.map(str::to_owned), state.tick());
        state.by_use.insert(used, word.clone());
        state.held.insert(word.clone(), HeldWindow { opened, session, used });
        Ok(word)
    }

    /// Returns the window with this id, and marks it as used.
    pub(crate) fn get(&self, word: &str) -> Result<OpenWindow, Refusal> {
        let mut state = self.lock();
        let now = state.tick();
        let held = state.held.get_mut(word).ok_or_else(|| closed(word))?;
        let before = std::mem::replace(&mut held.used, now);
        let opened = held.opened.clone();
        state.by_use.remove(&before);
        state.by_use.insert(now, word.to_owned());
        Ok(opened)
    }

    /// Closes a window.
    pub(crate) fn close(&self, word: &str) -> Result<OpenWindow, Refusal> {
        let opened = self.get(word)?;
        self.lock().forget(word);
        Ok(opened)
    }

    /// Closes every window of a skill whose content is not the one that is approved now.
    pub(crate) fn close_outdated(&self, skill: &SkillId, approved: &SkillEntry) {
        self.lock().forget_all(|held| {
            let window = &held.opened.window;
            window.skill() == skill && **window.entry() != *approved
        });
    }

    /// Closes the windows of a session.
    pub(crate) fn session_ended(&self, session: &str) {
        self.lock().forget_all(|held| held.session.as_deref() == Some(session));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    /// Advances the clock, so that each use has a tick of its own.
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn forget_all(&mut self, which: impl Fn(&HeldWindow) -> bool) {
        let words = self.held.iter().filter(|(_, held)| which(held));
        let words: Vec<String> = words.map(|(word, _)| word.clone()).collect();
        for word in words {
            self.forget(&word);
        }
    }

    /// Forgets an id, and releases its window unless another id refers to the same window.
    fn forget(&mut self, word: &str) {
        let Some(gone) = self.held.remove(word) else { return };
        self.by_use.remove(&gone.used);
        let shared = |other: &HeldWindow| Arc::ptr_eq(&other.opened.window, &gone.opened.window);
        if !self.held.values().any(shared) {
            gone.opened.window.release();
        }
    }
}

fn closed(word: &str) -> Refusal {
    Refusal::new(Reason::WindowClosed).about(Subject::window(word.escape_debug().to_string()))
}
