//! A venue's side of FIX: accepts sessions and fills every order.
//!
//! usage: `order-acceptor [ADDRESS:PORT]`

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use taut::fix::{Event, Extras, Role, Writer};
use taut::fix_engine::{Acceptor, Application, Outbox, Received, SessionSettings, Settings};
use taut::io::{Completion, EpollKernel, EventLoop, Io, LoopConfig, WaitStrategy};
use taut::prelude::Nanos;
use taut::sys::{catch_stop_signals, stop_requests};
use taut_examples::told;

/// As a file it would be read by `Settings::load`; any key of a session may stand here.
const SETTINGS: &str = r#"
[[sessions]]
begin_string = "FIX.4.4"
sender_comp_id = "VENUE"
target_comp_id = "*"          # whoever logs on
"#;
const LOOK: Nanos = Nanos::from_millis(50);
const PATIENCE: Nanos = Nanos::from_secs(2);

/// One per session.
#[derive(Debug, Default)]
struct FillEverything {
    executions: u64,
}

impl Application for FillEverything {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        match event {
            Event::LoggedOn => println!("logged on"),
            Event::Application { .. } if message.msg_type() == b"D" => self.fill(message, outbox),
            Event::Application { sequence, .. } => {
                outbox.refuse_type(sequence, message.msg_type());
            }
            Event::LoggedOut => println!("logged out"),
            _ => {}
        }
    }
}

impl FillEverything {
    fn fill(&mut self, order: Received<'_>, outbox: &mut Outbox<'_>) {
        self.executions += 1;
        let id = self.executions.to_string();
        let quantity = order.value(38).unwrap_or(b"0");
        let price = order.value(44).unwrap_or(b"0");
        let body = |report: &mut Writer<'_>| {
            report.field(37, id.as_bytes()); // OrderID
            report.field(11, order.value(11).unwrap_or_default()); // ClOrdID
            report.field(17, id.as_bytes()); // ExecID
            report.field(150, b"F"); // ExecType: Trade
            report.field(39, b"2"); // OrdStatus: Filled
            report.field(55, order.value(55).unwrap_or_default()); // Symbol
            report.field(54, order.value(54).unwrap_or_default()); // Side
            report.field(32, quantity); // LastQty
            report.field(31, price); // LastPx
            report.field(151, b"0"); // LeavesQty
            report.field(14, quantity); // CumQty
            report.field(6, price); // AvgPx
        };
        if let Err(error) = outbox.send(b"8", Extras::default(), body) {
            eprintln!("a report was not sent: {error:?}");
        }
    }
}

fn main() -> ExitCode {
    told(run())
}

fn run() -> Result<(), Box<dyn Error>> {
    let listen: SocketAddr =
        std::env::args().nth(1).as_deref().unwrap_or("127.0.0.1:19890").parse()?;
    let settings = Settings::parse(SETTINGS, Path::new(""), Role::Acceptor)?;
    let mut events = EventLoop::new(EpollKernel::new(64)?, LoopConfig::default())?;
    let make = |_: &SessionSettings| FillEverything::default();
    let mut acceptor = Acceptor::open(events.io(), listen, settings, make)?;
    println!("listening on {}", acceptor.local_address(events.io())?);

    catch_stop_signals()?;
    // A signal alone wakes no loop: a timer looks whether one came.
    let io = events.io();
    io.timer_every(io.now() + LOOK, LOOK, 0)?;
    let mut until = None;
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        acceptor.handle(io, &completion);
        if stop_requests() > 0 && until.is_none() {
            acceptor.log_out_all(io);
            until = Some(io.now() + PATIENCE);
        }
        if until.is_some_and(|until| acceptor.is_idle() || io.now() >= until) {
            io.stop();
        }
    };
    events.run(&mut handler, WaitStrategy::Block)?;
    Ok(())
}
