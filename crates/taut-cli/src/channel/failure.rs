//! What a channel that does not open means for a command.

use taut_channel::{ChannelError, ChannelUri};

use crate::exit::Failure;

/// Wrong use where the user asked for what the channel does not have; a failed run elsewhere.
pub fn opening(uri: &ChannelUri, error: &ChannelError) -> Failure {
    let text = format!("{uri}: {error}");
    match error {
        ChannelError::Unsupported { .. }
        | ChannelError::PathMtu { .. }
        | ChannelError::Exposed { .. }
        | ChannelError::File { .. } => Failure::Usage(text),
        _ => Failure::Run(text),
    }
}
