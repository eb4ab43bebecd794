//! Questions over HTTP, one at a time.

use std::collections::VecDeque;

use taut_fix::{LongText, Now};
use taut_oms::Rate;
use taut_order_entry::okx::{Question as Asking, Questioner, Which};
use taut_types::{ClientOrderId, InstrumentId, Nanos, RequestId};

use super::reading::{Page, Reading};
use super::settings::OkxOrderSettings;
use crate::credits::Credits;
use crate::order_entry::handler::{NotSent, VenueEvent};

/// How long the venue may take to answer.
const PATIENCE: Nanos = Nanos::from_secs(5);
/// When a question is asked again that nobody answered.
const AGAIN: Nanos = Nanos::from_secs(1);
/// Orders in an answer that is not the last one.
const PAGE: u32 = 100;
/// The longest request.
const BYTES: usize = 1_024;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Time,
    /// Where an order stands.
    Order(RequestId, InstrumentId),
    /// Where all open orders stand: those behind this one, of which so many were told.
    Open {
        after: Option<LongText>,
        told: u32,
    },
    /// What the account holds.
    Positions,
}

impl Asked {
    pub(super) const FIRST_PAGE: Self = Self::Open { after: None, told: 0 };

    /// Whether the other one asks the same, which is then not asked twice.
    fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Order(one, _), Self::Order(other, _)) => one.order == other.order,
            (Self::Open { .. }, Self::Open { .. })
            | (Self::Time, Self::Time)
            | (Self::Positions, Self::Positions) => true,
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// The number by which the gateway knows it.
    pub(super) id: u64,
    pub(super) asked: Asked,
    /// Not before then.
    at: Nanos,
    pub(super) sent_at: Nanos,
}

#[derive(Debug)]
pub(super) struct Questions {
    waiting: VecDeque<Question>,
    /// The one whose answer is to come.
    under_way: Option<Question>,
    credits: Credits,
    outbox: Box<[u8]>,
    unsent: usize,
}

impl Questions {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            waiting: VecDeque::with_capacity(64),
            under_way: None,
            credits: Credits::new(rate),
            outbox: vec![0; BYTES].into_boxed_slice(),
            unsent: 0,
        }
    }

    /// Takes what a question costs.
    pub(super) fn pay(&mut self, now: Now) -> Result<(), NotSent> {
        self.credits.take(now.mono, 1).map_err(NotSent::Throttled)
    }

    /// A question is to be asked. One that waits and asks the same makes way; one that is under way
    /// is asked again behind it, as what it is about may have changed since.
    pub(super) fn ask(&mut self, now: Now, id: u64, asked: Asked) {
        self.waiting.retain(|question| !question.asked.is_same(asked));
        self.waiting.push_back(Question { id, asked, at: now.mono, sent_at: Nanos::ZERO });
    }

    /// The question that is answered now.
    pub(super) const fn take(&mut self) -> Option<Question> {
        self.under_way.take()
    }

    /// Nobody answered it.
    pub(super) fn again(&mut self, now: Now, question: Question) {
        self.later(question, now.mono + AGAIN);
    }

    /// It is asked again then, unless the same is asked anyway.
    pub(super) fn later(&mut self, question: Question, at: Nanos) {
        if !self.waiting.iter().any(|other| other.asked.is_same(question.asked)) {
            self.waiting.push_front(Question { at, ..question });
        }
    }

    /// A page of all open orders was told: behind a full one there may be another.
    pub(super) fn page(&mut self, now: Now, question: Question, page: Page, reading: &mut Reading) {
        let Asked::Open { told, .. } = question.asked else { return };
        let told = told.saturating_add(page.orders);
        if page.orders >= PAGE && page.last.is_some() {
            let asked = Asked::Open { after: page.last, told };
            self.later(Question { asked, ..question }, now.mono);
            return;
        }
        if told == 0 {
            reading.nothing_open();
        }
        reading.push(VenueEvent::AllTold);
    }

    /// Whether an answer does not come.
    pub(super) fn is_late(&self, now: Now) -> bool {
        self.under_way.is_some_and(|it| now.mono.since(it.sent_at) >= PATIENCE)
    }

    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        match self.under_way {
            Some(question) => Some(question.sent_at + PATIENCE),
            None => self.waiting.iter().map(|question| question.at).min(),
        }
    }

    pub(super) fn poll_transmit(
        &mut self,
        now: Now,
        asker: &Questioner<'_>,
        settings: &OkxOrderSettings,
        venue_id: impl Fn(ClientOrderId) -> Option<LongText>,
    ) -> &[u8] {
        if self.under_way.is_none()
            && let Some(place) = self.waiting.iter().position(|it| it.at <= now.mono)
            && let Some(question) = self.waiting.remove(place)
        {
            let written = match question.asked {
                Asked::Time => Asking::Time.write(asker, &mut self.outbox),
                Asked::Order(request, instrument) => {
                    let plain = RequestId::create(request.order).to_text();
                    let id = venue_id(request.order);
                    let which =
                        id.as_ref().map_or(Which::Name(&plain), |id| Which::Id(id.as_bytes()));
                    let instrument = settings.named(instrument).unwrap_or_default();
                    Asking::Order { instrument, which }.write(asker, &mut self.outbox)
                }
                Asked::Open { after, .. } => {
                    let after = after.as_ref().map_or(&b""[..], LongText::as_bytes);
                    Asking::Open { after }.write(asker, &mut self.outbox)
                }
                Asked::Positions => Asking::Positions.write(asker, &mut self.outbox),
            };
            if let Some(written) = written {
                self.unsent = written.len();
                self.under_way = Some(Question { sent_at: now.mono, ..question });
            }
        }
        self.outbox.get(..self.unsent).unwrap_or_default()
    }

    pub(super) const fn clear_unsent(&mut self) {
        self.unsent = 0;
    }

    /// The session is over.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
        (self.under_way, self.unsent) = (None, 0);
    }
}
