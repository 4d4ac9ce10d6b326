//! The arguments of the page.

use clap::Args;

use super::OriginArgs;

#[derive(Debug, Args)]
pub(crate) struct UiArgs {
    /// The port to listen on; 0 for a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Print the address and open no browser.
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Ask no server for anything: show what is approved and in folders.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Print the address as JSON, and open no browser.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) origins: OriginArgs,
}
