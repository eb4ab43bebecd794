//! The process that follows a run's venue, and takes its place when that is killed.

use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use taut_fix::Now;
use taut_sys::{Address, DatagramOptions, Socket, monotonic, utc};
use taut_venue::{FolderLock, Followed, JournalFollower, Standby};

use super::read_and_forget::ReadAndForget;
use super::venue::{JOURNAL, feed_output, listen, parts, run};
use crate::child::Parent;
use crate::control::{Order, Reply, VenuePorts, VenueSetup};
use crate::error::RunnerError;
use crate::service::{KeeperThread, when_free};
use crate::settings::Market;

/// How far behind the venue it is at the most.
const LOOK: Duration = Duration::from_millis(1);
/// Inputs that are executed before it listens to its parent.
const INPUTS: u64 = 1_000;

fn failed(error: impl std::fmt::Display) -> RunnerError {
    RunnerError::run("standby", error)
}

/// Follows the venue, and runs in its place from its end on, until the parent says that it is over.
pub fn play(setup: &VenueSetup, parent: &mut Parent) -> Result<(), RunnerError> {
    let Market::Simulator(simulator) = setup.common.settings.market()? else {
        return Err(failed("the venue runs elsewhere"));
    };
    let (Some(ports), Some(folder)) = (&setup.stands_by, &setup.journal) else {
        return Err(failed("it was not told whose"));
    };
    let follower = JournalFollower::open(folder, JOURNAL).map_err(failed)?;
    let follower = follower.ok_or_else(|| failed("the venue has no journal"))?;
    let (config, flow) = parts(setup, &simulator)?;
    let standby = Standby::new(&config, feed_output(setup)?, flow, follower).map_err(failed)?;
    let Some((standby, lock)) = follow(standby, folder, parent)? else { return Ok(()) };
    let (venue, keeper, _) = when_free(|| sockets(ports)).and_then(|(orders, requests)| {
        let requests = requests.map(Into::into);
        let now = Now { mono: monotonic(), utc: utc() };
        standby.take_over(lock, orders.into(), requests, now).map_err(failed)
    })?;
    let _keeper = KeeperThread::start(keeper);
    // Nothing is sent there any more.
    let mut venue = venue.with_observer(ReadAndForget::new(listen(0)?)).map_err(failed)?;
    let at = monotonic();
    venue.start_flow(at);
    parent.say(&Reply::TookOver { at: at.0 })?;
    run(venue, parent)
}

/// Executes what the venue writes down until it ends: then the lock of its journal is here. Nothing
/// where the run is over before.
fn follow(
    mut standby: Standby,
    folder: &Path,
    parent: &mut Parent,
) -> Result<Option<(Standby, FolderLock)>, RunnerError> {
    let (to, lock) = channel();
    let folder = folder.to_owned();
    // It sleeps until the venue ends, and ends with the process.
    thread::spawn(move || to.send(FolderLock::wait(&folder)));
    let mut is_level = false;
    loop {
        if let Some(Order::Exit) = parent.order()? {
            return Ok(None);
        }
        let now = Now { mono: monotonic(), utc: utc() };
        if standby.follow(now, INPUTS).map_err(failed)? != Followed::Level {
            continue;
        }
        if !std::mem::replace(&mut is_level, true) {
            parent.say(&Reply::Ready)?;
        }
        match lock.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(error) => return Err(failed(error)),
            Ok(lock) => return lock.map(|lock| Some((standby, lock))).map_err(failed),
        }
    }
}

/// Where the venue was reached.
fn sockets(ports: &VenuePorts) -> Result<(Socket, Option<Socket>), RunnerError> {
    let inet = |at: SocketAddrV4| Address::Inet(SocketAddr::V4(at));
    let orders = listen(ports.orders.port())?;
    let bind = |at| Socket::datagram(&inet(at), &DatagramOptions::default()).map_err(failed);
    Ok((orders, ports.requests.map(bind).transpose()?))
}
