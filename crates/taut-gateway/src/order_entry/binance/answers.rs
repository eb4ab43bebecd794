//! What the WebSocket API says, and what an error means to what was asked for.

use taut_fix::Now;
use taut_oms::{OrderState, RequestKind};
use taut_order_entry::binance::{
    Answer, ErrorAnswer, Event, Execution, Frame, Order, Outcome, Step, read_amended, read_error,
    read_event, read_frame, read_order, read_rate_limits, read_replaced,
};
use taut_types::{ClientOrderId, Nanos, RequestId};

use super::asked::{Asked, Question};
use super::reading::{As, number, report_of};
use super::session::SessionStep;
use super::trading::Trading;
use super::way::Web;
use crate::order_entry::handler::{ChangeRefused, VenueEvent};

/// How long behind the window of a request the venue may take to know of its order.
const KNOWN_AFTER: Nanos = Nanos::from_secs(1);
/// An address may ask nothing for so long, where the venue does not say how long.
const BARRED: Nanos = Nanos::from_secs(60);

impl Trading {
    /// What a message of the WebSocket API says.
    pub(super) fn hear(&mut self, now: Now, web: &mut Web, frame: &[u8]) {
        self.session.heard(now);
        match read_frame(frame) {
            Ok(Frame::Event(event)) => match read_event(event) {
                Ok(Event::Execution(execution)) => self.executed(&execution),
                Ok(Event::Terminated | Event::Shutdown) => {
                    self.last_words.say(format_args!("the venue ends the account's events"));
                    self.reading.push(VenueEvent::Broken);
                }
                Ok(Event::Other) => {}
                Err(_) => self.reading.push(VenueEvent::Unreadable(None)),
            },
            Ok(Frame::Answer(answer)) => {
                let Some((id, asked)) =
                    number(answer.id).and_then(|id| Some((id, web.sent.take(id)?)))
                else {
                    // What the venue could not read has no id, as has the end of a key.
                    if answer.is_error {
                        self.lost_answer(&answer);
                    }
                    return;
                };
                self.counted(now, web.sent.last().saturating_sub(id), answer.limits);
                match answer.is_error {
                    false => self.answered(now, asked, answer.body),
                    true => match read_error(answer.status, answer.body) {
                        Ok(error) => self.failed(now, (id, asked), &error),
                        // One without a code says nothing.
                        Err(_) => self.reading.push(VenueEvent::Unreadable(asked.order())),
                    },
                }
            }
            Ok(Frame::Unknown) => {}
            Err(_) => self.reading.push(VenueEvent::Unreadable(None)),
        }
    }

    /// What the venue has counted of its limits; so many requests have left behind the one that it
    /// answers.
    fn counted(&mut self, now: Now, behind: u64, limits: &[u8]) {
        let Some(venue_ms) = self.session.clock().at(now.mono) else { return };
        let budget = &mut self.budget;
        // What cannot be read says nothing; the answer counts all the same.
        let _ = read_rate_limits(limits, |it| budget.counted(now.mono, venue_ms, &it, behind));
    }

    /// Something happened to an order.
    pub(super) fn executed(&mut self, execution: &Execution<'_>) {
        let follows = self.reading.execution(execution, &mut self.known);
        self.legs.extend(follows);
    }

    /// An error that belongs to no request: the key was revoked, say.
    fn lost_answer(&mut self, answer: &Answer<'_>) {
        let error = read_error(answer.status, answer.body);
        if let Some(error) = error.ok().filter(|error| error.outcome() == Outcome::Session) {
            self.say(&error);
            self.reading.push(VenueEvent::Broken);
        }
    }

    pub(super) fn say(&mut self, error: &ErrorAnswer<'_>) {
        let message = String::from_utf8_lossy(error.message);
        self.last_words.say(format_args!("{} {message}", error.code));
    }

    fn answered(&mut self, now: Now, asked: Asked, body: &[u8]) {
        let Self { reading, known, session, symbols, last_words, .. } = self;
        let read = match asked {
            Asked::Session(step) => {
                let went = session.answered(now, step, body, symbols, last_words);
                match went {
                    Ok(event) => event.into_iter().for_each(|event| reading.push(event)),
                    Err(words) => {
                        last_words.say(format_args!("{words}"));
                        reading.push(VenueEvent::Broken);
                    }
                }
                return;
            }
            Asked::Place(request) => {
                read_order(body).map(|order| reading.heard(request, order.id, known))
            }
            Asked::Replace(request) | Asked::Leg(request) | Asked::Amend(request) => {
                let order = match asked {
                    Asked::Replace(_) => read_replaced(body).map(|replaced| match replaced.place {
                        Step::Done(order) => Some(order),
                        _ => None,
                    }),
                    Asked::Amend(_) => read_amended(body).map(Some),
                    _ => read_order(body).map(Some),
                };
                order.map(|order| {
                    let id = order.map(|order| order.id);
                    // An event of the new order may have said so before.
                    if id.and_then(|id| known.identify(request, id)) != Some(false) {
                        reading.replaced(request, id);
                    }
                })
            }
            Asked::Cancel(request) => read_order(body).map(|order| {
                reading.order(&order, As::Cancelled(request), known);
            }),
            // Its event comes behind its last trade.
            Asked::MakeWay(_) => Ok(()),
            Asked::Status(question) => {
                read_order(body).map(|order| self.stands(now, question, &order))
            }
            Asked::OpenOrders => reading.all(body, known),
        };
        if read.is_err() {
            self.reading.push(VenueEvent::Unreadable(asked.order()));
        }
    }

    /// Where an order stands, under one of its names.
    fn stands(&mut self, now: Now, question: Question, order: &Order<'_>) {
        let has_ended = report_of(order.status).is_none_or(OrderState::is_done);
        let Question { request, before, version, unknown, .. } = question;
        let is_leaving = self.legs.iter().any(|leg| leg.request.order == request.order);
        let has_left = unknown == 0 && self.known.newest(request.order).version() != version;
        let may_follow = self.known.follows(request.order) && self.may_come(now, request.order);
        if has_ended && (is_leaving || has_left || may_follow) {
            // What takes its place is on its way, or came behind this answer.
            self.reading.stands_still(request);
        } else if has_ended && unknown > 0 && self.may_come(now, request.order) {
            // What took its place was asked for a moment too early.
            self.ask_again(question);
        } else {
            if has_ended {
                // That it made way was told, and lost: nothing follows so late.
                self.known.follow(request.order, None);
            }
            let asked = As::Stands(request, before);
            self.reading.order(order, asked, &mut self.known);
        }
    }

    /// Whether the venue may still execute the last request of an order.
    fn may_come(&self, now: Now, order: ClientOrderId) -> bool {
        now.mono < self.unknown_until(order)
    }

    fn unknown_until(&self, order: ClientOrderId) -> Nanos {
        let window = Nanos::from_millis(self.settings.window_ms as i64);
        self.known.sent_at(order) + window + KNOWN_AFTER
    }

    /// Asks about an order from its newest name on, when no request of it can come any more.
    fn ask_again(&mut self, question: Question) {
        let at = self.unknown_until(question.request.order);
        self.questions.push_back(Question { at, unknown: 0, ..question });
    }

    /// The venue does not know an order under one of its names.
    fn not_known(&mut self, now: Now, question: Question) {
        let Question { request, unknown, .. } = question;
        let unknown = unknown + 1;
        if usize::from(unknown) < self.known.names(request.order).count() {
            self.questions.push_front(Question { at: now.mono, unknown, ..question });
        } else if self.may_come(now, request.order) {
            self.ask_again(question);
        } else {
            self.reading.not_found(request);
        }
    }

    /// An error instead of an answer.
    pub(super) fn failed(&mut self, now: Now, (id, asked): (u64, Asked), error: &ErrorAnswer<'_>) {
        let outcome = error.outcome();
        if let Asked::Session(SessionStep::Symbol(at)) = asked {
            let name = self.symbols.names(Some(at)).next().unwrap_or_default();
            let message = String::from_utf8_lossy(error.message);
            self.last_words.say(format_args!("{name}: {} {message}", error.code));
        } else if matches!(asked, Asked::Session(_)) || outcome == Outcome::Session {
            self.say(error);
        }
        if error.is_limit() {
            let until = error.retry_after_ms.and_then(|ms| self.session.clock().mono(ms));
            self.budget.bar(now.mono, until.unwrap_or(now.mono + BARRED), error);
        }
        if outcome == Outcome::Late {
            self.session.ask_time();
        }
        let told = match asked {
            Asked::Session(step) => self.session.fails(step, outcome).then_some(VenueEvent::Broken),
            Asked::Replace(request) if !error.data.is_empty() && !error.is_limit() => {
                self.not_replaced(request, error)
            }
            _ if outcome == Outcome::Unknown => None,
            Asked::Place(request) => Some(VenueEvent::Refused {
                message: id,
                named: Some(request),
                reject: error.reject(),
            }),
            Asked::Leg(request) => {
                // Its predecessor is cancelled.
                self.reading.cancelled(request);
                None
            }
            Asked::Replace(request) | Asked::MakeWay(request) | Asked::Amend(request) => {
                if matches!(asked, Asked::MakeWay(_)) {
                    self.known.follow(request.order, None);
                } else {
                    self.known.was_refused(request);
                }
                Some(refused(request, RequestKind::Modify, error))
            }
            Asked::Cancel(request) => Some(refused(request, RequestKind::Cancel, error)),
            Asked::Status(question) if outcome == Outcome::OrderGone => {
                self.not_known(now, question);
                None
            }
            Asked::Status(_) | Asked::OpenOrders => {
                let reject = error.reject();
                Some(VenueEvent::Refused { message: id, named: None, reject })
            }
        };
        told.into_iter().for_each(|event| self.reading.push(event));
        if outcome == Outcome::Session && !matches!(asked, Asked::Session(_)) {
            self.reading.push(VenueEvent::Broken);
        }
    }

    /// What an error says of both halves of a cancel and replace.
    fn not_replaced(&mut self, request: RequestId, error: &ErrorAnswer<'_>) -> Option<VenueEvent> {
        let replaced = read_replaced(error.data).unwrap_or_default();
        match (replaced.cancel, replaced.place) {
            (Step::Failed(cancel), Step::NotAttempted | Step::Failed(_)) => {
                let is_known = cancel.outcome() != Outcome::Unknown;
                is_known.then(|| {
                    self.known.was_refused(request);
                    refused(request, RequestKind::Modify, &cancel)
                })
            }
            (Step::Done(_), Step::Failed(place)) if place.outcome() != Outcome::Unknown => {
                self.reading.cancelled(request);
                None
            }
            // Nobody knows.
            _ => None,
        }
    }
}

/// A change that was refused.
fn refused(request: RequestId, kind: RequestKind, error: &ErrorAnswer<'_>) -> VenueEvent {
    VenueEvent::ChangeRefused(ChangeRefused {
        request: Some(request),
        kind: Some(kind),
        told: None,
        is_over: error.outcome() == Outcome::OrderGone,
        venue_id: None,
        reject: error.reject(),
    })
}
