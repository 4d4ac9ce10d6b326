//! Sends traces and lines of the log to a collector (OTLP over HTTP, as binary Protobuf).

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use skillwire_client::{Limits, RestClient};
use skillwire_otlp::{OtlpLayer, Resource, TelemetryQueue};
use tracing::{instrument::WithSubscriber as _, subscriber::NoSubscriber};

use crate::{
    exit::Exit, failure::Failure, report::printable, settings::telemetry::TelemetrySettings,
};

/// How long spans and lines wait to be sent together.
const PERIOD: Duration = Duration::from_secs(1);

/// The shortest time between two warnings about a collector that does not answer.
const WARNING_PAUSE: Duration = Duration::from_mins(1);

/// How long a collector may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends what is collected until it is dropped; the last batch is sent then.
#[derive(Debug)]
pub(crate) struct Telemetry {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Telemetry {
    /// Starts to send; the layer is for the subscriber of the program.
    pub(crate) fn start(settings: TelemetrySettings) -> Result<(OtlpLayer, Self), Failure> {
        let (layer, queue) = OtlpLayer::new(settings.sampling);
        let mut limits = Limits::default();
        limits.timeout = PATIENCE;
        let client = RestClient::new(&settings.endpoint, None, limits).map_err(|error| {
            Failure::usage("`OTEL_EXPORTER_OTLP_ENDPOINT` cannot be used.").because(error)
        })?;
        let (stop, stopped) = channel();
        let exporter = Exporter {
            client,
            headers: settings.headers,
            resource: settings.resource,
            queue,
            missing: 0,
            warned: None,
        };
        let no_thread = |error: std::io::Error| {
            Failure::new(Exit::Internal, "Threads could not be started.").because(error)
        };
        // A runtime of its own: the last batch is sent when that of the server has ended.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(no_thread)?;
        let thread = std::thread::Builder::new()
            .name("otlp".to_owned())
            .spawn(move || exporter.run(&runtime, &stopped))
            .map_err(no_thread)?;
        Ok((layer, Self { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // An error means that the thread panicked, which it has said by then.
            let _ = thread.join();
        }
    }
}

struct Exporter {
    client: RestClient,
    headers: Vec<(HeaderName, HeaderValue)>,
    resource: Resource,
    queue: TelemetryQueue,
    /// Spans and lines that were not sent since the last warning.
    missing: u64,
    warned: Option<Instant>,
}

impl Exporter {
    fn run(mut self, runtime: &tokio::runtime::Runtime, stopped: &Receiver<()>) {
        loop {
            let ended = stopped.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout);
            // What is reported about the sending of reports would never end.
            let exported = self.export().with_subscriber(NoSubscriber::default());
            let problem = runtime.block_on(exported);
            self.warn(problem);
            if ended {
                return;
            }
        }
    }

    /// Sends what was collected; returns why it could not be sent. It is not sent again: a collector
    /// that is away must not make the program hold more and more.
    async fn export(&mut self) -> Option<String> {
        let batch = self.queue.take();
        self.missing += batch.lost;
        let mut problem = None;
        if !batch.spans.is_empty() {
            let sent = self.send("/v1/traces", batch.traces(&self.resource)).await;
            self.note(sent, batch.spans.len(), &mut problem);
        }
        if !batch.logs.is_empty() {
            let sent = self.send("/v1/logs", batch.lines(&self.resource)).await;
            self.note(sent, batch.logs.len(), &mut problem);
        }
        problem
    }

    async fn send(&self, path: &str, body: Vec<u8>) -> Result<(), String> {
        let media_type = HeaderValue::from_static("application/x-protobuf");
        let mut headers = self.headers.clone();
        headers.push((header::CONTENT_TYPE, media_type));
        let sent = self.client.send(Method::POST, path, &headers, Bytes::from(body)).await;
        match sent.map(|response| response.status()) {
            Ok(status) if status.is_success() => Ok(()),
            Ok(status) => Err(format!("it answered with the status {}", status.as_u16())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn note(&mut self, sent: Result<(), String>, count: usize, problem: &mut Option<String>) {
        if let Err(reason) = sent {
            self.missing += count as u64;
            *problem = Some(reason);
        }
    }

    fn warn(&mut self, problem: Option<String>) {
        let is_due = self.warned.is_none_or(|warned| warned.elapsed() >= WARNING_PAUSE);
        if self.missing == 0 || !is_due {
            return;
        }
        let reason = problem.unwrap_or_else(|| "there were too many at once".to_owned());
        let (missing, reason) = (self.missing, printable(&reason));
        tracing::warn!(missing, "spans and lines could not be sent to the collector: {reason}");
        (self.missing, self.warned) = (0, Some(Instant::now()));
    }
}
