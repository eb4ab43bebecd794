//! Where the strategies of a gateway that runs by itself are: in processes of their own, which
//! attach and leave, or one of them in the thread that trades.

use taut_gateway::{
    Client, FusedClient, Hub, Owner, Regions, SlotId, Strategy, StrategyRegions, WhenGone,
};
use taut_ipc::Segment;
use taut_types::Nanos;

use crate::error::RunnerError;
use crate::service::place::Place;

/// Strategies that may be attached at one time.
const PLACES: usize = 16;

/// What is shared with strategies: the market's memory, and that of each of them.
pub struct Memory<'p, 'm> {
    pub regions: &'p Regions<'m>,
    pub own: &'m [Segment],
    pub places: &'p [Place<'p>],
}

/// Who makes a gateway's client.
pub trait Strategies {
    /// How many may attach.
    const PLACES: usize;
    type Client<'m>: Client + Attachable + Send;

    /// The client and its places. Numbers of orders start at `first_number`.
    fn open<'m>(
        self,
        memory: &Memory<'_, 'm>,
        first_number: u64,
        now: Nanos,
    ) -> Result<(Self::Client<'m>, Vec<SlotId>), RunnerError>;
}

/// A client whose strategies come and go, or stay.
pub trait Attachable {
    /// A strategy takes the place; false when it cannot.
    fn attach(&mut self, slot: SlotId, owner: Owner) -> bool;
    /// What becomes of the orders of strategies that are gone.
    fn set_when_gone(&mut self, when_gone: Vec<(Owner, WhenGone)>);
    /// The strategy in this place is gone.
    fn detach(&mut self, slot: SlotId);
    /// The strategy in this place is sent away: its orders are cancelled in any case.
    fn evict(&mut self, slot: SlotId);
    /// Who has the place.
    fn owner(&self, slot: SlotId) -> Option<Owner>;
    /// Whose the strategy is that is always there.
    fn resident(&self) -> Option<Owner>;
    /// What the strategy in this place has counted of its life: another number lives.
    fn beats(&self, slot: SlotId) -> u64;
    /// A place whose strategy was dropped because it left its replies unread, each told once.
    fn poll_dropped(&mut self) -> Option<SlotId>;
    /// Events that the market ring has had.
    fn market_position(&self) -> u64;
    /// Whether it has the orders of this owner cancelled until none is open.
    fn disown(&mut self, owner: Owner) -> bool;
    /// Whether it hands the orders of this owner over to another strategy, which is here.
    fn bequeath(&mut self, owner: Owner) -> bool;
    /// The gateway is about to end.
    fn stop(&mut self);
}

/// In processes of their own.
pub struct Split;

impl Strategies for Split {
    const PLACES: usize = PLACES;
    type Client<'m> = Hub<'m>;

    fn open<'m>(
        self,
        &Memory { regions, own, places }: &Memory<'_, 'm>,
        first_number: u64,
        _now: Nanos,
    ) -> Result<(Hub<'m>, Vec<SlotId>), RunnerError> {
        let rings = |error| RunnerError::run("rings", error);
        let mut hub = Hub::new(regions).map_err(rings)?;
        hub.set_first_number(first_number);
        let mut slots = Vec::with_capacity(own.len());
        for (own, place) in own.iter().zip(places) {
            let own = StrategyRegions::of(own)
                .map_err(|error| RunnerError::run("shared memory", error))?;
            let bell = place.another_bell().map_err(|error| RunnerError::run("doorbell", error))?;
            slots.push(hub.add_slot(&own, Some(bell)).map_err(rings)?);
        }
        Ok((hub, slots))
    }
}

impl Attachable for Hub<'_> {
    fn attach(&mut self, slot: SlotId, owner: Owner) -> bool {
        Hub::attach(self, slot, owner)
    }

    fn set_when_gone(&mut self, when_gone: Vec<(Owner, WhenGone)>) {
        Hub::set_when_gone(self, when_gone);
    }

    fn detach(&mut self, slot: SlotId) {
        Hub::detach(self, slot);
    }

    fn evict(&mut self, slot: SlotId) {
        Hub::evict(self, slot);
    }

    fn owner(&self, slot: SlotId) -> Option<Owner> {
        Hub::owner(self, slot)
    }

    fn resident(&self) -> Option<Owner> {
        None
    }

    fn beats(&self, slot: SlotId) -> u64 {
        Hub::beats(self, slot)
    }

    fn poll_dropped(&mut self) -> Option<SlotId> {
        Hub::poll_dropped(self)
    }

    fn market_position(&self) -> u64 {
        Hub::market_position(self)
    }

    fn disown(&mut self, owner: Owner) -> bool {
        Hub::disown(self, owner);
        true
    }

    fn bequeath(&mut self, owner: Owner) -> bool {
        Hub::bequeath(self, owner)
    }

    fn stop(&mut self) {}
}

/// One, which `make` makes, in the thread that trades.
pub struct Fused<M> {
    pub owner: Owner,
    pub make: M,
}

impl<S: Strategy + Send, M: FnOnce(Nanos) -> S> Strategies for Fused<M> {
    const PLACES: usize = 0;
    type Client<'m> = FusedClient<S>;

    fn open<'m>(
        self,
        _memory: &Memory<'_, 'm>,
        first_number: u64,
        now: Nanos,
    ) -> Result<(FusedClient<S>, Vec<SlotId>), RunnerError> {
        let client = FusedClient::owned_by(self.owner, first_number, (self.make)(now));
        Ok((client, Vec::new()))
    }
}

impl<S: Strategy> Attachable for FusedClient<S> {
    fn attach(&mut self, _slot: SlotId, _owner: Owner) -> bool {
        false
    }

    fn set_when_gone(&mut self, _when_gone: Vec<(Owner, WhenGone)>) {}

    fn detach(&mut self, _slot: SlotId) {}

    fn evict(&mut self, _slot: SlotId) {}

    fn owner(&self, _slot: SlotId) -> Option<Owner> {
        None
    }

    fn resident(&self) -> Option<Owner> {
        Some(FusedClient::owner(self))
    }

    fn beats(&self, _slot: SlotId) -> u64 {
        0
    }

    fn poll_dropped(&mut self) -> Option<SlotId> {
        None
    }

    fn market_position(&self) -> u64 {
        0
    }

    fn disown(&mut self, _owner: Owner) -> bool {
        false
    }

    fn bequeath(&mut self, _owner: Owner) -> bool {
        false
    }

    fn stop(&mut self) {
        FusedClient::stop(self);
    }
}
