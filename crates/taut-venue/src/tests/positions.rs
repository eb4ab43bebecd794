//! A client asks what it holds.

use taut_fix::{NewOrderSingle, RequestForPositions};
use taut_types::{Nanos, Side};

use crate::tests::client::{limit, market};
use crate::tests::rig::{Rig, text};

#[test]
fn a_client_learns_what_it_holds_by_account_over_all_its_sessions() {
    let mut rig = Rig::empty();
    let (mut client, mut other) = (rig.log_on("ALPHA"), rig.log_on("BETA"));
    let ask = |id: &str, account: Option<&str>| RequestForPositions {
        request_id: text(id),
        account: account.map(text),
        transact_time: Nanos::ZERO,
    };
    client.request(rig.now, &ask("A", None));
    rig.until(&mut client, |client| client.held.len() == 1);
    assert_eq!(client.held.pop(), Some((None, None, 0, "0".to_owned(), Some(0))));
    other.order(rig.now, &limit(1, Side::Sell, 20, "100.00"));
    rig.until(&mut other, |other| other.reports.len() == 1);
    for (id, side, account, qty) in
        [(1, Side::Buy, Some("HOUSE"), 7), (2, Side::Buy, None, 3), (3, Side::Buy, Some("MM"), 2)]
    {
        let account = account.map(text);
        client.order(rig.now, &NewOrderSingle { account, ..market(id, side, qty) });
    }
    rig.until(&mut client, |client| client.reports.len() == 6);
    // One account is flat again.
    other.order(rig.now, &limit(2, Side::Buy, 5, "99.00"));
    rig.until(&mut other, |other| other.reports.len() == 5);
    let sale = NewOrderSingle { account: Some(text("MM")), ..market(4, Side::Sell, 2) };
    client.order(rig.now, &sale);
    rig.until(&mut client, |client| client.reports.len() == 8);
    client.request(rig.now, &ask("B", None));
    rig.until(&mut client, |client| client.held.len() == 2);
    let held = |account: Option<&str>, lots, total| {
        let (account, symbol) = (account.map(str::to_owned), Some("AAPL".to_owned()));
        (account, symbol, lots, "99".to_owned(), Some(total))
    };
    assert_eq!(client.held, [held(None, 3, 2), held(Some("HOUSE"), 7, 2)]);
    client.held.clear();
    client.request(rig.now, &ask("C", Some("HOUSE")));
    rig.until(&mut client, |client| client.held.len() == 1);
    assert_eq!(client.held, [held(Some("HOUSE"), 7, 1)]);
    // The other side, in its next session.
    drop(other);
    rig.until_venue(|venue| venue.connection_count() == 1);
    let mut other = rig.log_on("BETA");
    other.request(rig.now, &ask("D", None));
    rig.until(&mut other, |other| other.held.len() == 1);
    assert_eq!(other.held, [held(None, -10, 1)]);
}
