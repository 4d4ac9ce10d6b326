//! Shows the progress of a scan to a user at a terminal.

use std::{
    io::IsTerminal,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::JoinHandle,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use skillwire_core::visible::one_line;
use skillwire_source::ScanProgress;

/// The time before the line appears. A scan that is faster than this shows nothing.
const DELAY: Duration = Duration::from_millis(300);

/// The interval at which the line is drawn.
const PACE: Duration = Duration::from_millis(100);

/// Shows the number of scanned skills on standard error until it is dropped.
pub(crate) struct ScanSpinner(Option<(Sender<()>, JoinHandle<()>)>);

impl ScanSpinner {
    /// Begins, if standard error is a terminal.
    pub(crate) fn new(progress: ScanProgress) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (done, waits) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            draw(&progress, &waits, DELAY, ProgressDrawTarget::stderr());
        });
        Self(Some((done, thread)))
    }
}

impl Drop for ScanSpinner {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            drop(done);
            // Waits until the line is removed, so that later output does not mix with it.
            let _ = thread.join();
        }
    }
}

/// Shows what is waited for on standard error until it is dropped.
#[cfg(feature = "setup")]
pub(crate) struct WaitSpinner(Option<ProgressBar>);

#[cfg(feature = "setup")]
impl WaitSpinner {
    /// Begins, if standard error is a terminal.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what.into());
        bar.enable_steady_tick(PACE);
        Self(Some(bar))
    }
}

#[cfg(feature = "setup")]
impl Drop for WaitSpinner {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A line on standard error that names what the program works on, and disappears at the end.
pub(crate) struct StepLine(ProgressBar);

impl StepLine {
    /// Begins a line for so many steps, if standard error is a terminal.
    pub(crate) fn new(what: &'static str, steps: usize) -> Self {
        if !std::io::stderr().is_terminal() || steps < 2 {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
        let template = format!("{{spinner}} {what} {{pos}} of {{len}}: {{msg}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(PACE);
        Self(bar)
    }

    /// Names the next thing.
    pub(crate) fn step(&self, what: &str) {
        self.0.inc(1);
        self.0.set_message(one_line(what));
    }
}

impl Drop for StepLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn draw(progress: &ScanProgress, done: &Receiver<()>, delay: Duration, target: ProgressDrawTarget) {
    if done.recv_timeout(delay) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{spinner} Reading skills: {pos}, {elapsed}") {
        bar.set_style(style);
    }
    loop {
        bar.set_position(progress.skills() as u64);
        bar.tick();
        if done.recv_timeout(PACE) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    bar.finish_and_clear();
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use indicatif::TermLike;
    use skillwire_source::{DirectoryOptions, DirectorySource, ScanRequest, SkillSource};
    use skillwire_testkit::SkillFolder;

    use super::*;

    /// A terminal of one line, which reports its content to the test.
    #[derive(Debug, Clone)]
    struct Line {
        text: Arc<Mutex<String>>,
        shown: Sender<String>,
    }

    impl TermLike for Line {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.text.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.text.lock().unwrap().clear();
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            // The test may have ended.
            let _ = self.shown.send(self.text.lock().unwrap().clone());
            Ok(())
        }
    }

    /// Draws after a delay. Returns the content of the line, and a sender that ends the drawing.
    fn drawn(
        progress: ScanProgress,
        delay: Duration,
    ) -> (Receiver<String>, Sender<()>, JoinHandle<()>) {
        let (shown, lines) = mpsc::channel();
        let (done, waits) = mpsc::channel();
        let line = Line { text: Arc::default(), shown };
        let target = ProgressDrawTarget::term_like(Box::new(line));
        let thread = std::thread::spawn(move || draw(&progress, &waits, delay, target));
        (lines, done, thread)
    }

    #[test]
    fn a_long_scan_shows_how_far_it_is_and_leaves_no_trace() {
        let folder = SkillFolder::with_skills(&["a", "b", "c"]);
        let progress = ScanProgress::default();
        let options = DirectoryOptions::default().progress(progress.clone());
        let source = DirectorySource::new(folder.path(), options).unwrap();
        let (lines, done, thread) = drawn(progress, Duration::ZERO);
        source.scan(&ScanRequest::everything(), &mut |_| {}).unwrap();
        let shown = || lines.recv_timeout(Duration::from_secs(20)).expect("the line is drawn");
        while !shown().contains("Reading skills: 3, ") {}
        drop(done);
        thread.join().unwrap();
        assert_eq!(lines.try_iter().last().as_deref(), Some(""));
    }

    #[test]
    fn a_short_scan_shows_nothing() {
        let (lines, done, thread) = drawn(ScanProgress::default(), Duration::from_mins(10));
        drop(done);
        thread.join().unwrap();
        assert_eq!(lines.try_iter().count(), 0);
    }
}
