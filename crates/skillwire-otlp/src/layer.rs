//! Collects spans and events while a program runs.

use std::time::SystemTime;

use skillwire_protocol::trace::TraceParent;
use tracing::{
    Event, Level, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    layer::{Context, Layer},
    registry::LookupSpan,
};

use crate::{
    fields::FieldValues,
    queue::TelemetryQueue,
    record::{LogRecord, Sampling, SpanRecord},
};

/// The beginning of the names of our own modules. Those below, such as an HTTP stack, say too much, and
/// would report the sending of reports.
const OWN: &str = "skillwire";

/// Collects spans and events of this project.
#[derive(Debug)]
pub struct OtlpLayer {
    queue: TelemetryQueue,
    sampling: Sampling,
}

/// A span that goes on.
struct OpenSpan {
    trace: u128,
    id: u64,
    parent: Option<u64>,
    start: SystemTime,
    fields: FieldValues,
    taken: bool,
    failed: bool,
}

impl OtlpLayer {
    /// Creates the layer, and the queue of what it collects.
    pub fn new(sampling: Sampling) -> (Self, TelemetryQueue) {
        let queue = TelemetryQueue::default();
        (Self { queue: queue.clone(), sampling }, queue)
    }

    /// Tells whether a span or event is collected: spans up to `debug`, events up to `info`.
    pub fn wants(metadata: &Metadata<'_>) -> bool {
        let most = if metadata.is_span() { Level::DEBUG } else { Level::INFO };
        metadata.target().starts_with(OWN) && *metadata.level() <= most
    }

    fn open(&self, fields: FieldValues, around: Option<&OpenSpan>) -> OpenSpan {
        // Ids are never 0.
        let mut span = OpenSpan {
            trace: u128::from_le_bytes(random()).max(1),
            id: u64::from_le_bytes(random()).max(1),
            parent: None,
            start: SystemTime::now(),
            taken: false,
            failed: false,
            fields,
        };
        match around {
            Some(around) => {
                (span.trace, span.parent) = (around.trace, Some(around.id));
                span.taken = around.taken;
            }
            None => self.begin_trace(&mut span),
        }
        span
    }

    /// Takes over the trace of a client, if the fields name one.
    fn begin_trace(&self, span: &mut OpenSpan) {
        let client = span.fields.client;
        if let Some(client) = &client {
            (span.trace, span.parent) = (client.trace(), Some(client.span()));
        }
        span.taken = self.sampling.takes(span.trace, client.as_ref());
    }
}

impl<S> Layer<S> for OtlpLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !Self::wants(attributes.metadata()) {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let mut fields = FieldValues::default();
        attributes.record(&mut fields);
        let around = span.scope().skip(1).find(|it| it.extensions().get::<OpenSpan>().is_some());
        let around = around.as_ref().map(|span| span.extensions());
        let open = self.open(fields, around.as_ref().and_then(|it| it.get::<OpenSpan>()));
        drop(around);
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let Some(open) = extensions.get_mut::<OpenSpan>() else { return };
        let known: Option<TraceParent> = open.fields.client;
        values.record(&mut open.fields);
        // The metadata of a message is read after its span began. Only the outermost span takes it over.
        if open.fields.client != known && open.parent == known.map(|client| client.span()) {
            self.begin_trace(open);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if !Self::wants(event.metadata()) {
            return;
        }
        let level = *event.metadata().level();
        let mut fields = FieldValues::default();
        event.record(&mut fields);
        let spans = context.event_scope(event);
        let within = spans.and_then(|mut spans| {
            spans.find_map(|span| {
                let mut extensions = span.extensions_mut();
                let open = extensions.get_mut::<OpenSpan>()?;
                open.failed |= level == Level::ERROR;
                Some((open.trace, open.id))
            })
        });
        let FieldValues { message: body, attributes, .. } = fields;
        let time = SystemTime::now();
        self.queue.add_log(LogRecord { time, level, body, attributes, within });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(open) = span.extensions_mut().remove::<OpenSpan>() else { return };
        if !open.taken {
            return;
        }
        self.queue.add_span(SpanRecord {
            trace: open.trace,
            id: open.id,
            parent: open.parent,
            name: span.name().to_owned(),
            is_server: open.fields.is_server,
            start: open.start,
            end: SystemTime::now(),
            attributes: open.fields.attributes,
            failed: open.failed,
        });
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without random numbers all ids are equal: traces are mixed up then, and nothing else depends on them.
    let _ = getrandom::fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::{layer::SubscriberExt as _, registry};

    use super::*;
    use crate::record::{Attribute, AttributeValue, TelemetryBatch};

    const CLIENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn collected(sampling: Sampling, work: impl FnOnce()) -> TelemetryBatch {
        let (layer, queue) = OtlpLayer::new(sampling);
        tracing::subscriber::with_default(registry().with(layer), work);
        queue.take()
    }

    #[test]
    fn a_request_joins_the_trace_of_its_client_and_spans_inside_join_the_request() {
        let batch = collected(Sampling::default(), || {
            let request = tracing::debug_span!(
                target: "skillwire", "request", otel.kind = "server", traceparent = tracing::field::Empty, status = 200
            );
            request.record("traceparent", CLIENT);
            let _entered = request.enter();
            tracing::info_span!(target: "skillwire", "inside", traceparent = "00-x").in_scope(
                || {
                    tracing::error!(target: "skillwire", uri = "skill://a", "it failed");
                },
            );
            tracing::info_span!(target: "hyper", "other").in_scope(|| ());
        });
        let [inside, request] = &batch.spans[..] else { panic!("{batch:?}") };
        assert_eq!(request.trace, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!((request.parent, request.is_server), (Some(0x00f0_67aa_0ba9_02b7), true));
        let status = Attribute { key: "status".to_owned(), value: AttributeValue::Integer(200) };
        assert_eq!(request.attributes, [status]);
        assert_eq!((inside.trace, inside.parent), (request.trace, Some(request.id)));
        assert!(inside.failed && !request.failed);
        let [log] = &batch.logs[..] else { panic!("{batch:?}") };
        assert_eq!((log.body.as_str(), log.level), ("it failed", Level::ERROR));
        assert_eq!(log.within, Some((inside.trace, inside.id)));
    }

    #[test]
    fn what_a_client_does_not_collect_is_left_out_and_shares_are_kept() {
        let spans = |sampling: Sampling, client: &str| {
            let work = || {
                for _ in 0..400 {
                    tracing::info_span!(target: "skillwire", "a", traceparent = client)
                        .in_scope(|| ());
                }
            };
            collected(sampling, work).spans.len()
        };
        assert_eq!(spans(Sampling::default(), &CLIENT.replace("-01", "-00")), 0);
        assert_eq!(spans(Sampling { share: 0.0, follows_client: true }, CLIENT), 400);
        assert_eq!(spans(Sampling { share: 0.0, follows_client: false }, CLIENT), 0);
        let half = spans(Sampling { share: 0.5, follows_client: true }, "");
        assert!((100..300).contains(&half), "{half}");
    }

    #[test]
    fn what_waits_is_bounded() {
        let batch = collected(Sampling::default(), || {
            for _ in 0..5_000 {
                tracing::info!(target: "skillwire", "line");
            }
        });
        assert_eq!((batch.logs.len(), batch.lost), (4_096, 904));
    }
}
