//! `taut gateway outliers`: the worst orders of a gateway, and why they took long.

use std::path::Path;

use taut_doctor::outliers::MINUTES_MAX;
use taut_runner::service::ControlClient;
use taut_types::Nanos;

use crate::config_file::failure;
use crate::exit::Failure;
use crate::gateway::which::Which;
use crate::recorded::Output;
use crate::report::run::outlier_lines;
use crate::report::{human_count, human_ns, perfetto};
use crate::terminal;

/// Tells them, and writes the trace.
pub fn show(
    which: &Which,
    since: Option<Nanos>,
    trace: Option<&Path>,
    may_replace: bool,
) -> Result<(), Failure> {
    let longest = Nanos::from_secs(60 * MINUTES_MAX as i64);
    if let Some(since) = since.filter(|since| *since > longest) {
        let asked = human_ns(since.0.unsigned_abs());
        return Err(Failure::usage(format!(
            "--since {asked}: the worst orders of the last {MINUTES_MAX} minutes are kept; without \
             --since those since the gateway began are told"
        )));
    }
    // Before anything is asked.
    let output = trace.map(|file| Output::new(file, may_replace, &[])).transpose()?;
    let mut client = ControlClient::connect(&which.gateway).map_err(failure)?;
    let (outliers, traced) = client.outliers(since).map_err(failure)?;
    if let Some(output) = output {
        output.write(perfetto(&outliers, &traced).as_bytes())?;
        terminal::tell(format_args!("trace: {} (open it at ui.perfetto.dev)", output.name()));
    }
    if which.json {
        return terminal::print_json(&outliers);
    }
    if outliers.worst.is_empty() {
        let orders = human_count(outliers.orders);
        return terminal::print(format_args!(
            "no order was kept: {orders} were measured{}, none above {}",
            since.map_or("", |_| " in these minutes"),
            human_ns(outliers.above_ns)
        ));
    }
    outlier_lines(&outliers).iter().try_for_each(terminal::print)?;
    terminal::print(format_args!(
        "{:<20} {:<12} {:>10} {:<11} {:>10}  cause",
        "order", "symbol", "total", "held by", "beyond"
    ))?;
    for it in &outliers.worst {
        let (total, excess) = (human_ns(it.total_ns), human_ns(it.excess_ns));
        terminal::print(format_args!(
            "{:<20} {:<12} {total:>10} {:<11} {excess:>10}  {}",
            it.order,
            it.symbol,
            it.held_by,
            it.words()
        ))?;
    }
    Ok(())
}
