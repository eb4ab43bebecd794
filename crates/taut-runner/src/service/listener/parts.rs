//! Answers of many lines.

use crate::service::protocol::ControlReply;

/// Lines of a reply. Its message is passed in memory, of which a
/// [`Channel`](crate::control::Channel) takes 16 MiB; a line of a position or an order has some 400
/// bytes.
///
/// A reply of its own for each few lines does not do: who asks may not have read the first when the
/// last is sent, and of messages that nobody has read the kernel holds ten
/// (`net.unix.max_dgram_qlen`).
const LINES: usize = 16_384;

/// Lines in as many replies as they need; one at least.
pub(super) fn in_parts<T, L>(
    all: &[T],
    line: impl Fn(&T) -> L,
    reply: impl Fn(Vec<L>, bool) -> ControlReply,
) -> Vec<ControlReply> {
    let count = all.len().div_ceil(LINES).max(1);
    let part = |at: usize| all.iter().skip(at * LINES).take(LINES).map(&line).collect();
    (0..count).map(|at| reply(part(at), at + 1 < count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::protocol::PositionLine;

    /// What the kernel holds of messages that nobody has read, unless it was told otherwise.
    const UNREAD_MAX: usize = 10;
    const MESSAGE_BYTES_MAX: usize = 16 << 20;

    #[test]
    fn what_nobody_has_read_yet_fits_the_socket_however_many_positions_there_are() {
        let longest = PositionLine {
            strategy: "s".repeat(32),
            symbol: "S".repeat(32),
            account: 255,
            quantity: "-9223372036854775808".to_owned(),
            average_price: "9223372036.854775807".to_owned(),
            bought: "9223372036854775807".to_owned(),
            sold: "9223372036854775807".to_owned(),
            mark: Some("9223372036.854775807".to_owned()),
            realised: "-170141183460469231731.687303715884105728".to_owned(),
            unrealised: "-170141183460469231731.687303715884105728".to_owned(),
            fees: "-170141183460469231731.687303715884105728".to_owned(),
        };
        let all = vec![longest; 100_000];
        let reply = |positions, more| ControlReply::Positions { positions, more };
        let parts = in_parts(&all, PositionLine::clone, reply);
        assert!(parts.len() < UNREAD_MAX, "{}", parts.len());
        let bytes = parts.iter().map(|part| serde_json::to_vec(part).expect("JSON").len());
        assert!(bytes.max() < Some(MESSAGE_BYTES_MAX));
        let told = |part: &ControlReply| match part {
            ControlReply::Positions { positions, more } => (positions.len(), *more),
            other => panic!("{other:?}"),
        };
        let told: Vec<_> = parts.iter().map(told).collect();
        assert_eq!(told.iter().map(|(count, _)| count).sum::<usize>(), all.len());
        assert!(told.iter().rev().skip(1).all(|(_, more)| *more) && !told[told.len() - 1].1);
        assert_eq!(in_parts(&[], PositionLine::clone, reply).len(), 1);
    }
}
