//! Batches as messages of OTLP (opentelemetry-proto 1.x), whose numbers of fields are noted here.

use std::time::{SystemTime, UNIX_EPOCH};

use tracing::Level;

use crate::{
    protobuf::MessageWriter,
    record::{Attribute, AttributeValue, LogRecord, Resource, SpanRecord, TelemetryBatch},
};

/// `SPAN_KIND_INTERNAL`, and `SPAN_KIND_SERVER`.
const KINDS: [i64; 2] = [1, 2];

/// `STATUS_CODE_ERROR`.
const FAILED: i64 = 2;

impl TelemetryBatch {
    /// Writes the spans as an `ExportTraceServiceRequest`, for `/v1/traces`.
    pub fn traces(&self, resource: &Resource) -> Vec<u8> {
        // resource_spans = 1: resource = 1, scope_spans = 2: scope = 1, spans = 2.
        scoped(resource, |scope| {
            for span in &self.spans {
                scope.message(2, |message| write_span(message, span));
            }
        })
    }

    /// Writes the lines as an `ExportLogsServiceRequest`, for `/v1/logs`.
    pub fn lines(&self, resource: &Resource) -> Vec<u8> {
        // resource_logs = 1: resource = 1, scope_logs = 2: scope = 1, log_records = 2.
        scoped(resource, |scope| {
            for log in &self.logs {
                scope.message(2, |message| write_log(message, log));
            }
        })
    }

    /// Tells whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.logs.is_empty()
    }
}

fn scoped(resource: &Resource, write: impl FnOnce(&mut MessageWriter)) -> Vec<u8> {
    let mut request = MessageWriter::default();
    request.message(1, |of_resource| {
        of_resource.message(1, |message| {
            for (key, value) in &resource.0 {
                let value = AttributeValue::Text(value.clone());
                write_attribute(message, 1, &Attribute { key: key.clone(), value });
            }
        });
        of_resource.message(2, |scope| {
            scope.message(1, |message| message.text(1, "skillwire"));
            write(scope);
        });
    });
    request.finish()
}

fn write_span(message: &mut MessageWriter, span: &SpanRecord) {
    message.bytes(1, &span.trace.to_be_bytes());
    message.bytes(2, &span.id.to_be_bytes());
    if let Some(parent) = span.parent {
        message.bytes(4, &parent.to_be_bytes());
    }
    message.text(5, &span.name);
    message.integer(6, KINDS[usize::from(span.is_server)]);
    message.fixed_64(7, nanos(span.start));
    message.fixed_64(8, nanos(span.end));
    for attribute in &span.attributes {
        write_attribute(message, 9, attribute);
    }
    if span.failed {
        message.message(15, |status| status.integer(3, FAILED));
    }
}

fn write_log(message: &mut MessageWriter, log: &LogRecord) {
    let (number, name) = match log.level {
        Level::ERROR => (17, "ERROR"),
        Level::WARN => (13, "WARN"),
        Level::INFO => (9, "INFO"),
        Level::DEBUG => (5, "DEBUG"),
        Level::TRACE => (1, "TRACE"),
    };
    message.fixed_64(1, nanos(log.time));
    message.integer(2, number);
    message.text(3, name);
    message.message(5, |body| body.text(1, &log.body));
    for attribute in &log.attributes {
        write_attribute(message, 6, attribute);
    }
    if let Some((trace, span)) = log.within {
        message.fixed_32(8, 1);
        message.bytes(9, &trace.to_be_bytes());
        message.bytes(10, &span.to_be_bytes());
    }
    message.fixed_64(11, nanos(log.time));
}

fn write_attribute(message: &mut MessageWriter, field: u64, attribute: &Attribute) {
    message.message(field, |pair| {
        pair.text(1, &attribute.key);
        pair.message(2, |value| match &attribute.value {
            AttributeValue::Text(text) => value.text(1, text),
            AttributeValue::Flag(flag) => value.integer(2, i64::from(*flag)),
            AttributeValue::Integer(number) => value.integer(3, *number),
        });
    });
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
