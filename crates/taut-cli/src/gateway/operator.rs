//! What an operator asks of a running gateway.

use serde::Serialize;
use taut_runner::service::{ControlClient, ControlReply, ControlRequest};

use crate::exit::Failure;
use crate::gateway::which::{Which, failure};

fn connect(which: &Which) -> Result<ControlClient, Failure> {
    ControlClient::connect(&which.gateway).map_err(failure)
}

fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::run("JSON", error))?;
    println!("{text}");
    Ok(())
}

/// Has it do something.
pub fn act(which: &Which, request: &ControlRequest) -> Result<(), Failure> {
    match connect(which)?.ask(request).map_err(failure)? {
        ControlReply::Done if which.json => print_json(&serde_json::json!({ "done": true })),
        ControlReply::Done => {
            println!("done");
            Ok(())
        }
        other => Err(Failure::Run(format!("{other:?} is no answer to this"))),
    }
}

/// How it is.
pub fn status(which: &Which) -> Result<(), Failure> {
    let reply = connect(which)?.ask(&ControlRequest::Status).map_err(failure)?;
    let ControlReply::Status(status) = reply else {
        return Err(Failure::Run(format!("{reply:?} is no status")));
    };
    if which.json {
        return print_json(&status);
    }
    let yes = |is: bool| if is { "yes" } else { "no" };
    println!("gateway '{}', process {}, up {} s", status.name, status.process, status.up_seconds);
    println!("  order entry  {}", if status.order_entry { "up" } else { "down" });
    println!("  books sound  {}, {} instruments", yes(status.books_sound), status.instruments);
    println!("  killed       {}", yes(status.killed));
    println!("  open orders  {}", status.open_orders);
    for strategy in &status.strategies {
        let state = if strategy.attached { "attached" } else { "not attached" };
        println!("  strategy     {}: {state}", strategy.name);
    }
    let counted = status.counters.iter().filter(|(_, count)| *count > 0);
    let counted: Vec<String> = counted.map(|(name, count)| format!("{name} {count}")).collect();
    println!("  counted      {}", counted.join(", "));
    Ok(())
}

/// The open orders.
pub fn orders(which: &Which) -> Result<(), Failure> {
    let orders = connect(which)?.orders().map_err(failure)?;
    if which.json {
        return print_json(&orders);
    }
    println!(
        "{:<16} {:<12} {:<15} {:<4} {:>14} {:>12} {:>12} state",
        "id", "strategy", "symbol", "side", "price", "quantity", "open"
    );
    for order in &orders {
        println!(
            "{:<16} {:<12} {:<15} {:<4} {:>14} {:>12} {:>12} {}",
            order.id,
            order.strategy,
            order.symbol,
            order.side,
            order.price,
            order.quantity,
            order.open,
            order.state
        );
    }
    Ok(())
}

/// What is held.
pub fn positions(which: &Which) -> Result<(), Failure> {
    let positions = connect(which)?.positions().map_err(failure)?;
    if which.json {
        return print_json(&positions);
    }
    println!("{:<15} {:>7} {:>14} {:>16}", "symbol", "account", "quantity", "average price");
    for held in &positions {
        println!(
            "{:<15} {:>7} {:>14} {:>16}",
            held.symbol, held.account, held.quantity, held.average_price
        );
    }
    Ok(())
}
