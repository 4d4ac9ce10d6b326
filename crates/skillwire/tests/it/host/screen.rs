//! What a program shows on a terminal, cell by cell, and pictures of it.

use std::{fmt::Write as _, path::Path};

use tokio::process::Command;

use super::terminal::TerminalSession;

/// A program on a terminal whose screen the test sees.
pub(crate) struct TestScreen {
    session: TerminalSession,
    parser: vt100::Parser,
}

impl TestScreen {
    /// Starts a command on a terminal of so many columns and rows, with colours.
    pub(crate) fn start(mut command: Command, size: (u16, u16)) -> Self {
        command.env_remove("NO_COLOR");
        Self::plain(command, size)
    }

    /// Starts a command on a terminal, with colours as its environment says.
    pub(crate) fn plain(mut command: Command, (columns, rows): (u16, u16)) -> Self {
        command.env("TERM", "xterm-256color");
        let session = TerminalSession::start_sized(command, true, Some((columns, rows)));
        Self { session, parser: vt100::Parser::new(rows, columns, 0) }
    }

    /// Presses keys; some characters stand for keys without one.
    pub(crate) fn press(&mut self, keys: &str) {
        let bytes = keys.replace('↓', "\u{1b}[B").replace('↑', "\u{1b}[A").replace('\n', "\r");
        self.session.press(&bytes);
    }

    /// Waits until the screen shows these words, and returns its text.
    pub(crate) async fn wait_for(&mut self, words: &str) -> String {
        self.wait_until(words, |text| text.contains(words)).await
    }

    /// Waits until the text of the screen is as it should be, and returns it.
    pub(crate) async fn wait_until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        loop {
            let text = self.parser.screen().contents();
            if is_so(&text) {
                return text;
            }
            match self.session.next_output().await {
                Some(bytes) => self.parser.process(&bytes),
                None => panic!("{what:?} was not shown:\n{text}"),
            }
        }
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(rows, columns);
        self.session.resize(columns, rows);
    }

    /// Whether the program shows a screen of its own instead of the terminal's lines.
    pub(crate) fn is_full_screen(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    /// Whether any cell has a colour.
    pub(crate) fn has_colours(&self) -> bool {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let mut cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        cells.any(|(row, column)| {
            screen.cell(row, column).is_some_and(|cell| cell.fgcolor() != vt100::Color::Default)
        })
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        self.session.signal(name);
    }

    /// Waits until the program has ended; returns its exit code and what is left on the terminal.
    pub(crate) async fn wait(mut self) -> (Option<i32>, String) {
        while let Some(bytes) = self.session.next_output().await {
            self.parser.process(&bytes);
        }
        let text = self.parser.screen().contents();
        assert!(!self.is_full_screen(), "the terminal is given back");
        (self.session.wait().await, text)
    }

    /// Compares the screen with a picture of the documentation. `SKILLWIRE_PICTURES=write` writes it.
    pub(crate) fn assert_picture(&self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures").join(name);
        let picture = svg(self.parser.screen());
        #[expect(
            clippy::disallowed_methods,
            reason = "the developer says that pictures are written"
        )]
        let writes = std::env::var_os("SKILLWIRE_PICTURES").is_some();
        if writes {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &picture).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let hint = "run this test with SKILLWIRE_PICTURES=write, and look at the picture";
        assert!(kept == picture, "docs/pictures/{name} is not what the screen shows: {hint}");
    }
}

/// The size of a character in the picture.
const CELL: (u16, u16) = (9, 18);

/// Draws a screen.
fn svg(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let (width, height) = (columns * CELL.0 + 20, rows * CELL.1 + 20);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"15\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e1e2e\"/>\n"
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let Some(cell) = screen.cell(row, column) else { break };
            let style = Style::of(cell);
            let first = column;
            let mut text = String::new();
            while column < columns
                && let Some(cell) = screen.cell(row, column).filter(|cell| Style::of(cell) == style)
            {
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                column += 1;
            }
            let (x, y) = (10 + first * CELL.0, 10 + row * CELL.1);
            let length = (column - first) * CELL.0;
            if style.inverse {
                let height = CELL.1;
                writeln!(
                    svg,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{length}\" height=\"{height}\" fill=\"{}\"/>",
                    style.fill()
                )
                .unwrap();
            }
            if text.trim().is_empty() {
                continue;
            }
            let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let weight = if style.bold { " font-weight=\"bold\"" } else { "" };
            let ink = if style.inverse { "#1e1e2e" } else { style.fill() };
            let y = y + 14;
            writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" xml:space=\"preserve\" fill=\"{ink}\"{weight}>{escaped}</text>"
            )
            .unwrap();
        }
    }
    svg + "</svg>\n"
}

#[derive(PartialEq, Eq)]
struct Style {
    colour: vt100::Color,
    bold: bool,
    dim: bool,
    inverse: bool,
}

impl Style {
    fn of(cell: &vt100::Cell) -> Self {
        let (bold, dim, inverse) = (cell.bold(), cell.dim(), cell.inverse());
        Self { colour: cell.fgcolor(), bold, dim, inverse }
    }

    fn fill(&self) -> &'static str {
        match self.colour {
            vt100::Color::Idx(1 | 9) => "#f38ba8",
            vt100::Color::Idx(2 | 10) => "#a6e3a1",
            vt100::Color::Idx(3 | 11) => "#f9e2af",
            vt100::Color::Idx(4 | 12) => "#89b4fa",
            vt100::Color::Idx(5 | 13) => "#cba6f7",
            vt100::Color::Idx(6 | 14) => "#89dceb",
            _ if self.dim => "#9399b2",
            _ => "#cdd6f4",
        }
    }
}
