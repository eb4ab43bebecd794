//! Binance: RawData (96) is an Ed25519 signature of the Logon's header.

use core::fmt;

use taut_fix::{LogonContext, Writer};
use taut_order_entry::binance::logon_signature;
use taut_order_entry::sign::{Ed25519Key, SEED_BYTES};
use taut_sys::tape;

/// The credentials of one API key.
#[derive(Clone)]
pub struct BinanceLogon<'k> {
    api_key: &'k [u8],
    key: Ed25519Key,
}

/// The key is not shown.
impl fmt::Debug for BinanceLogon<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinanceLogon").finish_non_exhaustive()
    }
}

impl<'k> BinanceLogon<'k> {
    /// For this API key (Username, 553), whose private key has this seed.
    #[must_use]
    pub fn new(api_key: &'k [u8], seed: &[u8; SEED_BYTES]) -> Self {
        Self { api_key, key: Ed25519Key::new(seed).through(tape::signature) }
    }

    /// Writes RawDataLength (95), RawData (96) and Username (553). What else Binance wants in a
    /// Logon, such as MessageHandling (25035), is the caller's to add.
    pub fn write(&self, context: &LogonContext, writer: &mut Writer<'_>) {
        let names = [context.sender.as_bytes(), context.target.as_bytes()];
        let time = context.sending_time.as_bytes();
        // CompIDs are short enough.
        let signature = logon_signature(&self.key, names, context.sequence, time);
        writer.data::<95, 96>(signature.as_ref().map_or(&[], |signature| signature));
        writer.text::<553>(self.api_key);
    }
}

#[cfg(test)]
mod tests {
    use super::BinanceLogon;
    use std::string::String;
    use taut_fix::{
        BeginString, CompId, MemoryStore, Now, Role, Session, SessionConfig, parse_timestamp,
    };
    use taut_order_entry::sign::seed_from_pem;
    use taut_types::Nanos;

    /// The key, the header and the signature of the example in the venue's document.
    const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u\n\
        -----END PRIVATE KEY-----\n";
    const SIGNATURE: &str = "4MHXelVVcpkdwuLbl6n73HQUXUf1dse2PCgT1DYqW9w8AVZ1RACFGM+5UdlGPrQHrgtS\
        3CvsRURC1oj73j8gCA==";

    #[test]
    fn a_logon_carries_the_signature_that_the_venue_publishes() {
        let name = |text: &[u8]| CompId::new(text).unwrap();
        let (us, them) = (name(b"EXAMPLE"), name(b"SPOT"));
        let config = SessionConfig::new(Role::Initiator, BeginString::Fix44, us, them);
        let mut session = Session::new(config, MemoryStore::new(16, 1024));
        let utc = parse_timestamp(b"20240627-11:17:25.223").unwrap();
        let now = Now { mono: Nanos::from_secs(1), utc };
        session.connect(now);
        let seed = seed_from_pem(PEM.as_bytes()).unwrap();
        let logon = BinanceLogon::new(b"api-key", &seed);
        let mut out = [0; 512];
        let range = session.poll_transmit_with(now, &mut out, |context, writer| {
            logon.write(&context, writer);
        });
        let text = String::from_utf8(out[range.unwrap()].to_vec()).unwrap().replace('\x01', "|");
        assert!(text.contains(&std::format!("|95=88|96={SIGNATURE}|553=api-key|")), "{text}");
        assert_eq!(std::format!("{logon:?}"), "BinanceLogon { .. }");
    }
}
