//! What a gateway is told when it is built.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use taut_fix::CompId;
use taut_fix_engine::Credentials;
use taut_net::TlsClientConfig;
use taut_oms::{Rate, RiskLimits, RiskSizes, UniformLimits};
use taut_types::{Instrument, Lots, Nanos};

use crate::accounts::Accounts;
pub use crate::order_entry::comparison::PositionRule;
use crate::order_entry::handler::Framing;
use crate::through::Through;

/// A gateway's settings.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// What is traded: each instrument at the place that its number says, from 0.
    pub instruments: Vec<Instrument>,
    /// Where the venue takes orders.
    pub order_address: SocketAddrV4,
    /// SenderCompID (49).
    pub sender_comp_id: CompId,
    /// TargetCompID (56).
    pub target_comp_id: CompId,
    /// HeartBtInt (108).
    pub heartbeat_interval: Nanos,
    /// Orders that are remembered; a place is taken again when its order is done.
    pub order_capacity: usize,
    /// Pre-trade limits, and the accounts that they are for.
    pub risk: RiskConfig,
    /// How the order session is kept up.
    pub session: SessionSettings,
    /// Sockets are polled by receiving, without asking what is ready: for a gateway that does not
    /// sleep.
    pub hot: bool,
    /// Runs the code of a new order up to its message, without sending: while strategies in other
    /// processes decide about a tick, for the instrument that moved, and now and then where a hot
    /// gateway has nothing to do. Then a frame that came before is read once more, too, and the
    /// levels of its book are set to what they are. What comes next finds code and memory in the
    /// caches.
    pub keeps_warm: bool,
}

/// Pre-trade limits, and the accounts that they are for.
#[derive(Clone, Debug)]
pub enum RiskConfig {
    /// The same for everybody and everything, with one account that the venue is not told.
    Uniform(UniformLimits),
    /// Of each user, account, strategy and instrument.
    Each {
        /// Who may trade what.
        rules: RiskRules,
        /// The accounts' names at the venue.
        accounts: Accounts,
    },
}

/// Who may trade what, within which limits: what can change while a gateway runs.
#[derive(Clone, Debug)]
pub struct RiskRules {
    /// The limits; their sizes stay what they are. They may be for more instruments than are
    /// traded from the beginning: so many can be [added](crate::Gateway::add_instrument).
    pub limits: RiskLimits,
    /// By instrument, the group that it belongs to in permissions; 0 where nothing is said.
    pub groups: Vec<u8>,
}

impl From<UniformLimits> for RiskConfig {
    fn from(limits: UniformLimits) -> Self {
        Self::Uniform(limits)
    }
}

impl RiskConfig {
    /// The limits of a gateway of so many instruments.
    pub(crate) fn limits(&self, instruments: usize) -> RiskLimits {
        match self {
            Self::Uniform(limits) => {
                limits.limits(RiskSizes { instruments, accounts: 1, users: 256, strategies: 256 })
            }
            Self::Each { rules, .. } => rules.limits.clone(),
        }
    }

    /// For how many instruments there is room, where so many are traded from the beginning.
    pub(crate) fn instrument_capacity(&self, instruments: usize) -> usize {
        match self {
            Self::Uniform(_) => instruments,
            Self::Each { rules, .. } => rules.limits.sizes().instruments.max(instruments),
        }
    }

    pub(crate) fn groups(&self) -> &[u8] {
        match self {
            Self::Uniform(_) => &[],
            Self::Each { rules, .. } => &rules.groups,
        }
    }

    pub(crate) fn accounts(&self) -> Accounts {
        match self {
            Self::Uniform(_) => Accounts::default(),
            Self::Each { accounts, .. } => accounts.clone(),
        }
    }
}

/// What the order session's bytes go through.
#[derive(Clone, Debug, Default)]
pub enum Transport {
    /// TCP as it is.
    #[default]
    Plain,
    /// TLS to a server of this name.
    Tls {
        /// Whom it trusts.
        config: TlsClientConfig,
        /// What the venue's certificate is for.
        name: String,
    },
    /// Messages of a WebSocket.
    WebSocket {
        /// What is asked for there.
        url: String,
        /// For `wss://`.
        tls: Option<TlsClientConfig>,
    },
    /// Requests of HTTP/1.1 and the bodies of their answers: for a
    /// [second connection](SecondConnection) alone. It is made anew when the venue ends it, and
    /// what had no answer is asked again.
    Http {
        /// For `https://`: whom it trusts, and what the venue's certificate is for.
        tls: Option<(TlsClientConfig, String)>,
    },
}

impl Transport {
    /// What it carries.
    pub(crate) const fn framing(&self) -> Framing {
        match self {
            Self::Plain | Self::Tls { .. } => Framing::Stream,
            Self::WebSocket { .. } | Self::Http { .. } => Framing::Messages,
        }
    }
}

/// The connection of an order session over which questions are asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SecondConnection {
    /// Where the venue is asked.
    pub address: SocketAddrV4,
    /// Where else: an attempt that failed is followed by one at the next of them.
    pub others: Vec<SocketAddrV4>,
    /// What its bytes go through: it carries messages.
    pub transport: Transport,
    /// The proxy on the way, if there is one.
    pub through: Option<Through>,
}

impl SecondConnection {
    /// At one address.
    #[must_use]
    pub const fn new(address: SocketAddrV4, transport: Transport) -> Self {
        Self { address, others: Vec::new(), transport, through: None }
    }
}

/// How the order session is kept up.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// What its bytes go through: as the venue's [order handler](crate::OrderHandler) asks for.
    pub transport: Transport,
    /// The proxy on the way, if there is one: the gateway's addresses are then the proxy's.
    pub through: Option<Through>,
    /// Where questions about orders are asked: for an
    /// [order handler](crate::OrderHandler::asks_beside) that does not ask where it trades.
    pub beside: Option<SecondConnection>,
    /// What our Logon carries beyond the session's own fields.
    pub credentials: Option<Credentials>,
    /// The file of the session's numbers. Without one they are in memory, and a gateway that is
    /// started again asks for new ones.
    pub store: Option<PathBuf>,
    /// Both numbers start again at 1 with every logon: for a venue that wants it so. What was
    /// missed while the connection was down is then told by where the orders stand alone.
    pub reset_on_logon: bool,
    /// A venue that is not there when the gateway starts is waited for.
    pub waits_for_venue: bool,
    /// How long a request may stay without an answer. Then nobody knows what became of it, and the
    /// venue is asked.
    pub request_timeout: Nanos,
    /// What is done about a position that is another one at the venue, which is asked after each
    /// logon, where it can be. New orders wait for the answer, for as long as a request may stay
    /// without one.
    pub positions: PositionRule,
    /// Where else the venue takes orders, by priority: the next one is tried when one cannot be
    /// reached or its connection ends. All are one session: they go on with the same numbers.
    pub backups: Vec<SocketAddrV4>,
    /// The shortest and the longest wait before the connection is tried again.
    pub reconnect: (Nanos, Nanos),
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            transport: Transport::Plain,
            through: None,
            beside: None,
            credentials: None,
            store: None,
            reset_on_logon: false,
            waits_for_venue: false,
            request_timeout: Nanos::from_secs(5),
            positions: PositionRule::default(),
            backups: Vec::new(),
            reconnect: (Nanos::from_millis(100), Nanos::from_secs(30)),
        }
    }
}

impl GatewayConfig {
    /// Limits that a small strategy does not meet and a runaway one does.
    #[must_use]
    pub const fn default_risk() -> UniformLimits {
        UniformLimits {
            collar_ppm: 50_000,
            lots_max: Lots(1_000),
            position_lots_max: Lots(1_000),
            orders: Rate { per_second: 100_000, burst: 1_000 },
            open_orders_max: 1_000,
        }
    }
}
