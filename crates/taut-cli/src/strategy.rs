//! `taut strategy`: a strategy of taut's own, attached to a gateway.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;
use serde::de::IgnoredAny;
use taut_gateway::{TouchConfig, TouchStrategy};
use taut_runner::service::{Attach, STRATEGY_SAMPLE, StrategyFile};
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
/// `taut::runner::service::Attach`, and takes the same file with `StrategyFile`: see
/// docs/gateway.md and `examples/strategy/quoter.rs`.
#[derive(Subcommand, Clone, Debug)]
pub enum Strategy {
    /// Trade when the top of a book changes, at a bounded rate: to be measured, not to earn
    Touch(Touch),
    /// Check a file of settings and explain it; nothing is started
    Check {
        /// The file
        file: PathBuf,
        /// The program that its `[parameters]` are for
        #[arg(long, value_name = "PROGRAM", value_enum, default_value_t)]
        parameters: ParametersOf,
    },
    /// Print a file of settings with every key
    Sample,
}

/// The program that a file's parameters are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ParametersOf {
    /// `taut strategy touch`
    #[default]
    Touch,
    /// A program of your own, which looks at them itself
    Own,
}

/// The flags of `taut strategy touch`: each is said in the place of what the file says.
#[derive(Args, Clone, Debug)]
pub struct Touch {
    /// The file of settings; `taut strategy sample` prints such a file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The gateway's name, or the path of its control socket; several for several gateways
    /// [default: taut]
    #[arg(long, value_name = "NAME")]
    gateway: Vec<String>,
    /// The strategy's name in the gateway's settings [default: touch]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Orders a second at the most [default: 100]
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
    /// Lots of an order [default: 1]
    #[arg(long, value_name = "N")]
    lots: Option<NonZeroU32>,
    /// Milliseconds that an order may rest [default: 10]
    #[arg(long, value_name = "MS")]
    rest: Option<u32>,
    /// How it waits when there is nothing to do [default: block]
    #[arg(long, value_parser = one_of(WAITS))]
    wait: Option<Wait>,
    /// The CPU that it runs on [default: whichever the system gives it]
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,
    /// Run only while nobody else wants the CPU
    #[arg(long)]
    idle: bool,
    /// End when there is no gateway, or when it ends
    #[arg(long)]
    no_wait: bool,
    /// Print one line of JSON at the end
    #[arg(long)]
    json: bool,
}

/// The `[parameters]` of `taut strategy touch`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    rate: NonZeroU32,
    lots: NonZeroU32,
    rest_ms: u32,
}

/// Parameters that another program looks at.
type Anything = BTreeMap<String, IgnoredAny>;

impl Default for Parameters {
    fn default() -> Self {
        let rate = const { NonZeroU32::new(100).expect("above 0") };
        Self { rate, lots: NonZeroU32::MIN, rest_ms: 10 }
    }
}

impl Parameters {
    /// Its habits.
    pub fn config(self) -> TouchConfig {
        TouchConfig {
            orders_per_second: self.rate.get(),
            lots: Lots(self.lots.get().into()),
            rest: Nanos::from_millis(self.rest_ms.into()),
        }
    }
}

/// The name and the habits of `touch` in a gateway's thread, by its file or as it is without one.
pub fn fused_touch(file: Option<&Path>) -> Result<(String, TouchConfig), Failure> {
    let Some(path) = file else { return Ok(("touch".to_owned(), Parameters::default().config())) };
    let file = StrategyFile::<Parameters>::read(path).map_err(failure)?;
    Ok((file.name, file.parameters.config()))
}

impl Touch {
    /// What the file says, and the flags over it.
    fn settings(&self) -> Result<(Attach, Parameters), Failure> {
        let (mut attach, mut parameters) = match &self.config {
            Some(path) => {
                let file = StrategyFile::<Parameters>::read(path).map_err(failure)?;
                (file.attach(), file.parameters)
            }
            None => (Attach::new("taut", "touch"), Parameters::default()),
        };
        if !self.gateway.is_empty() {
            attach.gateways.clone_from(&self.gateway);
        }
        if let Some(name) = &self.name {
            attach.strategy.clone_from(name);
        }
        attach.wait = self.wait.unwrap_or(attach.wait);
        attach.cpu = self.cpu.or(attach.cpu);
        attach.idle |= self.idle;
        attach.waits &= !self.no_wait;
        parameters.rate = self.rate.unwrap_or(parameters.rate);
        parameters.lots = self.lots.unwrap_or(parameters.lots);
        parameters.rest_ms = self.rest.unwrap_or(parameters.rest_ms);
        Ok((attach, parameters))
    }
}

/// Runs it.
pub fn run(strategy: &Strategy) -> Result<(), Failure> {
    match strategy {
        Strategy::Touch(touch) => run_touch(touch),
        Strategy::Sample => terminal::print(STRATEGY_SAMPLE.trim_end()),
        Strategy::Check { file, parameters } => {
            let mut lines;
            match parameters {
                ParametersOf::Touch => {
                    let file = StrategyFile::<Parameters>::read(file).map_err(failure)?;
                    let Parameters { rate, lots, rest_ms } = file.parameters;
                    lines = file.explain();
                    lines.push(format!(
                        "  {:<16} at most {rate} a second of {lots} lots, which rest {rest_ms} ms",
                        "orders"
                    ));
                }
                ParametersOf::Own => {
                    let file = StrategyFile::<Anything>::read(file).map_err(failure)?;
                    let keys: Vec<&str> = file.parameters.keys().map(String::as_str).collect();
                    lines = file.explain();
                    lines.push(format!(
                        "  {:<16} not looked at: {}",
                        "parameters",
                        keys.join(", ")
                    ));
                }
            }
            lines.iter().try_for_each(terminal::print)
        }
    }
}

fn run_touch(touch: &Touch) -> Result<(), Failure> {
    let (attach, parameters) = touch.settings()?;
    let config = parameters.config();
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
