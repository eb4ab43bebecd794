//! The session's journal: a gateway takes up what it recovered, before it connects to the venue.
//!
//! Orders stand as after a disconnect: requests without an answer are lost, and after the logon the
//! venue is asked about every order. What is killed stays killed.

use taut_journal::{Asked, LOT_VALUE, OpenOrder, State, Writer};
use taut_oms::{
    ExecId, KillScope, Latched, Order, PositionKey, RequestKind, RiskInstrument, TableError,
};
use taut_types::{Lots, Nanos, OrderTerms, Price};

use super::OrderSession;
use super::handler::OrderHandler;
use crate::error::GatewayError;
use crate::journal::{OrderJournal, OrderWriter};
use crate::owner::Owner;

const INSTRUMENTS: GatewayError =
    GatewayError::Journal("it has orders or positions in an instrument that the settings lack");
const ORDERS: GatewayError =
    GatewayError::Journal("it has more open orders than the gateway has room for");
const POSITIONS: GatewayError =
    GatewayError::Journal("it has more positions than the gateway has room for");

impl<H: OrderHandler> OrderSession<H> {
    /// Takes up what was recovered, and writes into its journal from here on.
    pub(crate) fn resume(
        &mut self,
        writer: impl Into<OrderWriter>,
        recovered: &State,
        utc: Nanos,
    ) -> Result<(), GatewayError> {
        self.journal =
            OrderJournal::new(writer.into(), &self.instruments, self.instrument_capacity);
        // Gains before losses: on the way an account has never less than in the end, and what is
        // within its limit stops nothing.
        let mut positions: Vec<_> = recovered.positions.iter().collect();
        positions.sort_by_key(|(_, position)| std::cmp::Reverse(position.realised()));
        for (key, position) in positions {
            self.resume_position(*key, position)?;
        }
        for (key, earned) in &recovered.earned_before {
            self.positions.restore_earned(*key, *earned);
        }
        (self.day, self.earned_before) = (recovered.day, recovered.earned_before.clone());
        for open in recovered.orders.values() {
            self.resume_order(open)?;
        }
        for fill in &recovered.executions {
            let exec_id = ExecId::new(fill.exec_id.as_bytes());
            self.table.restore_execution(fill.order, exec_id, fill.lots, fill.price);
        }
        self.risk.kill_switch_mut().restore(recovered.killed.iter().copied());
        self.killed_at = self.kill_switch().latched().map(|it| (it.scope, None)).collect();
        for word in recovered.killed.iter().filter(|word| Latched::from_word(**word).is_none()) {
            // It stops everything now, under a word that can be read and released.
            let entry = |word, is_latched| taut_journal::Entry::KillSwitch { word, is_latched };
            let all = self.kill_switch().latched().next();
            all.iter().for_each(|all| self.journal.note_kill(utc, *all, true));
            self.journal.note(utc, || entry(*word, false));
        }
        Ok(())
    }

    fn resume_position(
        &mut self,
        key: PositionKey,
        position: &taut_oms::Position,
    ) -> Result<(), GatewayError> {
        let instrument = self.instruments.get(key.instrument.0 as usize);
        let Some(of) = instrument.and_then(RiskInstrument::of) else {
            return if position.lots() == Lots::ZERO { Ok(()) } else { Err(INSTRUMENTS) };
        };
        let position = position.rescaled(LOT_VALUE, of.lot_value);
        self.positions.restore(key, position).map_err(|_| POSITIONS)?;
        // What it has earned counts against the loss limit as it did.
        let price = position.average(of.lot_value).unwrap_or(Price(0));
        let earned = position.fees() - position.realised();
        self.risk.traded(key.instrument, key.account, position.lots(), price, earned);
        Ok(())
    }

    fn resume_order(&mut self, open: &OpenOrder) -> Result<(), GatewayError> {
        let it = &open.order;
        if it.terms.instrument.0 as usize >= self.instruments.len() {
            return Err(INSTRUMENTS);
        }
        let versions = (it.version_sent, it.version_accepted);
        let traded = (it.lots_filled, it.worth);
        let mut order = Order::recovered(it.order, &it.terms, it.tag, versions, traded);
        for request in &open.unanswered {
            let (kind, price, lots) = match request.asked {
                Asked::Modify { price, lots } => (RequestKind::Modify, price, lots),
                Asked::Cancel => (RequestKind::Cancel, Price(0), Lots::ZERO),
            };
            order = order.with_lost(request.version, kind, price, lots);
        }
        let order = order.owned_by(open.owner);
        self.handler.adopt(&order, it.venue_id.as_bytes());
        self.risk.restore(order.counted_as(), &order.terms, order.lots_open_max());
        self.table.adopt(order).map_err(|_: TableError| ORDERS)
    }
}

impl<H: OrderHandler> OrderSession<H> {
    /// What writes the journal.
    pub(crate) const fn journal_writer(&mut self) -> Option<&mut Writer> {
        self.journal.writer()
    }

    /// Takes what writes the journal out of it.
    pub(crate) fn close_journal(&mut self) -> Option<Writer> {
        self.journal.close()
    }

    /// What is not in the journal and should be.
    pub(crate) fn journal_missed(&self) -> u64 {
        self.journal.missed()
    }

    /// Writes down anew what the journal could not take when it happened.
    pub(super) fn catch_up(&mut self, utc: Nanos) {
        if self.journal.misses_day() {
            self.note_day(utc);
        }
        let Self { journal, table, positions, instruments, risk, .. } = self;
        journal.catch_up_with_kills(utc, risk.kill_switch().latched());
        journal.catch_up(utc, table, |order| {
            let OrderTerms { instrument, account, .. } = order.terms;
            let Owner { user, strategy } = order.owner;
            let key = PositionKey { account, user, strategy, instrument };
            let of = RiskInstrument::of(instruments.get(instrument.0 as usize)?)?;
            Some((key, positions.get(key)?.rescaled(of.lot_value, LOT_VALUE)))
        });
    }

    /// Lets a scope trade again; whether it did not.
    pub(crate) fn revive(&mut self, utc: Nanos, scope: KillScope) -> bool {
        if let Some(latched) = self.latched(scope) {
            self.journal.note_kill(utc, latched, false);
        }
        self.killed_at.retain(|(killed, _)| *killed != scope);
        self.risk.kill_switch_mut().revive(scope)
    }

    /// A scope that was stopped since the last call: it is written down, and its open orders are to
    /// be cancelled.
    pub(crate) fn poll_killed(&mut self, utc: Nanos) -> Option<KillScope> {
        let scope = self.risk.kill_switch_mut().poll_killed()?;
        if let Some(latched) = self.latched(scope) {
            self.journal.note_kill(utc, latched, true);
        }
        if self.killed_at.iter().all(|(killed, _)| *killed != scope) {
            self.killed_at.push((scope, Some(utc)));
        }
        Some(scope)
    }

    /// When a scope was stopped; nothing when that was before this gateway began.
    pub(crate) fn killed_at(&self, scope: KillScope) -> Option<Nanos> {
        self.killed_at.iter().find(|(killed, _)| *killed == scope)?.1
    }

    fn latched(&self, scope: KillScope) -> Option<Latched> {
        self.kill_switch().latched().find(|latched| latched.scope == scope)
    }
}
