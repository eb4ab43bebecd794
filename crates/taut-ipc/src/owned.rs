//! Publications and subscriptions that own their channel, for objects that live on their own.

use std::sync::Arc;

use taut_ring::Policy;
use taut_ring::broadcast::Start;

use crate::channel::Channel;
use crate::error::IpcError;
use crate::publication::LogPublication;
use crate::subscription::{Join, LogSubscription};

/// A [`LogPublication`] together with its channel.
#[derive(Debug)]
pub struct OwnedLogPublication {
    // Before the channel that it borrows: fields are dropped in this order.
    publication: LogPublication<'static>,
    channel: Arc<Channel>,
}

/// A [`LogSubscription`] together with its channel.
#[derive(Debug)]
pub struct OwnedLogSubscription {
    // Before the channel that it borrows: fields are dropped in this order.
    subscription: LogSubscription<'static>,
    channel: Arc<Channel>,
}

impl OwnedLogPublication {
    /// As [`Channel::publish_log`].
    ///
    /// # Errors
    /// As there.
    pub fn open(
        channel: Arc<Channel>,
        stream: &str,
        layout: u64,
        policy: Policy,
    ) -> Result<Self, IpcError> {
        let publication = channel.publish_log(stream, layout, policy)?;
        // SAFETY: the publication borrows the channel behind the `Arc` alone, which has a fixed
        // address and lives until `self.channel` is dropped, after the publication. Nobody gets at
        // the longer lifetime: `with` lends the publication for any lifetime that its user likes.
        let publication = unsafe {
            std::mem::transmute::<LogPublication<'_>, LogPublication<'static>>(publication)
        };
        Ok(Self { publication, channel })
    }

    /// Lends the publication.
    #[inline]
    pub fn with<T>(&mut self, with: impl FnOnce(&mut LogPublication<'_>) -> T) -> T {
        with(&mut self.publication)
    }

    /// How many bytes the slowest registered reader is behind. Readers tell every eighth of the
    /// capacity, and when they find nothing.
    #[must_use]
    pub fn behind(&self) -> u64 {
        let head = self.publication.position();
        let behind = self.publication.readers().map(|(_, reader)| head.wrapping_sub(reader.cursor));
        behind.max().unwrap_or(0)
    }

    /// How many bytes the reader at a place is behind, or was when it left or died: what it told
    /// last.
    #[must_use]
    pub fn behind_of(&self, place: usize) -> u64 {
        let cursor = self.publication.reader(place).map(|reader| reader.cursor);
        cursor.map_or(0, |cursor| self.publication.position().saturating_sub(cursor))
    }

    /// Its channel.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }
}

impl OwnedLogSubscription {
    /// As [`Channel::subscribe_log`].
    ///
    /// # Errors
    /// As there.
    pub fn open(
        channel: Arc<Channel>,
        stream: &str,
        layout: u64,
        start: Start,
        join: Join,
    ) -> Result<Self, IpcError> {
        let subscription = channel.subscribe_log(stream, layout, start, join)?;
        // SAFETY: as in `OwnedLogPublication::open`.
        let subscription = unsafe {
            std::mem::transmute::<LogSubscription<'_>, LogSubscription<'static>>(subscription)
        };
        Ok(Self { subscription, channel })
    }

    /// Lends the subscription.
    #[inline]
    pub fn with<T>(&mut self, with: impl FnOnce(&mut LogSubscription<'_>) -> T) -> T {
        with(&mut self.subscription)
    }

    /// Its channel.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }
}
