//! Room for a message, before it is sent.

use std::ops::{Deref, DerefMut};

use taut_io::{EpollKernel, Io, Kernel};
use taut_types::Nanos;

use crate::aeron::AeronClaim;
use crate::offer::OfferError;
use crate::publishing_end::PublishingEnd;

/// Room for a message, to be written. Dropped without a commit it leaves no trace.
#[derive(Debug)]
pub struct Claim<'p, K: Kernel = EpollKernel> {
    pub(crate) room: Room<'p, K>,
}

#[derive(Debug)]
pub(crate) enum Room<'p, K: Kernel> {
    Log(AeronClaim<'p>),
    Buffer(Buffer<'p, K>),
}

#[derive(Debug)]
pub(crate) struct Buffer<'p, K: Kernel> {
    pub(crate) end: &'p mut PublishingEnd,
    pub(crate) io: &'p mut Io<K>,
    pub(crate) now: Nanos,
    pub(crate) bytes: Vec<u8>,
}

impl<K: Kernel> Claim<'_, K> {
    /// Sends the message. Returns the position behind it.
    ///
    /// # Errors
    /// Only what became of the channel since: there was room.
    #[inline]
    pub fn commit(self) -> Result<u64, OfferError> {
        match self.room {
            Room::Log(claim) => Ok(claim.commit()),
            Room::Buffer(buffer) => buffer.commit(),
        }
    }

    /// Gives the room back.
    pub fn abort(self) {}
}

impl<K: Kernel> Deref for Claim<'_, K> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.room {
            Room::Log(claim) => claim.bytes(),
            Room::Buffer(buffer) => &buffer.bytes,
        }
    }
}

impl<K: Kernel> DerefMut for Claim<'_, K> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.room {
            Room::Log(claim) => claim.bytes_mut(),
            Room::Buffer(buffer) => &mut buffer.bytes,
        }
    }
}

impl<K: Kernel> Buffer<'_, K> {
    #[inline]
    fn commit(mut self) -> Result<u64, OfferError> {
        let bytes = std::mem::take(&mut self.bytes);
        let offered = self.end.offer(self.io, self.now, &bytes);
        self.bytes = bytes;
        offered
    }
}

impl<K: Kernel> Drop for Buffer<'_, K> {
    fn drop(&mut self) {
        // The next claim needs no memory of its own.
        self.end.give_back(std::mem::take(&mut self.bytes));
    }
}
