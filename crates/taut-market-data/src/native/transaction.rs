//! The incremental channel: transactions as numbered packets.

use taut_types::{InstrumentId, Nanos, SequenceNumber};

use crate::event::{EventKind, TradingStatus};
use crate::native::error::SbeError;
use crate::native::message::Message;
use crate::native::packet::{PACKET_BYTES_MAX, PacketFlags, PacketHeader};
use crate::native::writer::PacketWriter;

type Writer = PacketWriter<[u8; PACKET_BYTES_MAX]>;

/// Packs transactions into packets that it numbers from 1, without a hole. The last packet of a
/// transaction is marked as such.
#[derive(Debug)]
pub struct TransactionWriter {
    writer: Writer,
    stream_id: u32,
    /// Of the last packet that was finished.
    sequence: u64,
    /// Whether a packet is being filled.
    is_open: bool,
}

impl TransactionWriter {
    /// A writer of this stream.
    #[must_use]
    pub const fn new(stream_id: u32) -> Self {
        let writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
        Self { writer, stream_id, sequence: 0, is_open: false }
    }

    /// The number of the last packet.
    #[must_use]
    pub const fn sequence(&self) -> SequenceNumber {
        SequenceNumber(self.sequence)
    }

    /// The next packet follows this one, which another writer of the same stream has finished.
    pub const fn go_on_behind(&mut self, last: SequenceNumber) {
        self.sequence = last.0;
    }

    /// Adds a message to the transaction; `send` takes the packet that it did not fit any more.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn push<E>(
        &mut self,
        utc: Nanos,
        message: &Message<'_>,
        send: &mut impl FnMut(SequenceNumber, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.append(utc, |writer| writer.push(message), send)
    }

    /// As [`push`](Self::push) of a [`Message::Event`] that is no status; see
    /// [`PacketWriter::push_event`].
    ///
    /// # Errors
    /// Those of `send`.
    #[inline(always)]
    pub fn push_event<E>(
        &mut self,
        utc: Nanos,
        instrument: InstrumentId,
        kind: &EventKind,
        send: &mut impl FnMut(SequenceNumber, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.append(utc, |writer| writer.push_event(instrument, kind), send)
    }

    #[inline(always)]
    fn append<E>(
        &mut self,
        utc: Nanos,
        push: impl Fn(&mut Writer) -> Result<(), SbeError>,
        send: &mut impl FnMut(SequenceNumber, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            if !self.is_open {
                self.begin(utc);
            }
            match push(&mut self.writer) {
                Err(SbeError::Full) if self.writer.message_count() > 0 => {
                    self.send(utc, PacketFlags::EMPTY, send)?;
                }
                // Every increment fits an empty packet.
                _ => return Ok(()),
            }
        }
    }

    fn begin(&mut self, utc: Nanos) {
        let header = self.header(self.sequence.saturating_add(1), PacketFlags::EMPTY, utc);
        // The buffer is as long as a packet can be: it has room for a header.
        let _ = self.writer.begin(header);
        self.is_open = true;
    }

    /// Ends the transaction: `send` takes its last packet. False when there was none.
    ///
    /// # Errors
    /// Those of `send`.
    #[inline]
    pub fn end<E>(
        &mut self,
        utc: Nanos,
        send: &mut impl FnMut(SequenceNumber, &[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let is_open = self.is_open;
        if is_open {
            self.send(utc, PacketFlags::LAST, send)?;
        }
        Ok(is_open)
    }

    /// The status of an instrument, a transaction of its own: `send` takes its packet, which is
    /// flagged, so that who reads the others need not look for one. Call it between transactions.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn status<E>(
        &mut self,
        utc: Nanos,
        instrument: InstrumentId,
        status: TradingStatus,
        send: &mut impl FnMut(SequenceNumber, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let status = Message::Event(instrument, EventKind::Status(status));
        self.push(utc, &status, send)?;
        self.send(utc, PacketFlags::LAST.with(PacketFlags::STATUS), send)
    }

    /// A packet without messages that repeats the last number; call it between transactions.
    pub fn heartbeat(&mut self, utc: Nanos) -> &[u8] {
        let flags = PacketFlags::HEARTBEAT.with(PacketFlags::LAST);
        let _ = self.writer.begin(self.header(self.sequence, flags, utc));
        self.writer.finish()
    }

    fn send<E>(
        &mut self,
        utc: Nanos,
        flags: PacketFlags,
        send: &mut impl FnMut(SequenceNumber, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let header = self.writer.header_mut();
        header.flags = flags;
        header.sending_time = utc;
        self.is_open = false;
        self.sequence = self.sequence.saturating_add(1);
        send(SequenceNumber(self.sequence), self.writer.finish())
    }

    const fn header(&self, sequence: u64, flags: PacketFlags, utc: Nanos) -> PacketHeader {
        PacketHeader {
            sequence: SequenceNumber(sequence),
            sending_time: utc,
            message_count: 0,
            flags,
            stream_id: self.stream_id,
        }
    }
}
