//! Clients over TLS.

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::rc::Rc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use taut_fix::{CompId, Event, OrdStatus, OrderFlow, Received, Role, SessionConfig};
use taut_fix_engine::{Application, Initiator, Outbox, SessionSettings, TlsNames, TlsSettings};
use taut_io::{Completion, EpollKernel, EventLoop, Io, LoopConfig};
use taut_net::TlsClientConfig;
use taut_sys::{Address, Socket, StreamOptions, monotonic, utc};
use taut_testkit::Deadline;
use taut_types::{Nanos, Side};

use crate::tests::client::limit;
use crate::tests::rig::{Rig, config, drain};
use crate::{FixVersion, Flow, Now, TlsServerConfig};

/// Sends an order when it is logged on, and keeps what becomes of it.
#[derive(Clone, Default)]
struct Trader(Rc<RefCell<Vec<OrdStatus>>>);

impl Application for Trader {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        match event {
            Event::LoggedOn => {
                outbox.send_message(&limit(1, Side::Buy, 1, "100.00")).expect("it is logged on");
            }
            Event::Application { .. } => match message.order_flow() {
                Ok(OrderFlow::ExecutionReport(report)) => {
                    self.0.borrow_mut().push(report.ord_status)
                }
                other => panic!("{other:?}"),
            },
            _ => {}
        }
    }
}

/// A venue that takes orders over TLS, too: where, and the root of its certificate.
fn venue() -> (Rig, SocketAddr, String) {
    let made = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    let CertifiedKey { cert, signing_key } = made;
    let root = cert.pem();
    let identity =
        TlsServerConfig::new(root.as_bytes(), signing_key.serialize_pem().as_bytes(), &[]);
    let any = Address::Inet(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)));
    let orders = Socket::listen(&any, &StreamOptions::default()).expect("listen");
    let at = orders.local_address().expect("address").inet().expect("an address of the network");
    let mut rig = Rig::new(&config(), Flow::None);
    rig.venue.listen_tls(orders.into(), identity.expect("an identity")).expect("it listens");
    (rig, at, root)
}

fn settings(version: FixVersion, at: SocketAddr, tls: Option<&str>) -> SessionSettings {
    let id = |text: &str| CompId::new(text.as_bytes()).expect("a CompID");
    let mut settings = SessionSettings::new(SessionConfig {
        default_application_version: version.application_version(),
        reset_on_logon: true,
        ..SessionConfig::new(Role::Initiator, version.begin(), id("ALPHA"), id("VENUE"))
    });
    settings.addresses = vec![at.to_string()];
    settings.tls = tls.map(|root| TlsSettings {
        config: TlsClientConfig::new(root.as_bytes(), &[]).expect("a root"),
        server_name: None,
        trusted: "root.pem".into(),
        keys: TlsNames::OF_SESSION,
    });
    settings
}

/// The venue's time is the clients' here.
fn poll(rig: &mut Rig) {
    rig.now = Now { mono: monotonic(), utc: utc() };
    rig.poll();
    drain(&rig.incremental, |_| {});
}

#[test]
fn a_client_of_each_version_trades_over_tls_and_its_orders_go_with_it() {
    for version in FixVersion::ALL {
        let (mut rig, at, root) = venue();
        let mut events =
            EventLoop::new(EpollKernel::new(8).expect("a kernel"), LoopConfig::default())
                .expect("a loop");
        let trader = Trader::default();
        let settings = settings(version, at, Some(&root));
        let mut initiator =
            Initiator::start(events.io(), settings, trader.clone()).expect("an initiator");
        let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
            initiator.handle(io, &completion);
        };
        let deadline = Deadline::default();
        while trader.0.borrow().is_empty() {
            deadline.check("its report", || format!("{version:?}"));
            poll(&mut rig);
            events.wait(&mut handler, Nanos::from_millis(1)).expect("a turn");
        }
        assert_eq!(*trader.0.borrow(), [OrdStatus::New]);
        assert_eq!((rig.venue.book().order_count(), rig.venue.connection_count()), (1, 1));
        drop((initiator, events));
        let deadline = Deadline::default();
        while rig.venue.connection_count() > 0 || rig.venue.book().order_count() > 0 {
            deadline.check("its leaving", || format!("{:?}", rig.venue.counters()));
            poll(&mut rig);
        }
    }
}

#[test]
fn a_client_without_tls_gets_no_session_where_tls_is_spoken() {
    let (mut rig, at, _) = venue();
    let stream = Socket::connect(&Address::Inet(at), &StreamOptions::default());
    let (stream, _) = stream.expect("connect");
    stream.send(b"8=FIX.4.4\x019=5\x0135=A\x0110=000\x01").expect("sent");
    let deadline = Deadline::default();
    let mut alert = [0; 64];
    loop {
        deadline.check("the end of the connection", || format!("{:?}", rig.venue.counters()));
        poll(&mut rig);
        match stream.receive(&mut alert) {
            Ok(None) => {}
            Ok(Some(0)) | Err(_) => break,
            Ok(Some(bytes)) => assert_eq!(alert[..bytes][0], 21, "more than an alert"),
        }
    }
    drop(stream);
    let deadline = Deadline::default();
    while rig.venue.connection_count() > 0 {
        deadline.check("its place", || format!("{:?}", rig.venue.counters()));
        poll(&mut rig);
    }
    assert_eq!(rig.venue.counters().sessions, 0);
}
