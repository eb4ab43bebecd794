//! The shared memory of a gateway: which region holds what.
//!
//! One segment is for everybody ([`Regions`]): market events, the clock, what is measured and
//! counted. Each strategy in a process of its own has one more ([`StrategyRegions`]).

use taut_ipc::{IpcError, Region, Segment};
use taut_lat::{FlightRecord, HISTOGRAM_WORDS, PATH_WORDS, PathRecorder, PathView, Recorder, View};
use taut_ring::broadcast::Publisher;
use taut_ring::{Bell, Policy, broadcast, cell, spsc};
use taut_sync::atomic::AtomicU64;
use taut_sys::MAPPING_WORDS;

use crate::counters::{GatewayCounters, StrategyCounters};
use crate::error::GatewayError;

/// Slots of the market-data ring: 512 KiB, within a second-level cache; 8192 events are some 100 ms
/// of a busy feed.
pub(crate) const TICKS_LAYOUT: broadcast::Layout =
    broadcast::Layout { slot_count: 8_192, reader_count: 0 };
/// Slots of the flight recorder: the last orders with all their stamps, 256 KiB.
pub(crate) const FLIGHT_LAYOUT: broadcast::Layout =
    broadcast::Layout { slot_count: 4_096, reader_count: 0 };
/// Slots of a request ring and of a reply ring.
pub(crate) const REQUEST_SLOTS: usize = 1_024;
pub(crate) const REPLY_SLOTS: usize = 8_192;

const fn region(id: u32, words: usize) -> Region {
    Region { id, version: 4, words }
}

const CLOCK: Region = region(1, cell::words_for(MAPPING_WORDS));
const TICKS: Region = region(2, broadcast::words_for(TICKS_LAYOUT.slot_count, 0));
const GATEWAY: Region = region(3, GatewayCounters::WORDS);
const PATH: Region = region(4, PATH_WORDS);
const ROUND_TRIP: Region = region(5, HISTOGRAM_WORDS);
const BARE_SEND: Region = region(6, HISTOGRAM_WORDS);
const PUBLISHED: Region = region(7, TICKS_LAYOUT.slot_count);
const FLIGHT: Region = region(8, broadcast::words_for(FLIGHT_LAYOUT.slot_count, 0));

const REQUESTS: Region = region(1, spsc::words_for(REQUEST_SLOTS));
const REPLIES: Region = region(2, spsc::words_for(REPLY_SLOTS));
const STRATEGY: Region = region(3, StrategyCounters::WORDS);
/// A line of its own: the gateway looks at it with every publication.
const SLEEP: Region = region(4, 8);

/// The regions of the segment that gateway, strategies and observers share.
#[derive(Clone, Copy, Debug)]
pub struct Regions<'m> {
    /// Seqlock cell: how ticks become CLOCK_MONOTONIC. Written by whoever anchors the clock.
    pub clock: &'m [AtomicU64],
    /// Broadcast ring: market events, gateway to strategies.
    pub ticks: &'m [AtomicU64],
    /// [`GatewayCounters`].
    pub gateway: &'m [AtomicU64],
    /// Histograms of the stages and of tick-to-trade.
    pub path: &'m [AtomicU64],
    /// Histogram: from the send call to the first answer.
    pub round_trip: &'m [AtomicU64],
    /// Histogram: the same send call without taut around it, where an
    /// [`Observer`](crate::Observer) measures it.
    pub bare_send: &'m [AtomicU64],
    /// When the events of the last packets were published: a word for each.
    pub published: &'m [AtomicU64],
    /// Broadcast ring: the last orders, each with all its stamps.
    pub flight: &'m [AtomicU64],
}

impl<'m> Regions<'m> {
    /// Every region, for [`Segment::create`].
    pub const LAYOUT: [Region; 8] =
        [CLOCK, TICKS, GATEWAY, PATH, ROUND_TRIP, BARE_SEND, PUBLISHED, FLIGHT];

    /// The regions of a segment.
    ///
    /// # Errors
    /// When the segment has another layout.
    pub fn of(segment: &'m Segment) -> Result<Self, IpcError> {
        Ok(Self {
            clock: segment.region(CLOCK)?,
            ticks: segment.region(TICKS)?,
            gateway: segment.region(GATEWAY)?,
            path: segment.region(PATH)?,
            round_trip: segment.region(ROUND_TRIP)?,
            bare_send: segment.region(BARE_SEND)?,
            published: segment.region(PUBLISHED)?,
            flight: segment.region(FLIGHT)?,
        })
    }
}

/// The regions of the segment that a gateway shares with one strategy.
#[derive(Clone, Copy, Debug)]
pub struct StrategyRegions<'m> {
    /// SPSC ring: requests, strategy to gateway.
    pub requests: &'m [AtomicU64],
    /// SPSC ring: order updates and what the gateway says, gateway to strategy.
    pub replies: &'m [AtomicU64],
    /// [`StrategyCounters`].
    pub counters: &'m [AtomicU64],
    /// Whether the strategy sleeps, and must be woken.
    pub bell: Bell<'m>,
}

impl<'m> StrategyRegions<'m> {
    /// Every region, for [`Segment::create`].
    pub const LAYOUT: [Region; 4] = [REQUESTS, REPLIES, STRATEGY, SLEEP];

    /// The regions of a segment.
    ///
    /// # Errors
    /// When the segment has another layout.
    pub fn of(segment: &'m Segment) -> Result<Self, IpcError> {
        Ok(Self {
            requests: segment.region(REQUESTS)?,
            replies: segment.region(REPLIES)?,
            counters: segment.region(STRATEGY)?,
            bell: segment.bell(SLEEP)?,
        })
    }
}

/// The gateway's histograms and its flight recorder, to write.
#[derive(Debug)]
pub(crate) struct Recorders<'m> {
    path: PathRecorder<'m>,
    pub(crate) round_trip: Recorder<'m>,
    flight: Publisher<'m>,
}

impl<'m> Recorders<'m> {
    /// Recorders over the regions. One process records.
    ///
    /// # Errors
    /// When a region is too small.
    pub fn new(regions: &Regions<'m>) -> Result<Self, GatewayError> {
        let too_small = GatewayError::Histograms;
        Ok(Self {
            path: PathRecorder::new(regions.path).ok_or(too_small)?,
            round_trip: Recorder::new(regions.round_trip).ok_or(too_small)?,
            flight: Publisher::resume(regions.flight, FLIGHT_LAYOUT, Policy::Overwrite)
                .map_err(GatewayError::Region)?,
        })
    }

    /// Records an order that has left. Allocates nothing.
    pub(crate) fn record(&mut self, order: &FlightRecord) {
        self.path.record(&order.stamps.offsets);
        // Nobody is waited for: who reads too slowly is told what it lost.
        let _ = self.flight.publish(&order.to_words());
    }
}

/// The histograms, to read, also while they are written.
#[derive(Clone, Copy, Debug)]
pub struct Views<'m> {
    /// The stages and tick-to-trade.
    pub path: PathView<'m>,
    /// From the send call to the first answer.
    pub round_trip: View<'m>,
    /// The bare send call.
    pub bare_send: View<'m>,
}

impl<'m> Views<'m> {
    /// Views over the regions.
    ///
    /// # Errors
    /// When a region is too small.
    pub fn new(regions: &Regions<'m>) -> Result<Self, GatewayError> {
        let too_small = GatewayError::Histograms;
        Ok(Self {
            path: PathView::new(regions.path).ok_or(too_small)?,
            round_trip: View::new(regions.round_trip).ok_or(too_small)?,
            bare_send: View::new(regions.bare_send).ok_or(too_small)?,
        })
    }
}
