//! What a kill of ten thousand open orders takes, over a real connection and into a real journal:
//!
//! `cargo test --release -p taut-gateway ten_thousand_cancels_in_time -- --ignored --nocapture`

use std::thread;

use taut_journal::{Journal, Settings};
use taut_oms::{KillCause, KillScope};
use taut_sys::monotonic;

use super::*;

const ORDERS: u64 = 10_000;
/// Of the gateway's time.
const MILLISECONDS_MAX: f64 = 10.0;
const RUNS: usize = 9;

/// The venue reads, and counts the cancels.
fn read(mut line: TcpStream) {
    let (mut cancels, mut bytes, mut kept) = (0, vec![0; 256 * 1024], 0);
    while cancels < ORDERS {
        let read = line.read(&mut bytes[kept..]).unwrap();
        assert!(read > 0, "closed after {cancels} cancels");
        let filled = &bytes[..kept + read];
        cancels += filled.windows(6).filter(|it| it == b"\x0135=F\x01").count() as u64;
        // A field that is cut.
        kept = filled.len().min(5);
        let start = filled.len() - kept;
        bytes.copy_within(start..start + kept, 0);
    }
}

/// Milliseconds in the gateway, until the last cancel was the kernel's; system calls. One by one
/// shows what a system call for each would take.
fn run(one_by_one: bool) -> (f64, f64, u64) {
    let segment = Segment::create("kill", &Regions::LAYOUT).unwrap();
    let mut pair = Pair::with_room(&segment, instrument(1), 2 * ORDERS as usize);
    let folder = tempfile::tempdir().unwrap();
    let Journal { writer, recovered, mut housekeeper } =
        Journal::open(folder.path(), Settings::default()).unwrap();
    housekeeper.turn().unwrap();
    pair.orders.resume(writer, &recovered.state, NOW.utc).unwrap();
    (1..=ORDERS).for_each(|number| pair.order(number, 10));
    let Pair { events, orders, line, told, .. } = &mut pair;
    let venue = line.try_clone().unwrap();
    let venue = thread::spawn(|| read(venue));
    let (start, calls) = (monotonic(), events.io().calls().io);
    orders.kill_switch_mut().kill(KillScope::All, KillCause::Command);
    if one_by_one {
        for number in 1..=ORDERS {
            told.extend(orders.send_cancel(events.io(), &clock(), ClientOrderId(number)));
        }
    }
    while let Some(scope) = orders.poll_killed(NOW.utc) {
        orders.cancel_all(events.io(), &clock(), &scope.into(), told);
    }
    let mut busy = monotonic() - start;
    until("all cancels to be the kernel's", DEADLINE, || {
        let stream = orders.stream.unwrap();
        let is_sent = events.io().unsent_bytes(stream).unwrap() == 0;
        if is_sent && orders.waiting_cancels() == 0 {
            return true;
        }
        let turn = monotonic();
        events.poll(&mut |_: &mut Io<EpollKernel>, _: Completion<'_>| {}).unwrap();
        orders.handle_timeout(events.io(), &clock(), told);
        busy = busy + (monotonic() - turn);
        false
    });
    let (whole, calls) = (monotonic() - start, events.io().calls().io - calls);
    venue.join().unwrap();
    assert!(one_by_one || (orders.disconnects(), told.len()) == (0, 0));
    let milliseconds = |span: Nanos| span.0 as f64 / 1e6;
    (milliseconds(busy), milliseconds(whole), calls)
}

#[test]
#[ignore = "a measurement: in a release build, on a machine that is quiet"]
fn ten_thousand_cancels_in_time() {
    let (busy, whole, calls) = run(true);
    println!("one by one: {busy:6.2} ms of the gateway, {whole:6.2} ms in all, {calls} calls");
    let mut runs: Vec<_> = (0..RUNS).map(|_| run(false)).collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (busy, whole, calls) in &runs {
        println!("{busy:6.2} ms of the gateway, {whole:6.2} ms in all, {calls} system calls");
    }
    let median = runs[RUNS / 2].0;
    assert!(median < MILLISECONDS_MAX, "{median} ms");
}
