//! Fields of spans and events as attributes.

use std::fmt;

use skillwire_protocol::trace::{TRACE_PARENT, TraceParent};
use tracing::field::{Field, Visit};

use crate::record::{Attribute, AttributeValue};

/// The most bytes of one value; longer ones are cut.
const MAX_VALUE_BYTES: usize = 1_024;

/// The most attributes of one span or event.
const MAX_ATTRIBUTES: usize = 64;

/// The field that says that a span answers a request of another program.
const KIND: &str = "otel.kind";

/// What the fields of a span or event say.
#[derive(Debug, Default)]
pub(crate) struct FieldValues {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) message: String,
    pub(crate) client: Option<TraceParent>,
    pub(crate) is_server: bool,
}

impl FieldValues {
    fn add(&mut self, field: &Field, value: AttributeValue) {
        if self.attributes.len() < MAX_ATTRIBUTES {
            self.attributes.push(Attribute { key: field.name().to_owned(), value });
        }
    }

    fn add_text(&mut self, field: &Field, mut text: String) {
        text.truncate(text.floor_char_boundary(MAX_VALUE_BYTES));
        match field.name() {
            "message" => self.message = text,
            TRACE_PARENT => self.client = text.parse().ok(),
            KIND => self.is_server = text == "server",
            _ => self.add(field, AttributeValue::Text(text)),
        }
    }
}

impl Visit for FieldValues {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, AttributeValue::Integer(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, AttributeValue::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, AttributeValue::Flag(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add_text(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add_text(field, format!("{value:?}"));
    }
}
