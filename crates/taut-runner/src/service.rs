//! A gateway that runs by itself, and a venue simulator that does.
//!
//! Strategies attach and leave, and an operator looks and acts, over a control socket, while the
//! gateway trades.
//!
//! The process has two threads. The gateway's own does nothing but trade; the other one listens to
//! the control socket, anchors the clock and hears signals, and asks the first between two rounds
//! of its housekeeping. Where there is an order journal, a third one makes its segments; where the
//! worst orders are kept, another one takes them and looks at the thread that trades. A strategy
//! that attaches is handed the market's shared memory and rings of its own; the connection says
//! when it is gone.

mod attach;
mod balances;
mod binance;
mod check;
mod client;
mod connections;
mod copy_reader;
mod day;
mod dead_men;
mod deribit;
mod differences;
mod drop_copy;
mod ended;
mod explain;
mod feed_backup;
mod file;
mod gateway;
mod journal;
mod key_help;
mod limits;
mod listed;
mod listener;
mod live;
mod manager;
mod member_copies;
mod money;
mod name;
mod names;
mod new_instruments;
mod okx;
mod pattern;
mod place;
mod protocol;
mod proxy;
mod record;
mod recorded;
mod recordings;
mod reload;
mod reloading;
mod resolver;
mod room;
mod rules;
mod secret;
mod segments;
mod snapshot;
mod stages;
mod strategy_file;
mod subscribe;
mod subscribe_rule;
mod telling;
mod threads;
mod tls_identity;
mod usage;
mod venue;
mod venue_control;
mod venue_copy;
mod venue_journal;
mod venue_members;
mod venue_phases;
mod venue_ship;
mod venue_standby;
mod venue_state;
mod venue_tls;
mod web_venue;
mod whole_file;

pub use crate::recording::WhenFull;
pub use attach::{Attach, Attached};
pub use binance::{
    BinanceBest, BinanceEncoding, BinanceInterval, BinanceKeys, BinanceMarket, BinanceOrders,
};
pub(crate) use client::run_socket;
pub use client::{ControlClient, control_path};
pub(crate) use connections::{Connect, Connections, MarketData, Tap, connect};
pub use copy_reader::CopyReaderKeys;
pub use day::DayEnd;
pub use deribit::{DeribitBook, DeribitInterval, DeribitKeys, DeribitMarketData, DeribitOrders};
pub use drop_copy::DropCopyKeys;
pub use feed_backup::FeedBackupKeys;
pub use file::{
    BINANCE_GATEWAY_SAMPLE, DERIBIT_GATEWAY_SAMPLE, GATEWAY_SAMPLE, GatewayFile,
    OKX_GATEWAY_SAMPLE, PositionsKey, SessionKeys, StrategySettings, WhenGoneKey,
};
pub(crate) use gateway::replaying::{GatewayReplay, replay};
pub use gateway::{serve, serve_fused};
pub use journal::{JournalDurability, JournalKeys};
pub use key_help::{KeyHelp, key_help};
pub use limits::{
    AccountLimitKeys, AccountSettings, GatewayRisk, SelfMatchMode, SymbolRule, Throttle,
    UserLimitKeys, UserSettings,
};
pub use live::check_live;
pub use member_copies::MemberCopyKeys;
pub use money::Money;
pub use okx::{OkxKeys, OkxMode, OkxSelfTradeRule};
pub use protocol::{
    BalanceLine, BookLines, ControlReply, ControlRequest, FilterNames, InstrumentLine, LatchLine,
    LimitLine, OrderLine, PositionLine, ScopeName, SideName, Snapshot, StageLine, StaleBook,
    Status, StrategyLine, VenueClockLine,
};
pub use proxy::ProxyKeys;
pub use record::RecordKeys;
pub(crate) use recorded::RecordedGateway;
pub use recordings::{RecordingSeen, RecordingSettings};
pub(crate) use rules::risk_of;
pub use secret::{CredentialKind, CredentialSettings, SecretSource};
pub(crate) use stages::stage_lines;
pub use strategy_file::{STRATEGY_SAMPLE, StrategyFile};
pub use subscribe_rule::SubscribeRule;
pub use taut_log::Entry;
pub(crate) use web_venue::{Dialect, Issued, WebVenue};

pub use venue::{FlowSettings, VENUE_SAMPLE, VenueFile, serve_venue};
pub use venue_control::{
    FaultsReport, bust_venue_trade, promote_venue, run_venue_crowd, set_member_killed,
    set_venue_halted, set_venue_phase, venue_faults, venue_state,
};
pub(crate) use venue_journal::KeeperThread;
pub use venue_journal::{VenueAcknowledge, VenueJournalKeys};
pub use venue_members::{MemberKeys, ProtectionKeys};
pub use venue_phases::{BandKeys, ScheduleKeys, TimeOfDay};
pub use venue_standby::stand_by_venue;
pub(crate) use venue_standby::when_free;
pub use venue_state::{Best, Indicative, VenueBook, VenueMember, VenueState};
pub use venue_tls::VenueTlsKeys;
pub use web_venue::{
    BINANCE_VENUE_SAMPLE, BinanceVenueFile, Captive, DERIBIT_VENUE_SAMPLE, DeribitVenueFile,
    TlsKeys, WebVenueFile, serve_binance_venue, serve_captive_binance, serve_captive_deribit,
    serve_deribit_venue,
};
