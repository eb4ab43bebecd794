//! FIX: what is asked for and answered at once: orders, instruments, books, positions, the account.

use taut_types::OrderId;

use crate::decimal::{self, parse};
use crate::deribit::fix_fields::{contracts, nothing_found, security};
use crate::deribit::fix_session::{Entries, Following};
use crate::deribit::market::Market;
use crate::deribit::order::parse_order_id;
use crate::deribit::state::Deribit;
use crate::fix::FixMessage;

impl Deribit {
    pub(super) fn serve_question(&mut self, connection: u64, account: usize, it: &FixMessage) {
        match it.kind.as_str() {
            "AF" => self.tell_orders(connection, account, it),
            "x" => self.tell_securities(connection, it),
            "e" => self.tell_status(connection, it),
            "V" => self.follow(connection, it),
            "AN" => self.tell_positions(connection, account, it),
            "BE" => self.tell_account(connection, account, it),
            _ => self.reject(connection, it, "this message is not served here"),
        }
    }

    /// OrderMassStatusRequest (AF): one order (585=1) by the venue's id; those of the client's name
    /// (9014=1) or a label (9014=2); or all that are open (585=7), of a symbol where one is named.
    fn tell_orders(&mut self, connection: u64, account: usize, it: &FixMessage) {
        let name = it.text(584);
        let symbol = it.get(55);
        let is_of_symbol = |place: usize| {
            let market = self.market(place);
            symbol.is_none_or(|name| market.is_some_and(|it| it.settings.name == name))
        };
        let own = self.orders.values().filter(|order| order.account == account);
        let own = own.filter(|order| is_of_symbol(order.place));
        let orders: Vec<OrderId> = match (it.text(585), it.text(9014)) {
            ("1", "" | "0") => {
                let id = parse_order_id(name);
                own.filter(|order| Some(order.id) == id).map(|order| order.id).collect()
            }
            (_, "1") => own.filter(|order| order.client_id == name).map(|order| order.id).collect(),
            (_, "2") => own.filter(|order| order.label == name).map(|order| order.id).collect(),
            ("7", _) => own.filter(|order| order.state.is_live()).map(|order| order.id).collect(),
            _ => return self.reject(connection, it, "MassStatusReqType (585) is 1 or 7"),
        };
        if orders.is_empty() {
            let fields = nothing_found(it, self.ms());
            return self.send_fix(connection, "8", &fields);
        }
        for (at, id) in orders.iter().enumerate() {
            let Some(mut fields) = self.report(*id, b'I') else { continue };
            fields.extend(it.same(&[584, 585]));
            fields.push((911, orders.len().to_string()));
            let is_last = if at + 1 == orders.len() { "Y" } else { "N" };
            fields.push((912, is_last.to_owned()));
            self.send_fix(connection, "8", &fields);
        }
    }

    /// SecurityListRequest (x).
    fn tell_securities(&mut self, connection: u64, it: &FixMessage) {
        let is_asked = |market: &&Market| {
            let said = security(market);
            let has = |tag: i32, value: &str| said.contains(&(tag, value.to_owned()));
            let is_of = |currency: &str| has(15, currency) || market.settings.base == currency;
            it.get(15).is_none_or(is_of)
                && it.get(167).is_none_or(|kind| has(167, kind))
                && it.get(55).is_none_or(|name| has(55, name))
        };
        let markets: Vec<_> = self.markets.iter().filter(is_asked).collect();
        let mut fields = it.same(&[320]);
        fields.push((322, format!("R{}", it.text(34))));
        fields.push((560, if markets.is_empty() { "2" } else { "0" }.to_owned()));
        fields.push((146, markets.len().to_string()));
        fields.extend(markets.into_iter().flat_map(security));
        self.send_fix(connection, "y", &fields);
    }

    /// SecurityStatusRequest (e): whether an instrument is traded.
    fn tell_status(&mut self, connection: u64, it: &FixMessage) {
        let name = it.text(55);
        let Some(market) = self.markets.iter().find(|market| market.settings.name == name) else {
            return self.reject(connection, it, "Symbol (55) is unknown");
        };
        let mut fields = it.same(&[324, 55]);
        // Active and ready to trade, or neither.
        let (status, trading) = if market.is_open() { ("1", "17") } else { ("2", "2") };
        fields.extend([(965, status.to_owned()), (326, trading.to_owned())]);
        self.send_fix(connection, "f", &fields);
    }

    /// MarketDataRequest (V): a snapshot (263=0), or one and what follows (1), or an end to it (2).
    fn follow(&mut self, connection: u64, it: &FixMessage) {
        let id = it.text(262).to_owned();
        let Some(session) = self.fix_sessions.get_mut(&connection) else { return };
        let Some(logon) = session.logon.as_mut() else { return };
        let subscribes = match it.text(263) {
            "2" => return logon.follows.retain(|following| following.id != id),
            "1" => true,
            _ => false,
        };
        let is_taken = logon.follows.iter().any(|following| following.id == id);
        let depth = it.get(264).map_or(Some(0), |depth| depth.parse::<usize>().ok());
        let depth = match (it.text(265), depth) {
            // Whole, then its changes.
            ("1", Some(0)) => Some(None),
            ("0", Some(depth @ (1 | 10 | 20))) => Some(Some(depth)),
            (_, Some(depth)) if !subscribes => {
                Some(Some(if depth == 0 { usize::MAX } else { depth }))
            }
            _ => None,
        };
        let place = |name: &str| self.markets.iter().position(|it| it.settings.name == name);
        let places: Option<Vec<usize>> = it.all(55).map(place).collect();
        let places = places.filter(|places| !places.is_empty());
        // MDReqRejReason (281).
        let wrong = match (is_taken, depth, Entries::of(it), &places) {
            (true, ..) => Some(("1", "MDReqID (262) is in use")),
            (_, None, ..) => Some(("5", "MarketDepth (264) and MDUpdateType (265) do not fit")),
            (_, _, None, _) => Some(("8", "MDEntryType (269) is not served here")),
            (_, _, _, None) => Some(("0", "Symbol (55) is unknown")),
            _ => None,
        };
        let (Some(depth), Some(entries), Some(places), None) =
            (depth, Entries::of(it), places, wrong)
        else {
            let (reason, text) = wrong.unwrap_or(("0", "the request cannot be served"));
            let fields = [(262, id), (281, reason.to_owned()), (58, text.to_owned())];
            return self.send_fix(connection, "Y", &fields);
        };
        let most = it.text(100_007).parse().unwrap_or(20_usize).min(1_000);
        for place in &places {
            let fields = self.snapshot(&id, *place, entries, (depth.unwrap_or(usize::MAX), most));
            self.send_fix(connection, "W", &fields);
            // Whole books are long: each leaves before the next one.
            self.flush_fix(connection);
        }
        let session = self.fix_sessions.get_mut(&connection).filter(|_| subscribes);
        let logon = session.and_then(|session| session.logon.as_mut());
        let following = Following { id, places, entries, depth };
        logon.into_iter().for_each(|logon| logon.follows.push(following.clone()));
    }

    /// RequestForPositions (AN): one PositionReport (AP) with all of them.
    fn tell_positions(&mut self, connection: u64, account: usize, it: &FixMessage) {
        let mut fields = it.same(&[710]);
        let mut group = Vec::new();
        let mut count = 0;
        let positions = self.accounts.get(account).map(|it| it.positions.clone());
        for (place, position) in positions.unwrap_or_default() {
            let Some(market) = self.market(place).filter(|_| position.size != 0) else { continue };
            let tag = if position.size > 0 { 704 } else { 705 };
            count += 1;
            group.extend([
                (703, "TQ".to_owned()),
                (tag, contracts(position.size.abs(), market)),
                (55, market.settings.name.clone()),
                (231, decimal::text(market.sizes.contract)),
                (883, decimal::text(market.mark())),
                (730, decimal::text(position.average)),
            ]);
        }
        fields.extend([(721, format!("P{}", it.text(34))), (728, "0".to_owned())]);
        fields.push((702, count.to_string()));
        fields.extend(group);
        self.send_fix(connection, "AP", &fields);
    }

    /// UserRequest (BE): what the account has in a currency (15, or BTC).
    fn tell_account(&mut self, connection: u64, account: usize, it: &FixMessage) {
        let currency = it.get(15).unwrap_or("BTC").to_owned();
        let portfolio = self.portfolio(account, &currency);
        let mut fields = it.same(&[923, 553]);
        fields.extend([(926, "1".to_owned()), (15, currency)]);
        for (tag, name) in [
            (100_001, "equity"),
            (100_002, "balance"),
            (100_003, "initial_margin"),
            (100_004, "maintenance_margin"),
            (100_005, "session_upl"),
            (100_006, "session_rpl"),
            (100_011, "total_pl"),
            (100_013, "margin_balance"),
        ] {
            let value = parse(&portfolio[name].to_string()).map(decimal::text);
            fields.extend(value.map(|value| (tag, value)));
        }
        self.send_fix(connection, "BF", &fields);
    }
}
