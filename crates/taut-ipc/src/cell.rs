//! The newest value by name: top of book, positions, limits.

use taut_ring::cell::{CellReader, CellWriter};

use crate::channel::Channel;
use crate::error::IpcError;
use crate::publication::Ownership;
use crate::stream::{StreamKind, behind_control};

/// The writing end of a cell. There is one at a time.
#[derive(Debug)]
pub struct CellPublication<'c, const N: usize> {
    // The cell first: it is dropped before the lock that guards it.
    writer: CellWriter<'c, N>,
    _ownership: Ownership<'c>,
}

impl Channel {
    /// Begins to write a cell of `N` words. `layout` 0 accepts any.
    ///
    /// # Errors
    /// When there is no such cell, it has another length or layout, or a writer.
    pub fn publish_cell<const N: usize>(
        &self,
        stream: &str,
        layout: u64,
    ) -> Result<CellPublication<'_, N>, IpcError> {
        let words = self.cell::<N>(stream, layout)?;
        let (ownership, _) = Ownership::take(self, stream)?;
        let writer = CellWriter::new(words)?;
        ownership.sign();
        Ok(CellPublication { writer, _ownership: ownership })
    }

    /// A view of a cell of `N` words, also through a read-only mapping. `layout` 0 accepts any.
    ///
    /// # Errors
    /// When there is no such cell, or it has another length or layout.
    pub fn read_cell<const N: usize>(
        &self,
        stream: &str,
        layout: u64,
    ) -> Result<CellReader<'_, N>, IpcError> {
        Ok(CellReader::new(self.cell::<N>(stream, layout)?)?)
    }

    fn cell<const N: usize>(
        &self,
        stream: &str,
        layout: u64,
    ) -> Result<&[taut_sync::atomic::AtomicU64], IpcError> {
        let (_, descriptor, words) = self.stream(stream)?;
        let kind = descriptor.stream().map(|stream| stream.kind);
        if kind != Some(StreamKind::Cell { word_count: N }) {
            return Err(IpcError::Stream);
        }
        Self::check_layout(&descriptor, layout)?;
        Ok(behind_control(words))
    }
}

impl<const N: usize> CellPublication<'_, N> {
    /// Replaces the value. It never waits, and wakes nobody: who reads a cell looks.
    #[inline]
    pub fn set(&mut self, value: &[u64; N]) {
        self.writer.set(value);
    }
}
