//! The access log: one line for each request, to a file or to standard error.
//!
//! A thread of its own writes the lines, so that a slow disk delays no request. If it cannot keep up,
//! lines are left out and counted.

use std::{
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, SystemTime},
};

use serde_json::{Map, Value, json};
use skillwire_server::http::{AccessLog, AccessRecord};

use crate::{
    args::LogFormat,
    exit::Exit,
    failure::Failure,
    report::printable,
    settings::operating::{AccessLogSettings, LogPlace},
};

/// The most lines that wait to be written.
const MOST_WAITING: usize = 8_192;

/// How long the end of the program waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Writes the access log of a running server.
#[derive(Debug)]
pub(crate) struct AccessLogWriter {
    format: LogFormat,
    /// One of so many requests is recorded; 0 records none.
    one_in: AtomicU32,
    seen: AtomicU64,
    lost: AtomicU64,
    lines: SyncSender<LogTask>,
    /// Where the thread writes next, until it takes it over.
    next: Arc<Mutex<NextWriter>>,
}

/// The writer that replaces the one of now, if there is one.
#[derive(Default)]
struct NextWriter(Option<Box<dyn Write + Send>>);

impl std::fmt::Debug for NextWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NextWriter").field(&self.0.is_some()).finish()
    }
}

enum LogTask {
    Line(String),
    Finish(SyncSender<()>),
}

/// Where lines go from now on: opened, and not used yet.
pub(crate) struct OpenedLog {
    one_in: u32,
    writer: Option<Box<dyn Write + Send>>,
}

impl AccessLogWriter {
    /// Starts the thread; nothing is recorded yet.
    pub(crate) fn start(format: LogFormat) -> Result<Arc<Self>, Failure> {
        let (lines, tasks) = sync_channel(MOST_WAITING);
        let next = Arc::<Mutex<NextWriter>>::default();
        let taken = Arc::clone(&next);
        let _: JoinHandle<()> = std::thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || write_lines(&tasks, &taken))
            .map_err(|error| {
                Failure::new(Exit::Internal, "Threads could not be started.").because(error)
            })?;
        Ok(Arc::new(Self {
            format,
            one_in: AtomicU32::new(0),
            seen: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            lines,
            next,
        }))
    }

    /// Opens the place that settings name; a file is made anew if it was moved away.
    pub(crate) fn open(settings: &AccessLogSettings) -> Result<OpenedLog, Failure> {
        let writer: Option<Box<dyn Write + Send>> = match &settings.place {
            LogPlace::Off => None,
            LogPlace::Stderr => Some(Box::new(io::stderr())),
            LogPlace::File(path) => Some(Box::new(BufWriter::new(open_file(path)?))),
        };
        let one_in = if writer.is_some() { settings.one_in } else { 0 };
        Ok(OpenedLog { one_in, writer })
    }

    /// Writes to another place from the next line on; never waits for the thread.
    pub(crate) fn replace(&self, opened: OpenedLog) {
        if let Some(writer) = opened.writer {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            next.0 = Some(writer);
        }
        self.one_in.store(opened.one_in, Ordering::Relaxed);
    }

    /// Waits until everything is written, but not for a disk that hangs.
    pub(crate) fn finish(&self) {
        self.one_in.store(0, Ordering::Relaxed);
        let (done, is_done) = sync_channel(1);
        if self.lines.try_send(LogTask::Finish(done)).is_ok() {
            // An error means that the disk hangs, or that the thread is gone with everything that waits.
            let _ = is_done.recv_timeout(LAST_LINES);
        }
    }
}

impl AccessLog for AccessLogWriter {
    fn wants(&self) -> bool {
        match self.one_in.load(Ordering::Relaxed) {
            0 => false,
            1 => true,
            share => self.seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(u64::from(share)),
        }
    }

    fn record(&self, record: &AccessRecord<'_>) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let line = line(self.format, record, SystemTime::now(), lost);
        if let Err(TrySendError::Full(_)) = self.lines.try_send(LogTask::Line(line)) {
            self.lost.fetch_add(lost + 1, Ordering::Relaxed);
        }
    }
}

fn open_file(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // The log names callers and what they read.
        options.mode(0o640);
    }
    options.open(path).map_err(|error| {
        Failure::usage(format!("The access log `{}` cannot be written.", path.display()))
            .because(error)
            .hint("Name a file in a folder that exists.")
    })
}

fn write_lines(tasks: &Receiver<LogTask>, next: &Mutex<NextWriter>) {
    let mut writer: Box<dyn Write + Send> = Box::new(io::sink());
    while let Ok(mut task) = tasks.recv() {
        loop {
            if let Some(other) = next.lock().unwrap_or_else(PoisonError::into_inner).0.take() {
                let _ = writer.flush();
                writer = other;
            }
            // A log that cannot be written must not end the server.
            match task {
                LogTask::Line(line) => {
                    let _ = writer.write_all(line.as_bytes());
                }
                LogTask::Finish(done) => {
                    let _ = writer.flush();
                    let _ = done.send(());
                }
            }
            match tasks.try_recv() {
                Ok(next) => task = next,
                Err(_) => break,
            }
        }
        let _ = writer.flush();
    }
}

/// Writes a record as one line. The JSON has the form of all other lines of the log.
fn line(format: LogFormat, record: &AccessRecord<'_>, now: SystemTime, lost: u64) -> String {
    let fields = fields(record, lost);
    let time = humantime::format_rfc3339_micros(now);
    match format {
        LogFormat::Json => {
            let line = json!({ "timestamp": time.to_string(), "level": "INFO", "fields": fields });
            format!("{line}\n")
        }
        LogFormat::Text => {
            let mut line = time.to_string();
            for (key, value) in &fields {
                // Trust boundary: clients choose URIs and names, which must not look like other fields.
                let text = match value {
                    Value::String(text) if is_plain(text) => text.clone(),
                    Value::String(text) => Value::from(printable(text)).to_string(),
                    other => other.to_string(),
                };
                // Writing to a string cannot fail.
                let _ = write!(line, " {key}={text}");
            }
            line.push('\n');
            line
        }
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'='))
}

fn fields(record: &AccessRecord<'_>, lost: u64) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut add = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(key.to_owned(), value);
        }
    };
    add("message", Some("request".into()));
    add("caller", record.caller.map(Value::from));
    add("peer", record.peer.map(|peer| peer.to_string().into()));
    add("mount", Some(record.mount.into()));
    add("method", Some(record.method.into()));
    add("uri", record.uri.map(Value::from));
    add("name", record.name.map(Value::from));
    add("content", record.content.as_ref().map(|content| content.to_string().into()));
    add("decision", Some(record.decision.as_str().into()));
    add("status", Some(record.status.into()));
    add("code", Some(record.code.into()));
    add("outcome", Some(skillwire_server::metrics::outcome(record.code).into()));
    let micros = u64::try_from(record.took.as_micros()).unwrap_or(u64::MAX);
    add("took_us", Some(micros.into()));
    add("trace", record.trace.map(|trace| format!("{:032x}", trace.trace()).into()));
    add("lost", (lost > 0).then(|| lost.into()));
    fields
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_line_is_one_line_whatever_a_client_writes() {
        let mut record = AccessRecord::new("/mcp", "tools/call", 200, Duration::from_micros(42));
        record.uri = Some("skill://a\n200 OK caller=root");
        record.caller = Some("ci");
        let text = line(LogFormat::Text, &record, UNIX_EPOCH, 3);
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(
            text.starts_with("1970-01-01T00:00:00.000000Z message=request caller=ci"),
            "{text}"
        );
        assert!(text.contains("took_us=42 lost=3"), "{text}");
        let parsed: Value =
            serde_json::from_str(&line(LogFormat::Json, &record, UNIX_EPOCH, 0)).unwrap();
        assert_eq!(parsed["fields"]["uri"], "skill://a\n200 OK caller=root");
        assert_eq!((&parsed["level"], &parsed["fields"]["lost"]), (&"INFO".into(), &Value::Null));
    }

    #[test]
    fn one_of_so_many_requests_is_recorded() {
        let log = AccessLogWriter::start(LogFormat::Text).unwrap();
        assert!(!log.wants());
        log.replace(OpenedLog { one_in: 10, writer: Some(Box::new(io::sink())) });
        assert_eq!((0..1_000).filter(|_| log.wants()).count(), 100);
        log.finish();
        assert!(!log.wants());
    }
}
