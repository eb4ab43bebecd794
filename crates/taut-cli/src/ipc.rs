//! `taut ipc`: what channels there are, what they do, and removing what nobody uses.
//!
//! Everything but `prune` maps a channel read-only: it cannot disturb its users.

mod json;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use taut_ipc::{Channel, ChannelOptions, IpcError, channels, is_used, prune};
use taut_sys::{Access, MemoryOptions};

use crate::exit::Failure;
use crate::terminal::{print, tell};

/// Look at the shared-memory channels of this machine.
#[derive(Subcommand, Debug)]
pub enum Ipc {
    /// List the channels with their size, owner and streams.
    List(Listing),
    /// Show a channel's streams: writer, positions, readers, lag, losses.
    Stat(Stat),
    /// Print the messages of a stream as they come, until interrupted.
    Tail(Messages),
    /// Print the messages that a stream holds.
    Dump(Messages),
    /// Remove the channels that no process uses.
    Prune(Where),
}

/// Where channels live.
#[derive(Args, Debug)]
pub struct Where {
    /// The directory of the channels.
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
}

/// A channel.
#[derive(Args, Debug)]
pub struct Named {
    /// The channel, such as `ipc:market-data`.
    name: String,
    #[command(flatten)]
    at: Where,
}

/// The channels of a directory.
#[derive(Args, Debug)]
pub struct Listing {
    #[command(flatten)]
    at: Where,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
}

/// A channel, in detail.
#[derive(Args, Debug)]
pub struct Stat {
    #[command(flatten)]
    channel: Named,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Messages of a channel.
#[derive(Args, Debug)]
pub struct Messages {
    #[command(flatten)]
    channel: Named,
    /// The stream; the first one when it is not given.
    #[arg(long)]
    stream: Option<String>,
}

impl Where {
    /// Refuses what is no directory.
    fn check(&self) -> Result<(), Failure> {
        std::fs::read_dir(&self.dir).map(drop).map_err(|error| {
            let dir = self.dir.display();
            Failure::Usage(format!("--dir {dir}: cannot read it ({error}); name a directory"))
        })
    }

    fn options(&self) -> ChannelOptions {
        let memory = MemoryOptions::default();
        ChannelOptions { directory: self.dir.clone(), memory, ..ChannelOptions::default() }
    }
}

impl Named {
    fn open(&self) -> Result<Channel, Failure> {
        self.at.check()?;
        Channel::open(&self.name, Access::Read, &self.at.options()).map_err(|error| {
            let text = format!("channel '{}': {error}", self.name);
            if error == IpcError::Name { Failure::Usage(text) } else { Failure::Run(text) }
        })
    }
}

/// Does it.
pub fn run(what: &Ipc) -> Result<(), Failure> {
    match what {
        Ipc::List(listing) => list(listing),
        Ipc::Stat(Stat { channel, json: false }) => show::stat(&channel.open()?),
        Ipc::Stat(Stat { channel, json: true }) => print(json::stat(&channel.open()?)?),
        Ipc::Tail(messages) => show::messages(&messages.channel.open()?, messages.stream(), true),
        Ipc::Dump(messages) => show::messages(&messages.channel.open()?, messages.stream(), false),
        Ipc::Prune(at) => prune_all(at),
    }
}

impl Messages {
    fn stream(&self) -> Option<&str> {
        self.stream.as_deref()
    }
}

fn names(at: &Where) -> Result<Vec<String>, Failure> {
    at.check()?;
    channels(&at.dir).map_err(|error| Failure::run(&at.dir.display().to_string(), error))
}

fn list(listing: &Listing) -> Result<(), Failure> {
    let Listing { at, json } = listing;
    let mut channels = Vec::new();
    let names_now = names(at)?;
    if names_now.is_empty() && !*json {
        none(at);
    }
    for name in names_now {
        let opened = Channel::open(&name, Access::Read, &at.options());
        // It may have gone since its name was read.
        if matches!(opened, Err(IpcError::NotFound)) && !names(at)?.contains(&name) {
            continue;
        }
        let used = is_used(&name, &at.options()).unwrap_or(true);
        if *json {
            channels.push(json::listed(&name, &opened, used));
        } else {
            print(show::listed(&name, &opened, used))?;
        }
    }
    if *json { print(json!({ "channels": channels })) } else { Ok(()) }
}

/// Nothing to list: on standard error, so that a list of nothing stays one.
fn none(at: &Where) {
    tell(format_args!("{}: no channels", at.dir.display()));
}

fn prune_all(at: &Where) -> Result<(), Failure> {
    let mut failed = false;
    let names = names(at)?;
    if names.is_empty() {
        none(at);
    }
    for name in names {
        match prune(&name, &at.options()) {
            Ok(true) => print(format_args!("{name}  removed"))?,
            Ok(false) => print(format_args!("{name}  in use"))?,
            Err(error) => {
                failed = true;
                tell(format_args!("{name}  {error}"));
            }
        }
    }
    if failed { Err(Failure::Told) } else { Ok(()) }
}
