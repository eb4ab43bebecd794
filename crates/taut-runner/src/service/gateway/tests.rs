//! A gateway in this process, whose strategy hangs when it is told to.

use std::os::unix::net::UnixDatagram;
use std::sync::Mutex;

use taut_gateway::Trading;
use taut_market_data::Event;
use taut_sync::atomic::{AtomicBool, Ordering};
use taut_testkit::{DEADLINE, Deadline, until};

use super::*;
use crate::service::client::ControlClient;
use crate::service::protocol::{ControlReply, ControlRequest};

/// A strategy that stays in its timer while it is told to hang.
struct Hangs<'t> {
    is_told: &'t AtomicBool,
    hangs: &'t AtomicBool,
}

impl Strategy for Hangs<'_> {
    fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}

    fn on_timer(&mut self, _: Nanos, _: &mut impl Trading) {
        let deadline = Deadline::default();
        while self.is_told.load(Ordering::Acquire) {
            self.hangs.store(true, Ordering::Release);
            deadline.check("the end of the hang", String::new);
            thread::yield_now();
        }
        self.hangs.store(false, Ordering::Release);
    }
}

/// Every datagram that waits.
fn heard(systemd: &UnixDatagram) -> Vec<String> {
    let mut buffer = [0; 256];
    let next = || {
        let length = systemd.recv(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
    };
    std::iter::from_fn(next).collect()
}

/// No wait for a time: the listening thread looks for signs of life in each of its rounds, and
/// answers a request between two of them.
fn rounds(client: &mut ControlClient, count: usize) {
    for _ in 0..count {
        let reply = client.ask(&ControlRequest::Stages).expect("a reply");
        assert!(matches!(reply, ControlReply::Stages(_)));
    }
}

#[test]
fn a_gateway_whose_trading_thread_hangs_gives_no_sign_of_life() {
    let folder = tempfile::tempdir().expect("a folder");
    let systemd = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
    systemd.set_nonblocking(true).expect("a socket");
    let [orders, incremental, snapshot] = std::array::from_fn(|_| taut_testkit::own_address());
    let control = folder.path().join("control");
    // Its venue is not there: that is no reason to give no sign of life.
    let text = format!(
        "name = \"own\"\ncontrol = {control:?}\nwait = \"block\"\n[venue]\norders = \"{orders}\"\n\
         incremental = \"{incremental}\"\nsnapshot = \"{snapshot}\"\n\
         sender_comp_id = \"GATEWAY\"\ntarget_comp_id = \"VENUE\"\n[[instruments]]\n\
         symbol = \"TAUT\"\n[[strategies]]\nname = \"hangs\"\nnumber = 1\n"
    );
    let file: GatewayFile = toml::from_str(&text).expect("a file");
    let manager = Manager::from_variables(|name| match name {
        "NOTIFY_SOCKET" => Some(folder.path().join("notify").into_os_string()),
        // Half of it is over whenever somebody looks.
        "WATCHDOG_USEC" => Some("1".into()),
        _ => None,
    });
    let (is_told, hangs) = (AtomicBool::new(false), AtomicBool::new(false));
    let lines = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            let owner = file.strategy("hangs").expect("a strategy").owner();
            let make = |_| Hangs { is_told: &is_told, hangs: &hangs };
            let heard = |entry: &Entry| lines.lock().expect("lines").push(entry.logfmt());
            start(&file, Some("hangs"), Fused { owner, make }, &heard, manager)
        });
        let told = Mutex::new(Vec::new());
        let has = |what: &str| {
            let mut told = told.lock().expect("what was told");
            told.extend(heard(&systemd));
            told.iter().any(|it: &String| it == what)
        };
        until("it is ready", DEADLINE, || running.is_finished() || has("READY=1"));
        assert!(!running.is_finished(), "{:?}", running.join());
        until("it lives", DEADLINE, || has("WATCHDOG=1"));
        let mut client =
            ControlClient::connect(&control.display().to_string()).expect("a connection");

        is_told.store(true, Ordering::Release);
        until("it hangs", DEADLINE, || hangs.load(Ordering::Acquire));
        // What was counted before is told at the most once more.
        rounds(&mut client, 3);
        let _ = heard(&systemd);
        rounds(&mut client, 20);
        assert_eq!(heard(&systemd), [""; 0]);

        is_told.store(false, Ordering::Release);
        until("it lives again", DEADLINE, || heard(&systemd).contains(&"WATCHDOG=1".to_owned()));
        let stopped = client.ask(&ControlRequest::Stop);
        assert!(matches!(stopped, Ok(ControlReply::Done)), "{stopped:?}");
        running.join().expect("no panic").expect("a good end");
        assert!(heard(&systemd).contains(&"STOPPING=1".to_owned()));
    });
    let lines = lines.into_inner().expect("lines").join("\n");
    for code in ["GW-0001", "GW-0104", "GW-0004"] {
        assert!(lines.contains(&format!("code={code} ")), "{code}: {lines}");
    }
}
