//! `taut strategy`: a strategy of taut's own, attached to a gateway.

use clap::{Args, Subcommand};
use taut_gateway::{TouchConfig, TouchStrategy};
use taut_runner::service::Attach;
use taut_sys::Wait;
use taut_types::{Lots, Nanos};

use crate::config_file::failure;
use crate::demo::{WAITS, one_of};
use crate::exit::Failure;
use crate::terminal;

/// Attach one of taut's own strategies to a running gateway.
///
/// It waits for a gateway that is not there, and attaches again to one that was started again. At
/// Ctrl-C it has its orders cancelled and ends. A strategy of your own attaches with
/// `taut::runner::service::Attach`: see docs/gateway.md and `examples/strategy/quoter.rs`.
#[derive(Subcommand, Clone, Debug)]
pub enum Strategy {
    /// Trade when the top of a book changes, at a bounded rate: to be measured, not to earn
    Touch(Touch),
}

/// The flags of `taut strategy touch`.
#[derive(Args, Clone, Debug)]
pub struct Touch {
    /// The gateway's name, or the path of its control socket; several for several gateways
    #[arg(long, value_name = "NAME", default_value = "taut")]
    gateway: Vec<String>,
    /// The strategy's name in the gateway's settings
    #[arg(long = "as", value_name = "NAME", default_value = "touch")]
    name: String,
    /// Orders a second at the most
    #[arg(long, value_name = "N", default_value_t = 100)]
    rate: u32,
    /// Lots of an order
    #[arg(long, value_name = "N", default_value_t = 1)]
    lots: i64,
    /// Milliseconds that an order may rest
    #[arg(long, value_name = "MS", default_value_t = 10)]
    rest: u32,
    /// How it waits when there is nothing to do
    #[arg(long, value_parser = one_of(WAITS), default_value = "block")]
    wait: Wait,
    /// The CPU that it runs on [default: whichever the system gives it]
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,
    /// End when there is no gateway, or when it ends
    #[arg(long)]
    no_wait: bool,
    /// Print one line of JSON at the end
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(strategy: &Strategy) -> Result<(), Failure> {
    let Strategy::Touch(touch) = strategy;
    if touch.lots <= 0 || touch.rate == 0 {
        return Err(Failure::Usage("--lots and --rate must be above 0".to_owned()));
    }
    let config = TouchConfig {
        orders_per_second: touch.rate,
        lots: Lots(touch.lots),
        rest: Nanos::from_millis(touch.rest.into()),
    };
    let (first, more) = touch
        .gateway
        .split_first()
        .map_or(("taut", &[][..]), |(first, more)| (first.as_str(), more));
    let attach = Attach::new(first, &touch.name);
    let mut attach = more.iter().fold(attach, |attach, gateway| attach.and(gateway));
    (attach.wait, attach.cpu, attach.waits) = (touch.wait, touch.cpu, !touch.no_wait);
    let attached = attach
        .run(|now| TouchStrategy::new(config, now), |what| terminal::tell(what))
        .map_err(failure)?;
    let counters = attached.counters;
    if touch.json {
        let line = serde_json::json!({
            "attachments": attached.attachments, "drained": attached.drained,
            "events": counters.events, "lapped": counters.lapped,
            "requests": counters.requests, "updates": counters.updates,
        });
        terminal::print(format_args!("{line}"))?;
    } else {
        terminal::print(format_args!(
            "attached {} times; last: events {}, overtaken over {}, requests {}, updates {}",
            attached.attachments,
            counters.events,
            counters.lapped,
            counters.requests,
            counters.updates
        ))?;
    }
    if attached.drained {
        Ok(())
    } else {
        Err(Failure::Run("some orders were not answered at the end".to_owned()))
    }
}
