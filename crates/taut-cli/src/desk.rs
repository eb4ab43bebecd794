//! `taut desk`: the gateways of this machine, live, as a web page.

mod access;
mod board;
mod events;
mod history;
mod http;
mod lives;
mod page;
mod peer;
mod runs;
mod server;
mod tape;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use taut_io::{Admission, Completion, EpollKernel, Io, WaitStrategy};

use crate::event_loop;
use crate::exit::Failure;
use crate::listen::{self, listen_address};
use crate::observed::{Extent, Observed};
use crate::terminal;
use access::Access;
use board::Board;
use lives::{JournalOf, Lives, journal_of};
use runs::Runs;
use server::Server;

/// The listener, and the place for who comes next.
const SOURCES_MAX: usize = server::CONNECTIONS_MAX + 2;

/// Show the gateways of this machine as a web page, live: latencies, books, orders, positions.
///
/// The page, its figures and its plots come from this program alone and need no internet. It shows
/// every gateway of this user once a second, and finished runs beside each other. Whoever reaches
/// the address may look at orders and positions; where it is not one of this machine a file of
/// tokens and a certificate are needed, and with a control token the page has the kill switch. All
/// of it: docs/desk.md.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Where to listen; port 0 takes any, and it is printed which
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9465",
          value_parser = listen_address)]
    listen: SocketAddr,
    /// A gateway's name, or the path of its control socket; may be given several times [default:
    /// every gateway of this user]
    #[arg(long, value_name = "NAME")]
    gateway: Vec<String>,
    /// The folder with finished runs: each of its folders with a run.json is one
    #[arg(long, value_name = "DIR", default_value = "taut-out")]
    runs: PathBuf,
    /// A gateway's order journal: its orders are shown from their first request to their end; may
    /// be given several times
    #[arg(long, value_name = "GATEWAY=DIR", value_parser = journal_of)]
    journal: Vec<JournalOf>,
    /// Who may look and who may act: lines of `read TOKEN` or `control TOKEN`, in a file that only
    /// you may read
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Our certificate and what leads to its root, in PEM: then it is https://
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A name under which browsers reach it, beside its address and `localhost`; may be given
    /// several times
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
}

/// Shows.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let tls = listen::tls(arguments.tls_cert.as_deref(), arguments.tls_key.as_deref())?;
    let mut access = Access::new(&arguments.host, tls.is_some());
    if let Some(file) = &arguments.token_file {
        access.read_tokens(file)?;
    }
    if !arguments.listen.ip().is_loopback() && (tls.is_none() || !access.asks()) {
        return Err(Failure::Usage(format!(
            "--listen {}: others than this machine can reach it; give --token-file, --tls-cert and \
             --tls-key, or listen on 127.0.0.1 and come through a tunnel (ssh -L)",
            arguments.listen
        )));
    }
    let observed = Observed::new(&arguments.gateway, Extent::All);
    let (runs, lives) = (Runs::new(arguments.runs.clone()), Lives::new(&arguments.journal));
    let board = Board::new(observed, runs, lives);
    let mut events = event_loop::open(SOURCES_MAX)?;
    let admission = Admission::new(server::CONNECTIONS_MAX, peer::PATIENCE);
    let (_, address) = listen::listen(&mut events, arguments.listen, &admission)?;
    access.name_cookie(address.port());
    let scheme = if tls.is_some() { "https" } else { "http" };
    terminal::print(format_args!("{scheme}://{address}/"))?;
    let mut server = Server::new(access, tls, board, SOURCES_MAX);
    let mut handler =
        |io: &mut Io<EpollKernel>, completion: Completion<'_>| server.handle(io, &completion);
    event_loop::run(&mut events, &mut handler, WaitStrategy::Block)
}
