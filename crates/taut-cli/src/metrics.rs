//! `taut metrics`: what gateways count, for Prometheus.

mod exposition;
mod gateway;
mod server;

use std::net::SocketAddr;

use clap::Args;
use taut_io::{Completion, EpollKernel, Io, WaitStrategy};
use taut_runner::service::ControlClient;
use taut_sys::{Address, StreamOptions};

use crate::event_loop;
use crate::exit::Failure;
use crate::listen::listen_address;
use crate::terminal;
use gateway::{Looked, told};
use server::Server;

/// Tell Prometheus what the gateways of this machine count, and how long each stage takes.
///
/// Answers `GET /metrics` in the text format, durations in seconds. Counters and durations are read
/// from the gateways' shared memory, and each scrape asks each gateway once how its sessions, books
/// and strategies are. Gateways that begin later are found; one that has ended is told as `taut_up
/// 0`. No key, order or position is told; whoever reaches the address can read the rest, so that it
/// is one of this machine unless you give another. Dashboards and alerts: docs/metrics.md.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Where to listen; port 0 takes any, and it is printed which
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9464",
          value_parser = listen_address)]
    listen: SocketAddr,
    /// A gateway's name, or the path of its control socket; may be given several times [default:
    /// every gateway of this user]
    #[arg(long, value_name = "NAME")]
    gateway: Vec<String>,
    /// Print the metrics once and end
    #[arg(long, conflicts_with = "listen")]
    once: bool,
}

/// Tells.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut looked = Vec::new();
    if arguments.once {
        let text = scrape(arguments, &mut looked);
        if looked.is_empty() {
            return Err(Failure::Run(
                "no gateway of this user runs; `--gateway` takes a name or the path of a control \
                 socket"
                    .to_owned(),
            ));
        }
        return terminal::print(text.trim_end());
    }
    let mut events = event_loop::open(server::SOURCES_MAX)?;
    let at = Address::Inet(arguments.listen);
    let listener = events.io().listen(&at, &StreamOptions::default(), &server::admission());
    let listener = listener
        .map_err(|error| Failure::run(&format!("cannot listen on {}", arguments.listen), error))?;
    let address = events.io().local_address(listener);
    let address = address.map_err(|error| Failure::run("the socket", error))?;
    terminal::print(format_args!("http://{address}/metrics"))?;
    let mut server = Server::new(|| scrape(arguments, &mut looked));
    let mut handler =
        |io: &mut Io<EpollKernel>, completion: Completion<'_>| server.handle(io, &completion);
    event_loop::run(&mut events, &mut handler, WaitStrategy::Block)
}

/// Looks at all gateways: those that were named, or all that there are by now.
fn scrape(arguments: &Arguments, looked: &mut Vec<Looked>) -> String {
    let names = match arguments.gateway.as_slice() {
        [] => ControlClient::running(),
        names => names.to_vec(),
    };
    for name in names {
        if looked.iter().all(|it| it.name() != name) {
            looked.push(Looked::new(name));
        }
    }
    looked.sort_by(|one, other| one.name().cmp(other.name()));
    let seen: Vec<_> = looked.iter_mut().map(Looked::look).collect();
    told(&seen)
}
