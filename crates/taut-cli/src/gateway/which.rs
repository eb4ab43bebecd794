//! Which gateway is meant.

use clap::Args;

/// Which gateway.
#[derive(Args, Clone, Debug)]
pub struct Which {
    /// The gateway's name, or the path of its control socket
    #[arg(long, value_name = "NAME", default_value = "taut")]
    pub gateway: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
