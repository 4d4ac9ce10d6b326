//! Finds what a skill would do: rules, decoders and parsers over its files, and the ledger of what it reaches out to.
