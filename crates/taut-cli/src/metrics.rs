//! `taut metrics`: what gateways count, for Prometheus.

mod exposition;
mod gateway;
mod server;

use std::net::SocketAddr;

use clap::Args;
use taut_io::{Completion, EpollKernel, Io, WaitStrategy};

use crate::event_loop;
use crate::exit::Failure;
use crate::listen::{self, listen_address};
use crate::observed::{Extent, Observed};
use crate::terminal;
use gateway::told;
use server::Server;

/// Tell Prometheus what the gateways of this machine count, and how long each stage takes.
///
/// Answers `GET /metrics` in the text format, durations in seconds. Counters and durations are read
/// from the gateways' shared memory, and each scrape asks each gateway once how its sessions, books
/// and strategies are; one that hangs keeps a scrape for 300 ms at most. Gateways that begin later
/// are found; one that has ended is told as `taut_up 0`, for ten minutes unless it was named. No
/// key, order or position is told; whoever reaches the address can read the rest, so that it is one
/// of this machine unless you give another. Dashboards and alerts: docs/metrics.md.
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
    let mut observed = Observed::new(&arguments.gateway, Extent::Totals);
    if arguments.once {
        observed.look_patiently();
        let text = told(observed.seen());
        if observed.seen().next().is_none() {
            return Err(Failure::Run(
                "no gateway of this user runs; `--gateway` takes a name or the path of a control \
                 socket"
                    .to_owned(),
            ));
        }
        return terminal::print(text.trim_end());
    }
    let mut events = event_loop::open(server::SOURCES_MAX)?;
    let (_, address) = listen::listen(&mut events, arguments.listen, &server::admission())?;
    terminal::print(format_args!("http://{address}/metrics"))?;
    let mut server = Server::new(|| scrape(&mut observed));
    let mut handler =
        |io: &mut Io<EpollKernel>, completion: Completion<'_>| server.handle(io, &completion);
    event_loop::run(&mut events, &mut handler, WaitStrategy::Block)
}

/// Looks at all gateways: those that were named, or all that there are by now.
fn scrape(observed: &mut Observed) -> String {
    observed.look();
    told(observed.seen())
}
