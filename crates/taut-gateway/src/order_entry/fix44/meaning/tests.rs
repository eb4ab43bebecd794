//! Every ExecType with every OrdStatus, of FIX 4.2, 4.4 and 5.0 SP2.

use taut_fix::LongText;
use taut_oms::{ExecId, OrderTable, Report};
use taut_types::{
    ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, Qty, RequestId, Side,
};

use super::*;

/// ExecTypes and OrdStatuses of a version, and the ExecTransTypes (20) that go with them.
/// Its name, its ExecTypes, its OrdStatuses, its ExecTransTypes.
type Version = (&'static str, &'static [u8], &'static [u8], &'static [Option<ExecTransType>]);

const VERSIONS: [Version; 3] = [
    (
        "FIX.4.2",
        b"0123456789ABCDE",
        b"0123456789ABCDE",
        &[
            Some(ExecTransType::New),
            Some(ExecTransType::Cancel),
            Some(ExecTransType::Correct),
            Some(ExecTransType::Status),
        ],
    ),
    ("FIX.4.4", b"03456789ABCDEFGHI", b"012346789ABCDE", &[None]),
    ("FIX.5.0SP2", b"03456789ABCDEFGHIJKL", b"012346789ABCDE", &[None]),
];

fn report(
    exec_type: u8,
    status: u8,
    exec_trans_type: Option<ExecTransType>,
) -> ExecutionReport<'static> {
    ExecutionReport {
        order_id: LongText::from_u64(1),
        exec_id: LongText::from_u64(u64::from(exec_type)),
        exec_ref_id: None,
        exec_trans_type,
        cl_ord_id: None,
        orig_cl_ord_id: None,
        account: None,
        exec_type: ExecType::from_byte(exec_type),
        ord_status: OrdStatus::from_byte(status),
        symbol: None,
        side: Side::Buy,
        order_qty: None,
        price: None,
        last_qty: Qty::ZERO,
        last_price: None,
        leaves_qty: Qty::ZERO,
        cum_qty: Qty::ZERO,
        avg_price: None,
        ord_rej_reason: None,
        text: b"",
        transact_time: None,
        mass_status: None,
        charges: taut_fix::Charges::NONE,
    }
}

/// The row of the standard, without looking at the code: what an ExecType says of an order.
fn expected(exec_type: u8, told: OrderState) -> Option<OrderEvent> {
    use OrderEvent as E;
    Some(match exec_type {
        b'0' => E::Accepted,
        b'1' | b'2' | b'F' => E::Traded,
        b'3' | b'B' => E::DoneForDay,
        b'4' => E::Cancelled,
        b'5' => E::Replaced,
        b'6' | b'E' => E::PendingChange,
        b'7' => E::Stopped,
        b'8' => E::Rejected,
        b'9' => E::Suspended,
        b'A' => E::PendingNew,
        b'C' => E::Expired,
        b'D' | b'L' => E::Restated,
        b'G' => E::TradeCorrected,
        b'H' => E::TradeCancelled,
        b'I' => E::Status(told),
        b'J' | b'K' => return None,
        other => panic!("{other}"),
    })
}

fn told(status: u8) -> OrderState {
    match status {
        b'0' | b'1' | b'5' | b'6' | b'E' | b'D' => OrderState::Working,
        b'2' => OrderState::Filled,
        b'3' | b'B' => OrderState::DoneForDay,
        b'4' => OrderState::Cancelled,
        b'7' => OrderState::Stopped,
        b'8' => OrderState::Rejected,
        b'9' => OrderState::Suspended,
        b'A' => OrderState::PendingNew,
        b'C' => OrderState::Expired,
        other => panic!("{other}"),
    }
}

#[test]
fn every_exec_type_with_every_status_of_every_version_has_a_row() {
    let (mut rows, mut applied) = (0, Vec::new());
    for (version, exec_types, statuses, trans_types) in VERSIONS {
        for (&exec_type, &status) in
            exec_types.iter().flat_map(|a| statuses.iter().map(move |b| (a, b)))
        {
            for &trans_type in trans_types {
                let read = meaning(&report(exec_type, status, trans_type));
                let event = match trans_type {
                    Some(ExecTransType::Cancel) => Some(OrderEvent::TradeCancelled),
                    Some(ExecTransType::Correct) => Some(OrderEvent::TradeCorrected),
                    Some(ExecTransType::Status) => Some(OrderEvent::Status(told(status))),
                    _ => expected(exec_type, told(status)),
                };
                let row = (exec_type as char, status as char, trans_type);
                assert_eq!(
                    (read.event, read.told),
                    (event, Some(told(status))),
                    "{version} {row:?}"
                );
                assert!(!read.is_strange, "{version} {row:?}");
                if !applied.contains(&(event, told(status))) {
                    apply_in_every_state(event, told(status));
                    applied.push((event, told(status)));
                }
                rows += 1;
            }
        }
    }
    assert_eq!(rows, 15 * 15 * 4 + 17 * 14 + 20 * 14);
}

/// Whatever an order has been through, the row has an outcome, and positions stay what they are.
fn apply_in_every_state(event: Option<OrderEvent>, told: OrderState) {
    let Some(event) = event else { return };
    let lot = Qty::whole(1);
    let mut table = OrderTable::with_capacity(OrderEvent::ALL.len());
    let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(1), Lots(10));
    for (id, before) in (1..).zip(OrderEvent::ALL) {
        let request = RequestId::create(ClientOrderId(id));
        let trade = Report {
            last: Qty::whole(4),
            total: Some(Qty::whole(4)),
            exec_id: ExecId::new(b"E1"),
            ..Report::plain(request, OrderEvent::Traded, lot)
        };
        table.create(request.order, &terms, 0, 1, Nanos(1)).unwrap();
        table.apply(&Report::plain(request, before, lot)).unwrap();
        table.apply(&trade).unwrap();
        let row = Report { told: Some(told), ..Report::plain(request, event, lot) };
        let change = table.apply(&row).unwrap();
        let order = table.get(request.order).unwrap();
        assert_eq!((order.traded.lots, change.fills), (Lots(4), [None; 2]), "{before:?} {event:?}");
        assert_eq!(order.state.is_done(), order.lots_open() == Lots::ZERO);
    }
}

#[test]
fn a_code_that_no_version_has_is_strange_and_what_it_tells_is_followed() {
    let read = meaning(&report(b'Z', b'1', None));
    let status = OrderEvent::Status(OrderState::Working);
    assert_eq!((read.event, read.is_strange), (Some(status), true));
    let read = meaning(&report(b'Z', b'z', None));
    assert_eq!((read.event, read.told, read.is_strange), (None, None, true));
    assert!(meaning(&report(b'F', b'z', None)).is_strange);
}

#[test]
fn an_order_that_the_venue_does_not_know_is_none() {
    for (exec_type, trans_type) in [(b'8', None), (b'I', None), (b'0', Some(ExecTransType::Status))]
    {
        let unknown = ExecutionReport {
            ord_rej_reason: Some(UNKNOWN_ORDER),
            ..report(exec_type, b'8', trans_type)
        };
        assert_eq!(meaning(&unknown).event, Some(OrderEvent::NotFound));
    }
}
