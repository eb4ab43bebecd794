//! What a gateway can have besides its venue and its clients: a backup of its feed, drop copies, a
//! log.

use taut_io::Kernel;
use taut_log::LogWriter;
use taut_market_data::FeedHandler;
use taut_types::Nanos;

use super::Gateway;
use super::told::Told;
use crate::client::Client;
use crate::drop_copy::{DropCopies, VenueCopies};
use crate::error::GatewayError;
use crate::feed::FeedSockets;
use crate::observer::Observer;
use crate::order_entry::handler::OrderHandler;

impl<'m, C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>
    Gateway<'m, C, F, K, O, H>
{
    /// The same feed arrives at other sockets, too: they are taken when those in use have brought
    /// nothing for so long, or the books could not be made sound with what they brought.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub fn add_feed_backup(
        &mut self,
        sockets: FeedSockets,
        after: Nanos,
    ) -> Result<(), GatewayError> {
        let now = self.core.clock.now();
        self.core.feed.add_backup(self.events.io(), sockets, after, now)
    }

    /// Copies of every execution go there from now on.
    pub fn set_drop_copies(&mut self, copies: DropCopies) {
        self.core.orders.reports_mut().set_drop_copies(copies);
    }

    /// The venue's own drop copies are heard from now on.
    pub fn read_drop_copies(&mut self, copies: VenueCopies) {
        self.core.orders.read_copies(copies);
    }

    /// What happens is said there from now on.
    pub fn set_log(&mut self, log: LogWriter<'m>) {
        self.core.told = Some(Box::new(Told::by(log)));
    }
}
