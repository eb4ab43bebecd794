//! Trades that are taken back.

use taut_fix::Now;
use taut_io::Kernel;

use super::Exchange;
use crate::clients::ClientIo;
use crate::error::VenueError;
use crate::journal::Input;

impl Exchange {
    /// Takes back the trade of which a report with this ExecID (17) told: what was held is held
    /// again, and both sides hear it, also of orders that are over. Orders are not opened again.
    /// Whether it was not taken back before; nothing where no such trade is remembered.
    pub(crate) fn bust(
        &mut self,
        now: Now,
        exec_id: u64,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) -> Result<Option<bool>, VenueError> {
        let Some(trade) = self.orders.trades.of(exec_id) else { return Ok(None) };
        if std::mem::replace(&mut trade.is_busted, true) {
            return Ok(Some(false));
        }
        let trade = *trade;
        self.counters.busts += 1;
        let utc = self.stamp(now).utc;
        let of = &self.listings.all()[trade.place];
        for part in trade.parts.iter().flatten() {
            let left = self.orders.take_back(&trade, part);
            let report = self.reporter.busted(utc, of, &trade, part, &left);
            clients.report(now, part.client, &report);
        }
        self.finish(now, || Input::Bust { exec_id }, clients)?;
        self.settle(now, clients)?;
        Ok(Some(true))
    }
}
