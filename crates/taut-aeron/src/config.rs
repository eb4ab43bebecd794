//! Parameters of publications and subscriptions, by Aeron's names.

use core::net::SocketAddr;

use taut_types::Nanos;

use crate::destinations::DestinationMode;
use crate::error::{Error, Parameter};
use crate::flow::FlowControl;
use crate::terms::{FRAME_ALIGNMENT, TERM_LENGTH_MAX, Terms};

/// The longest datagram of any stream.
pub const MTU_MAX: i32 = 65_504;
const MTU_MIN: i32 = 64;

/// What a publication is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicationConfig {
    /// `session-id`: random, so that nobody can guess it.
    pub session_id: i32,
    /// The stream on its channel.
    pub stream_id: i32,
    /// `init-term-id`.
    pub initial_term_id: i32,
    /// `term-id`: where to start.
    pub term_id: i32,
    /// `term-offset`: where in it.
    pub term_offset: i32,
    /// `term-length`. A message is at most an eighth of it.
    pub term_length: i32,
    /// `mtu`: the longest datagram, without the headers of UDP and IP.
    pub mtu: i32,
    /// `ttl`: multicast hops.
    pub ttl: i32,
    /// `fc`.
    pub flow: FlowControl,
    /// How long a receiver may be silent.
    pub receiver_timeout: Nanos,
    /// How many receivers are kept account of.
    pub receivers_max: usize,
    /// `control-mode`.
    pub destinations: DestinationMode,
    /// How many destinations there may be.
    pub destinations_max: usize,
    /// How many of the receivers, and of the destinations, one host may be.
    pub per_host_max: usize,
    /// Many receivers hear what is sent (multicast or many destinations).
    pub is_group: bool,
    /// `linger`: how long repairs are answered after the end.
    pub linger: Nanos,
    /// `eos`: say so at the end.
    pub announces_end: bool,
    /// How many datagrams a run may have: 1 without segmentation offload.
    pub segments_max: usize,
    /// For values that nobody can guess.
    pub secret: u128,
}

impl Default for PublicationConfig {
    /// A unicast stream with terms of 256 KiB. The caller gives a random session, first term and
    /// secret.
    fn default() -> Self {
        Self {
            session_id: 1,
            stream_id: 1001,
            initial_term_id: 0,
            term_id: 0,
            term_offset: 0,
            term_length: 256 * 1024,
            mtu: 1408,
            ttl: 0,
            flow: FlowControl::Max,
            receiver_timeout: Nanos::from_secs(5),
            receivers_max: 64,
            destinations: DestinationMode::Fixed,
            destinations_max: 64,
            per_host_max: 32,
            is_group: false,
            linger: Nanos::from_secs(5),
            announces_end: true,
            segments_max: 1,
            secret: 0,
        }
    }
}

impl PublicationConfig {
    /// # Errors
    /// The parameter that is outside its limits.
    pub(crate) fn checked(&self) -> Result<(Terms, i64), Error> {
        let terms = Terms::new(self.initial_term_id, self.term_length)?;
        check_mtu(self.mtu)?;
        let is_inside = self.term_offset < self.term_length && self.term_offset >= 0;
        if !is_inside || self.term_offset % FRAME_ALIGNMENT != 0 {
            return Err(Error::Misuse(Parameter::TermOffset));
        }
        let start = terms.position(self.term_id, self.term_offset);
        Ok((terms, start.ok_or(Error::Misuse(Parameter::TermId))?))
    }
}

pub(crate) const fn check_mtu(mtu: i32) -> Result<(), Error> {
    if mtu >= MTU_MIN && mtu <= MTU_MAX && mtu % FRAME_ALIGNMENT == 0 {
        Ok(())
    } else {
        Err(Error::Misuse(Parameter::Mtu))
    }
}

/// How a receiver sizes its window (`cc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// Always `rcv-wnd`.
    Static,
    /// Grows and shrinks with loss, at most to `rcv-wnd`.
    Cubic,
}

/// Whether an application that does not keep up holds its stream back (`tether`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tether {
    /// The sender may be `rcv-wnd` ahead of what was read.
    Held,
    /// It never waits for long (`tether=false`): an application that is more than `rcv-wnd` behind
    /// loses what it has not read, is told how much, and goes on at the live position. The image
    /// holds twice the window.
    Loose {
        /// `untethered-window-limit-timeout`: how long it may be behind before.
        limit_timeout: Nanos,
        /// `untethered-resting-timeout`: how long nothing is delivered then.
        resting_timeout: Nanos,
    },
}

impl Tether {
    /// No tether, and no time to catch up.
    pub const LOOSE: Self = Self::Loose { limit_timeout: Nanos(0), resting_timeout: Nanos(0) };
}

/// What a subscription is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriptionConfig {
    /// The stream on its channel.
    pub stream_id: i32,
    /// `session-id`: only this one, or any.
    pub session_id: Option<i32>,
    /// Who this receiver is: random.
    pub receiver_id: i64,
    /// `gtag`.
    pub group_tag: Option<i64>,
    /// `rcv-wnd`: how much may be under way.
    pub receiver_window: i32,
    /// `cc`.
    pub congestion: CongestionControl,
    /// `reliable`: repair gaps, or pass them.
    pub is_reliable: bool,
    /// `nak-delay`: how long a gap may heal by itself, beside what reordering teaches.
    pub nak_delay: Nanos,
    /// `rejoin`: an image that fell silent may come back.
    pub rejoins: bool,
    /// `tether`.
    pub tether: Tether,
    /// Where to send feedback: a multicast group's control address. Otherwise each source.
    pub feedback: Option<SocketAddr>,
    /// The publication's control address, to be asked for SETUPs (`control`).
    pub elicit: Option<SocketAddr>,
    /// The data may come from several sources (multi-destination subscription).
    pub has_many_sources: bool,
    /// `validate`: a source must echo a random value before memory is taken for it.
    pub validates: bool,
    /// How long a source may be silent.
    pub liveness: Nanos,
    /// How many images there may be at a time.
    pub images_max: usize,
    /// How many of them one host may send.
    pub images_per_host_max: usize,
    /// The longest message that is put together from fragments.
    pub message_bytes_max: usize,
    /// For values that nobody can guess.
    pub secret: u128,
}

impl Default for SubscriptionConfig {
    /// A reliable stream with a window of 128 KiB. The caller gives a random receiver id and
    /// secret.
    fn default() -> Self {
        Self {
            stream_id: 1001,
            session_id: None,
            receiver_id: 1,
            group_tag: None,
            receiver_window: 128 * 1024,
            congestion: CongestionControl::Static,
            is_reliable: true,
            nak_delay: Nanos::ZERO,
            rejoins: true,
            tether: Tether::Held,
            feedback: None,
            elicit: None,
            has_many_sources: false,
            validates: true,
            liveness: Nanos::from_secs(10),
            images_max: 32,
            images_per_host_max: 16,
            message_bytes_max: 16 * 1024 * 1024,
            secret: 0,
        }
    }
}

impl SubscriptionConfig {
    pub(crate) const fn checked(&self) -> Result<(), Error> {
        let window = self.receiver_window;
        if window < MTU_MIN || window > TERM_LENGTH_MAX / 2 {
            return Err(Error::Misuse(Parameter::ReceiverWindow));
        }
        Ok(())
    }
}
