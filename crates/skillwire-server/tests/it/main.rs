//! The server on the wire, row by row.

mod declaration;
