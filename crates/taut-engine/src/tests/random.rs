//! Random commands of every kind, from a seed.

use taut_testkit::{Draw, Random};
use taut_types::{HalfTicks, Lots, Nanos, OrderId, OrderType, Side, TimeInForce};

use crate::{
    Allocation, Command, MakerShare, MassCancel, NewOrder, Peg, Phase, PostOnly, ReplaceMode,
    Rules, SelfTrade,
};

/// Draws commands and rules.
#[derive(Clone, Debug)]
pub(super) struct Commands(Random);

impl Commands {
    pub(super) fn with_seed(seed: u64) -> Self {
        Self(Random::with_seed(seed))
    }

    /// A number below the bound.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn small(&mut self, bound: u32) -> u32 {
        self.0.u32(..bound)
    }

    fn signed(&mut self, low: i64, high: i64) -> i64 {
        self.0.i64(low..=high)
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        self.0.pick(choices)
    }

    pub(super) fn rules(&mut self) -> Rules {
        let mut lead = [MakerShare::default(); 4];
        lead[0] = MakerShare { owner: 1, percent: 30 };
        lead[1] = MakerShare { owner: 2, percent: 20 };
        let allocation = match self.below(16) {
            0 => Allocation::PRO_RATA,
            1 => Allocation::ALLOCATION,
            2 => Allocation::split(40, true),
            3 => Allocation::threshold(2, 10, 3),
            4 => Allocation::threshold(1, 5, 2).with_lead(lead),
            5 => Allocation::FIFO.with_lead(lead),
            6 => Allocation::split(30, true).with_lead(lead).with_top(1, 8),
            _ => Allocation::FIFO,
        };
        Rules {
            allocation,
            self_trade: if self.one_in(4) { self.mode() } else { SelfTrade::Default },
            price_band: self.one_in(8).then_some(12),
            volatility_band: self.one_in(6).then_some(6),
            special_capacity: usize::try_from(2 + self.below(14)).unwrap_or(2),
        }
    }

    fn mode(&mut self) -> SelfTrade {
        self.of(&[
            SelfTrade::Allow,
            SelfTrade::CancelNewest,
            SelfTrade::CancelOldest,
            SelfTrade::CancelBoth,
            SelfTrade::Decrement,
            SelfTrade::Transfer,
        ])
    }

    fn id(&mut self) -> OrderId {
        OrderId(self.below(40))
    }

    fn tick(&mut self) -> HalfTicks {
        HalfTicks(2 * self.signed(10, 20))
    }

    fn order(&mut self) -> NewOrder {
        let side = if self.one_in(2) { Side::Buy } else { Side::Sell };
        let (id, owner, price) = (self.id(), self.small(4), self.tick());
        let lots = Lots(if self.one_in(60) { 0 } else { self.signed(1, 20) });
        let mut order = NewOrder::limit(id, owner, side, price, lots);
        if self.one_in(12) {
            order.order_type = OrderType::Market;
        }
        if self.one_in(60) {
            order.price = HalfTicks(self.signed(-1, 41));
        }
        if self.one_in(400) {
            order.price = HalfTicks(self.of(&[i64::MAX, i64::MAX - 1, i64::MIN, 2]));
            order.lots = Lots(self.of(&[i64::MAX, i64::MAX - 1, 1]));
        }
        order.time_in_force = match self.below(12) {
            0 | 1 => TimeInForce::ImmediateOrCancel,
            2 => TimeInForce::FillOrKill,
            3 => TimeInForce::Day,
            _ => TimeInForce::GoodTillCancel,
        };
        let features = self.of(&[0, 0, 0, 1, 1, 1, 1, 2, 3]);
        for _ in 0..features {
            order = self.with_feature(order);
        }
        order
    }

    fn with_feature(&mut self, order: NewOrder) -> NewOrder {
        let least = i64::from(!self.one_in(10));
        let lots = Lots(self.signed(least, 10));
        let pegs = [Peg::Primary, Peg::Market, Peg::Midpoint];
        match self.below(17) {
            0 => order.stop(self.tick()),
            1 if self.one_in(9) => order.stop(HalfTicks(self.signed(-1, 41))),
            1 => order.stop(self.tick()),
            2 => order.take_profit(self.tick()),
            3 => {
                let distance = if self.one_in(20) { 0 } else { 1 + self.small(8) };
                order.trailing(self.tick(), distance.cast_signed())
            }
            4 | 5 => order.pegged(self.of(&pegs), self.small(7).cast_signed() - 3),
            6 => order.post_only(PostOnly::Reject),
            7 => order.post_only(PostOnly::Slide),
            8 => order.iceberg(lots),
            9 => order.hidden(),
            10 => order.minimum(lots),
            11 => order.all_or_none(),
            12 => {
                let ticks = self.small(3);
                NewOrder { order_type: OrderType::Market, ..order }.protection(ticks)
            }
            13 => order.good_till(Nanos(self.signed(0, 60))),
            14 if self.one_in(2) => order.at_the_open(),
            14 => order.at_the_close(),
            15 => order.self_trade(self.mode()).group(self.small(3)),
            _ => order.session(1 + self.small(2)),
        }
    }

    pub(super) fn command(&mut self) -> Command {
        match self.below(200) {
            0..=129 => Command::New(self.order()),
            130..=149 => Command::Cancel { order_id: self.id() },
            150..=164 => Command::Reduce { order_id: self.id(), by: Lots(self.signed(-1, 15)) },
            165..=189 => {
                let mode =
                    if self.one_in(2) { ReplaceMode::InFlight } else { ReplaceMode::Requeue };
                Command::Replace { order: self.order(), mode }
            }
            190 => Command::MassCancel(MassCancel {
                owner: (!self.one_in(3)).then(|| self.small(4)),
                side: self.one_in(2).then_some(Side::Buy),
                session: self.one_in(3).then(|| self.small(3)),
            }),
            191 => Command::Disconnect { session: self.small(3) },
            192..=194 => Command::Clock { now: Nanos(self.signed(0, 60)) },
            195 | 196 => Command::SetPhase(Phase::Continuous),
            _ => Command::SetPhase(
                Phase::from_index(u8::try_from(self.below(7)).unwrap_or(0)).unwrap_or_default(),
            ),
        }
    }
}
