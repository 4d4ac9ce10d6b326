//! What was collected and not sent yet, within bounds.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::record::{LogRecord, SpanRecord, TelemetryBatch};

/// The most spans and the most lines that wait to be sent. Further ones are counted and left out.
const MOST_WAITING: usize = 4_096;

/// What waits to be sent; clones share it.
#[derive(Debug, Clone, Default)]
pub struct TelemetryQueue(Arc<Mutex<TelemetryBatch>>);

impl TelemetryQueue {
    /// Takes everything that waits.
    pub fn take(&self) -> TelemetryBatch {
        std::mem::take(&mut *self.0.lock())
    }

    pub(crate) fn add_span(&self, span: SpanRecord) {
        let batch = &mut *self.0.lock();
        if batch.spans.len() < MOST_WAITING {
            batch.spans.push(span);
        } else {
            batch.lost += 1;
        }
    }

    pub(crate) fn add_log(&self, log: LogRecord) {
        let batch = &mut *self.0.lock();
        if batch.logs.len() < MOST_WAITING {
            batch.logs.push(log);
        } else {
            batch.lost += 1;
        }
    }
}
