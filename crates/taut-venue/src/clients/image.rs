//! Clients and their sessions as bytes, and back.

use taut_fix::{Link, MemoryStore, Store};

use super::{Clients, Name};
use crate::connection::STORE_MESSAGES;
use crate::journal::{Put, Take};
use crate::version::{FixVersion, version_of};

impl Clients {
    /// Writes who was here, whether each is connected, the numbers of its session, and the messages
    /// that it may ask for again.
    pub fn put_image(&mut self, put: &mut Put) {
        let Self { names, slots, parked, .. } = self;
        put.count(names.len());
        for name in names {
            put.text(&name.comp_id);
            put.u8(u8::from(name.slot.is_some() || name.was_here));
            put.u64(name.reserved);
            let slot = name.slot.and_then(|slot| slots.get_mut(slot)?.as_mut());
            let link = match slot {
                Some(slot) => slot.connection.link_mut(),
                None => parked.link(name.comp_id),
            };
            // 0 where there is none, or the number of its version of FIX and one more.
            put.u8(link.as_ref().map_or(0, |link| version_of(link) as u8 + 1));
            if let Some(link) = link {
                put_session(put, link);
            }
        }
    }

    /// Reads them where nobody is here yet; nothing where they are none.
    pub fn take_image(&mut self, take: &mut Take<'_>) -> Option<()> {
        for _ in 0..take.count()? {
            let (comp_id, was_here, reserved) = (take.text()?, take.flag()?, take.u64()?);
            if let Some(version) = take.u8()?.checked_sub(1) {
                let version = *FixVersion::ALL.get(usize::from(version))?;
                let mut link = self.terms.link_with(comp_id, version);
                take_session(take, &mut link)?;
                self.parked.put(comp_id, link);
            }
            self.names.push(Name { comp_id, slot: None, was_here, reserved });
        }
        Some(())
    }
}

fn put_session(put: &mut Put, link: &mut Link<MemoryStore>) {
    let store = link.session_mut().store_mut();
    let next = store.next_outgoing();
    put.u64(store.next_incoming());
    put.u64(next);
    let first = next.saturating_sub(STORE_MESSAGES as u64).max(1);
    let kept: Vec<_> = (first..next).filter(|number| store.read(*number).is_some()).collect();
    put.count(kept.len());
    for number in kept {
        put.u64(number);
        put.bytes(store.read(number).unwrap_or(&[]));
    }
}

fn take_session(take: &mut Take<'_>, link: &mut Link<MemoryStore>) -> Option<()> {
    let store = link.session_mut().store_mut();
    let (incoming, outgoing) = (take.u64()?, take.u64()?);
    for _ in 0..take.count()? {
        store.keep(take.u64()?, take.bytes()?).ok()?;
    }
    store.set_next_incoming(incoming).ok()?;
    store.set_next_outgoing(outgoing).ok()
}
