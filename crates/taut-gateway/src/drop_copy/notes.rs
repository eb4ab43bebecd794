//! The trading thread's end, and what the server's makes of its notes.

use std::io;
use std::sync::mpsc::Receiver;

use taut_fix::FixError;
use taut_fix_engine::{
    DropCopyNotes, DropCopyServer as Server, DropCopySettings, DropCopySource, Outbox,
};
use taut_oms::{Change, Order};
use taut_types::Instrument;

use crate::drop_copy::execution::{Execution, Origin};
use crate::message::UpdateKind;
use crate::owner::Owner;

/// Sends copies of a gateway's executions to their readers, on a thread of its own.
pub type DropCopyServer = Server<Executions>;

/// The trading thread's end. Dropped, it has the server log its readers out and end.
#[derive(Debug)]
pub struct DropCopies(DropCopyNotes<Execution>);

impl DropCopies {
    /// Listens, and opens the stores. The first is the gateway's
    /// ([`Gateway::set_drop_copies`](crate::Gateway::set_drop_copies)). `instruments` are at their
    /// numbers; `news` says what comes to be known, also later.
    ///
    /// # Errors
    /// The address cannot be listened on, or a store cannot be opened.
    pub fn open(
        settings: &DropCopySettings,
        instruments: Vec<Instrument>,
        news: Receiver<DropCopyNews>,
    ) -> io::Result<(Self, DropCopyServer)> {
        let source = Executions { instruments, texts: Vec::new(), news };
        let (notes, server) = Server::open(settings, source)?;
        Ok((Self(notes), server))
    }

    /// Copies that were lost because the other thread was too far behind.
    pub(crate) const fn lost(&self) -> u64 {
        self.0.lost()
    }

    /// Notes what a message of the venue did to an order: its trades, and what else its owner is
    /// told. Cost: a copy of some 250 bytes for each.
    pub(crate) fn note(
        &mut self,
        order: &Order,
        change: &Change,
        told: Option<UpdateKind>,
        origin: &Origin,
    ) {
        Execution::all_of(order, change, told, origin).for_each(|it| self.0.note(it));
    }

    /// Hands over what was noted. Cost: some 50 ns for each, and a system call when the other
    /// thread sleeps.
    pub(crate) fn hand_over(&mut self) {
        self.0.hand_over();
    }
}

/// What whoever sends copies is told while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum DropCopyNews {
    /// A strategy is called so: Text (58) of its orders says it.
    Name(Owner, String),
    /// The gateway takes this instrument, whose number is the next one: before the first order for
    /// it.
    Instrument(Instrument),
}

/// Executions as reports of the gateway's own.
#[derive(Debug)]
pub struct Executions {
    instruments: Vec<Instrument>,
    /// Text (58) of each strategy's orders.
    texts: Vec<(Owner, String)>,
    news: Receiver<DropCopyNews>,
}

impl DropCopySource for Executions {
    type Execution = Execution;

    fn refresh(&mut self) {
        for news in self.news.try_iter() {
            match news {
                DropCopyNews::Name(owner, name) => {
                    self.texts.retain(|(named, _)| *named != owner);
                    self.texts.push((owner, text_of(owner, &name)));
                }
                // It may be told again, when a reload that failed is made again.
                DropCopyNews::Instrument(instrument) => {
                    self.instruments.truncate(instrument.id().0 as usize);
                    self.instruments.push(instrument);
                }
            }
        }
    }

    fn send(&self, outbox: &mut Outbox<'_>, exec_id: u64, it: &Execution) -> Result<(), FixError> {
        let instrument = self.instruments.get(it.terms().instrument.0 as usize);
        let owner = it.owner();
        let unknown;
        let text = match self.texts.iter().find(|(named, _)| *named == owner) {
            Some((_, text)) => text,
            None => {
                unknown = text_of(owner, "");
                &unknown
            }
        };
        let utc = outbox.now().utc;
        let copy = instrument.and_then(|of| it.report(exec_id, of, text.as_bytes(), utc));
        copy.map_or(Ok(()), |copy| outbox.send_or_keep(&copy))
    }
}

/// Whose an order is, in words.
fn text_of(owner: Owner, name: &str) -> String {
    let Owner { user, strategy } = owner;
    let name = if name.is_empty() { String::new() } else { format!(" name={name}") };
    format!("user={} strategy={}{name}", user.0, strategy.0)
}
