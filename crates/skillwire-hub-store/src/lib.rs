//! Keeps a hub: metadata in SQLite or PostgreSQL, blobs in a folder or an object store.
