//! How venues want a FIX Logon to be signed.
//!
//! Pure: the nonce's random bytes and the time are arguments. [`DeribitLogon`] writes the
//! credentials of Deribit (docs.deribit.com, FIX API, Logon) when a session writes its Logon, and
//! [`BinanceLogon`] those of Binance (binance-spot-api-docs, FIX API, "Signature computation"):
//!
//! ```
//! # use taut_fix::{Session, MemoryStore, Now};
//! # use taut_fix_engine::auth::DeribitLogon;
//! # fn f(session: &mut Session<MemoryStore>, now: Now, out: &mut [u8], random: [u8; 32]) {
//! let mut logon = DeribitLogon::new(b"client-id", b"client-secret", random);
//! let range = session.poll_transmit_with(now, out, |context, writer| {
//!     logon.write(context.now.utc, writer);
//! });
//! # let _ = range;
//! # }
//! ```

mod binance;
mod deribit;

pub use binance::BinanceLogon;
pub use deribit::{DeribitLogon, NONCE_BYTES, check_deribit};
pub use taut_order_entry::sign::{SEED_BYTES, seed_from_pem};
