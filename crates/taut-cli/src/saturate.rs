//! `taut saturate`: how much a channel carries before latency or loss gives way.

mod arguments;
mod page;
mod search;

use serde_json::json;

pub use arguments::Arguments;

use crate::channel::arguments::channel;
use crate::exit::Failure;
use crate::saturate::search::{Search, Step};
use crate::terminal;

/// Searches for the knee.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.check()?;
    channel(arguments.channel.as_deref())?;
    let text = arguments.channel.clone();
    let text = text.or_else(|| std::env::var(taut_channel::CHANNEL_VARIABLE).ok());
    let text = text.unwrap_or_default();
    taut_sys::catch_stop_signals().map_err(|error| Failure::run("signals", error))?;
    let found = Search::new(arguments, &text).run()?;
    if let Some(path) = &arguments.out {
        std::fs::write(path, page::html(&text, &found))
            .map_err(|error| Failure::run(&path.display().to_string(), error))?;
    }
    let line = if arguments.json {
        json!({
            "channel": text, "size": arguments.size, "knee_msgs_per_s": found.knee,
            "gave_way": found.gave_way, "full_speed": found.full_speed.as_ref().map(Step::json),
            "steps": found.steps.iter().map(Step::json).collect::<Vec<_>>(),
        })
        .to_string()
    } else {
        page::table(&found)
    };
    terminal::print(line).map_err(|error| Failure::run("print", error))
}
