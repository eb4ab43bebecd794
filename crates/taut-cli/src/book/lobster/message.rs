//! LOBSTER's message file, row by row, in its own units.

use taut_types::{HalfTicks, Lots, OrderId, Side};

use crate::exit::Failure;

/// What happened to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It entered.
    Add,
    /// It became smaller: a part was cancelled, or was executed.
    Take,
    /// It left.
    Delete,
    /// Nothing that the visible book shows: a hidden execution, a cross, a halt.
    Other,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) id: OrderId,
    pub(super) lots: Lots,
    /// In 1e-4 dollars.
    pub(super) price: HalfTicks,
    /// The resting order's.
    pub(super) side: Side,
}

/// Reads the text of a file of this name.
pub(super) fn parse(file: &str, text: &[u8]) -> Result<Vec<Message>, Failure> {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    (1..)
        .zip(body.split(|&byte| byte == b'\n'))
        .map(|(line, row)| {
            row_of(row).ok_or_else(|| {
                let expected = "expected time,type,order id,size,price,direction";
                Failure::Usage(format!("{file}:{line}: it is not a message; {expected}"))
            })
        })
        .collect()
}

fn row_of(row: &[u8]) -> Option<Message> {
    let text = std::str::from_utf8(row).ok()?.trim_end_matches('\r');
    let mut fields = text.split(',').skip(1);
    let kind = match fields.next()? {
        "1" => Kind::Add,
        "2" | "4" => Kind::Take,
        "3" => Kind::Delete,
        "5" | "6" | "7" => Kind::Other,
        _ => return None,
    };
    let id = OrderId(fields.next()?.parse().ok()?);
    let lots = Lots(fields.next()?.parse().ok()?);
    let price = HalfTicks(fields.next()?.parse().ok()?);
    let side = match fields.next()? {
        "1" => Side::Buy,
        "-1" => Side::Sell,
        _ => return None,
    };
    let shows = kind != Kind::Other;
    (!shows || lots > Lots::ZERO).then_some(Message { kind, id, lots, price, side })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_row_and_refuses_what_is_none() {
        let message = row_of(b"34200.1,1,7,18,5859400,-1").unwrap();
        assert_eq!((message.kind, message.id, message.side), (Kind::Add, OrderId(7), Side::Sell));
        assert_eq!((message.lots, message.price), (Lots(18), HalfTicks(5_859_400)));
        for row in ["", "1", "1,9,7,18,1,1", "1,1,7,0,1,1", "1,1,7,-1,1,1", "1,1,7,1,1,0", "\u{e9}"]
        {
            assert_eq!(row_of(row.as_bytes()), None, "{row}");
        }
    }
}
