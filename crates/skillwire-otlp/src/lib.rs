//! Collects the spans and events of a program, and writes them in the protocol of OpenTelemetry (OTLP).
//!
//! This crate never knows HTTP, the environment, or where a collector is: [`OtlpLayer`] collects,
//! [`TelemetryBatch`] is what a program sends, as binary Protobuf over HTTP. Only spans and events of
//! this project are collected.
//!
//! ```
//! use skillwire_otlp::{OtlpLayer, Resource, Sampling};
//! use tracing_subscriber::{layer::SubscriberExt as _, registry};
//!
//! let (layer, batches) = OtlpLayer::new(Sampling::default());
//! tracing::subscriber::with_default(registry().with(layer), || {
//!     tracing::info_span!(target: "skillwire", "read").in_scope(|| ());
//! });
//! let batch = batches.take();
//! assert_eq!(batch.spans.len(), 1);
//! assert!(!batch.traces(&Resource::new("example", "1.0.0")).is_empty());
//! ```

mod encode;
mod fields;
mod layer;
mod protobuf;
mod queue;
mod record;

pub use self::{
    layer::OtlpLayer,
    queue::TelemetryQueue,
    record::{
        Attribute, AttributeValue, LogRecord, Resource, Sampling, SpanRecord, TelemetryBatch,
    },
};
