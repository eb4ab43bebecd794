//! A copy as it stands on the thread's tape: what another thread has read.
//!
//! A number says what it is: 0 nothing, 1 a report that cannot be read, 2 one that can. What may be
//! missing is written with 1 more than it is, and as 0; texts that are missing are empty.

use taut_fix::{Charges, CommType, Currency, Liquidity, LongText};
use taut_oms::{ExecId, OrderEvent, OrderState, VenueReject};
use taut_sys::tape::{self, Get, Heard, Put};
use taut_types::{ClientOrderId, Nanos, Price, Qty, RequestId};

use crate::order_entry::handler::{OfAll, VenueEvent, VenueReport};

/// What `ask` says goes on the tape, or comes from it.
pub fn hear(ask: impl FnOnce() -> Option<VenueEvent>) -> Option<VenueEvent> {
    tape::hear_or(Heard::Copy, ask, |event, on| put(event.as_ref(), on), get, || None)
}

fn put(event: Option<&VenueEvent>, on: &mut Put<'_>) {
    match event {
        None => on.number(0),
        Some(VenueEvent::Unreadable(request)) => {
            on.number(1);
            put_request(*request, on);
        }
        Some(VenueEvent::Report(report)) => {
            on.number(2);
            put_report(report, on);
        }
        // No copy is anything else.
        Some(_) => on.number(0),
    }
}

fn get(from: &mut Get<'_>) -> Option<Option<VenueEvent>> {
    Some(match from.number()? {
        0 => None,
        1 => Some(VenueEvent::Unreadable(get_request(from)?)),
        2 => Some(VenueEvent::Report(get_report(from)?)),
        _ => return None,
    })
}

fn put_report(report: &VenueReport, on: &mut Put<'_>) {
    let VenueReport { request, answers_oldest, event, is_answer, told, is_strange, .. } = *report;
    let VenueReport { is_resend, last, price, total, average, .. } = *report;
    let VenueReport { order_qty, order_price, exec_id, exec_ref, venue_id, .. } = *report;
    let VenueReport { account, exchange_time, charges, reject, .. } = *report;
    put_request(request, on);
    let flags = [answers_oldest, is_answer, is_strange, is_resend];
    flags.into_iter().for_each(|flag| on.number(flag.into()));
    put_place(event.and_then(|it| OrderEvent::ALL.iter().position(|event| *event == it)), on);
    put_place(told.and_then(|it| OrderState::ALL.iter().position(|state| *state == it)), on);
    put_qty(last, on);
    [price, average, order_price].into_iter().for_each(|it| put_number(it.map(|it| it.0), on));
    [total, order_qty].into_iter().for_each(|it| {
        on.number(it.is_some().into());
        it.into_iter().for_each(|it| put_qty(it, on));
    });
    [exec_id, exec_ref].iter().for_each(|it| on.bytes(it.as_bytes()));
    [venue_id, account].iter().for_each(|it| on.bytes(it.as_ref().map_or(b"", |it| it.as_bytes())));
    on.number(exchange_time.0.cast_unsigned());
    put_charges(&charges, on);
    on.number(reject as u64);
}

fn get_report(from: &mut Get<'_>) -> Option<VenueReport> {
    let request = get_request(from)?;
    let [answers_oldest, is_answer] = [from.flag()?, from.flag()?];
    let [is_strange, is_resend] = [from.flag()?, from.flag()?];
    let event = get_of(&OrderEvent::ALL, from)?;
    let told = get_of(&OrderState::ALL, from)?;
    let last = get_qty(from)?;
    let [price, average, order_price] =
        [get_number(from)?, get_number(from)?, get_number(from)?].map(|it| it.map(Price));
    let mut qty = || if from.flag()? { get_qty(from).map(Some) } else { Some(None) };
    let [total, order_qty] = [qty()?, qty()?];
    let [exec_id, exec_ref] = [ExecId::new(from.bytes()?), ExecId::new(from.bytes()?)];
    let [venue_id, account] = [LongText::new(from.bytes()?), LongText::new(from.bytes()?)];
    let exchange_time = Nanos(from.number()?.cast_signed());
    let charges = get_charges(from)?;
    let reject = VenueReject::from_code(u8::try_from(from.number()?).ok()?)?;
    Some(VenueReport {
        request,
        answers_oldest,
        event,
        is_answer,
        told,
        is_strange,
        is_resend,
        // An answer is no copy.
        of_all: OfAll::No,
        last,
        price,
        total,
        average,
        order_qty,
        order_price,
        exec_id,
        exec_ref,
        venue_id,
        account,
        exchange_time,
        charges,
        reject,
    })
}

const COMM_TYPES: [CommType; 4] =
    [CommType::PerUnit, CommType::Percent, CommType::Absolute, CommType::Other];
const LIQUIDITY: [Liquidity; 2] = [Liquidity::Maker, Liquidity::Taker];

fn put_charges(charges: &Charges, on: &mut Put<'_>) {
    let Charges { commission, comm_type, comm_currency, misc_fees, misc_fee_currency, .. } =
        charges;
    [commission, misc_fees].into_iter().for_each(|it| put_number(it.map(|it| it.0), on));
    for currency in [comm_currency, misc_fee_currency] {
        on.bytes(currency.as_ref().map_or(b"", |it| it.as_bytes()));
    }
    put_place(COMM_TYPES.iter().position(|it| it == comm_type), on);
    on.number(charges.is_mixed.into());
    put_place(charges.liquidity.and_then(|it| LIQUIDITY.iter().position(|one| *one == it)), on);
}

fn get_charges(from: &mut Get<'_>) -> Option<Charges> {
    let [commission, misc_fees] = [get_number(from)?, get_number(from)?].map(|it| it.map(Price));
    let comm_currency = Currency::new(from.bytes()?);
    let misc_fee_currency = Currency::new(from.bytes()?);
    let comm_type = get_of(&COMM_TYPES, from)??;
    let is_mixed = from.flag()?;
    let liquidity = get_of(&LIQUIDITY, from)?;
    Some(Charges {
        commission,
        comm_type,
        comm_currency,
        misc_fees,
        misc_fee_currency,
        is_mixed,
        liquidity,
    })
}

fn put_request(request: Option<RequestId>, on: &mut Put<'_>) {
    on.number(request.is_some().into());
    if let Some(RequestId { order, version }) = request {
        on.number(order.0);
        on.number(version.into());
    }
}

fn get_request(from: &mut Get<'_>) -> Option<Option<RequestId>> {
    if !from.flag()? {
        return Some(None);
    }
    let order = ClientOrderId(from.number()?);
    Some(Some(RequestId { order, version: u16::try_from(from.number()?).ok()? }))
}

fn put_place(place: Option<usize>, on: &mut Put<'_>) {
    on.number(place.map_or(0, |place| place as u64 + 1));
}

/// The one of these at the place that was written down, where there is one.
fn get_of<T: Copy>(all: &[T], from: &mut Get<'_>) -> Option<Option<T>> {
    match usize::try_from(from.number()?).ok()?.checked_sub(1) {
        None => Some(None),
        Some(place) => all.get(place).copied().map(Some),
    }
}

fn put_number(number: Option<i64>, on: &mut Put<'_>) {
    on.number(number.is_some().into());
    number.into_iter().for_each(|number| on.number(number.cast_unsigned()));
}

fn get_number(from: &mut Get<'_>) -> Option<Option<i64>> {
    if from.flag()? { Some(Some(from.number()?.cast_signed())) } else { Some(None) }
}

fn put_qty(qty: Qty, on: &mut Put<'_>) {
    on.number(qty.mantissa.cast_unsigned());
    on.number(qty.decimals.into());
}

fn get_qty(from: &mut Get<'_>) -> Option<Qty> {
    let mantissa = from.number()?.cast_signed();
    Some(Qty { mantissa, decimals: u8::try_from(from.number()?).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_comes_from_the_tape_as_it_was() {
        let request = Some(RequestId { order: ClientOrderId(u64::MAX), version: 7 });
        let price = |mantissa| Some(Price(mantissa));
        let text = |text: &[u8]| LongText::new(text);
        let report = VenueReport {
            request,
            answers_oldest: true,
            event: Some(OrderEvent::Status(OrderState::Working)),
            told: Some(OrderState::Filled),
            is_resend: true,
            last: Qty { mantissa: -5, decimals: 3 },
            price: price(-1),
            total: Some(Qty { mantissa: 9, decimals: 0 }),
            average: price(i64::MIN),
            exec_id: ExecId::new(b"an execution"),
            exec_ref: ExecId::new(b""),
            venue_id: text(b"V-1"),
            exchange_time: Nanos(-3),
            charges: Charges {
                commission: price(12),
                comm_type: CommType::PerUnit,
                comm_currency: Currency::new(b"BTC"),
                is_mixed: true,
                liquidity: Some(Liquidity::Taker),
                ..Charges::NONE
            },
            reject: VenueReject::Halted,
            ..VenueReport::NOTHING
        };
        let events = [
            None,
            Some(VenueEvent::Unreadable(None)),
            Some(VenueEvent::Unreadable(request)),
            Some(VenueEvent::Report(VenueReport::NOTHING)),
            Some(VenueEvent::Report(report)),
        ];
        for event in events {
            tape::begin_writing(true);
            assert_eq!(hear(|| event), event);
            let turn = tape::end_writing(|bytes, _| bytes.to_vec());
            tape::begin_reading(&turn);
            assert_eq!(hear(|| panic!("nobody is asked")), event);
            assert_eq!(tape::end_reading(), Ok(()));
            // Whatever else stands there is a difference, and no panic.
            for length in 0..turn.len() {
                tape::begin_reading(&turn[..length]);
                hear(|| None);
                assert!(tape::end_reading().is_err(), "{event:?} cut at {length}");
            }
        }
    }
}
