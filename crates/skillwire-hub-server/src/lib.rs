//! Serves a hub: skills over MCP, the API for publishing and deciding, and the well-known address.
