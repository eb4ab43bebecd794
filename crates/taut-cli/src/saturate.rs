//! `taut saturate`: how much a channel carries before latency or loss gives way.

mod arguments;
mod page;
mod search;

use serde_json::json;

pub use arguments::Arguments;

use crate::channel::arguments::channel;
use crate::exit::{Failure, catch_stop_signals};
use crate::saturate::search::Search;
use crate::terminal;
use taut_report::Watch;

/// Searches for the knee.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.check()?;
    channel(arguments.channel.as_deref())?;
    let text = arguments.channel.clone();
    let text = text.or_else(|| std::env::var(taut_channel::CHANNEL_VARIABLE).ok());
    let text = text.unwrap_or_default();
    catch_stop_signals()?;
    let watch = Watch::start();
    let found = Search::new(arguments, &text).run()?;
    let conditions = watch.finish();
    if let Some(path) = &arguments.out {
        std::fs::write(path, page::html(&text, &found, &conditions))
            .map_err(|error| Failure::run(&path.display().to_string(), error))?;
    }
    if arguments.json {
        terminal::print(json!({
            "channel": text, "size": arguments.size, "knee_msgs_per_s": found.knee,
            "gave_way": found.gave_way, "full_speed": found.full_speed,
            "steps": found.steps, "conditions": conditions,
        }))
    } else {
        terminal::print(page::text(&found, &conditions))
    }
}
