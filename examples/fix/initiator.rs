//! A client's side of FIX: logs on, sends orders one after the other, logs out.
//!
//! usage: `order-initiator [ADDRESS:PORT [COUNT]]`

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use taut::fix::{Event, Extras, Now, Role, Writer};
use taut::fix_engine::{Application, Initiator, Outbox, Received, Settings};
use taut::io::{Completion, EpollKernel, EventLoop, Io, LoopConfig, WaitStrategy};
use taut_examples::told;

/// Sends the next order when the one before is filled.
#[derive(Debug)]
struct OneByOne {
    left: u64,
    sent: u64,
    is_over: bool,
}

impl OneByOne {
    fn next_order(&mut self, outbox: &mut Outbox<'_>) {
        if self.left == 0 {
            outbox.log_out("done");
            return;
        }
        (self.left, self.sent) = (self.left - 1, self.sent + 1);
        let id = self.sent.to_string();
        let Now { utc, .. } = outbox.now();
        let body = |order: &mut Writer<'_>| {
            order.field(11, id.as_bytes()); // ClOrdID
            order.field(55, b"AAPL"); // Symbol
            order.field(54, b"1"); // Side: Buy
            order.timestamp::<60>(utc); // TransactTime
            order.field(38, b"100"); // OrderQty
            order.field(40, b"2"); // OrdType: Limit
            order.field(44, b"585.33"); // Price
        };
        if let Err(error) = outbox.send(b"D", Extras::default(), body) {
            eprintln!("an order was not sent: {error:?}");
            outbox.log_out("cannot go on");
        }
    }
}

impl Application for OneByOne {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        match event {
            Event::LoggedOn => self.next_order(outbox),
            Event::Application { .. } => {
                let text = |tag| String::from_utf8_lossy(message.value(tag).unwrap_or_default());
                println!("order {} filled: {} at {}", text(11), text(32), text(31));
                self.next_order(outbox);
            }
            _ => {}
        }
    }

    fn disconnected(&mut self) {
        self.is_over = true;
    }

    fn warn(&mut self, words: &str) {
        eprintln!("{words}");
    }
}

fn main() -> ExitCode {
    told(run())
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| String::from("127.0.0.1:19890"));
    let left = arguments.next().as_deref().unwrap_or("3").parse()?;
    let settings = format!(
        r#"
        [[sessions]]
        begin_string = "FIX.4.4"
        sender_comp_id = "TRADER"
        target_comp_id = "VENUE"
        addresses = ["{address}"]
        reset_on_logon = true
        "#
    );
    let settings = Settings::parse(&settings, Path::new(""), Role::Initiator)?;
    let session = settings.sessions.into_iter().next().ok_or("no session")?;
    let mut events = EventLoop::new(EpollKernel::new(16)?, LoopConfig::default())?;
    let application = OneByOne { left, sent: 0, is_over: false };
    let mut initiator = Initiator::start(events.io(), session, application)?;
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        initiator.handle(io, &completion);
        if let Some(failure) = initiator.take_failure() {
            eprintln!("{failure}; trying again");
        }
        if initiator.endpoint().application().is_over {
            io.stop();
        }
    };
    events.run(&mut handler, WaitStrategy::Block)?;
    Ok(())
}
