//! Binance: RawData (96) is an Ed25519 signature of the Logon's header.

use core::fmt;

use base64ct::{Base64, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use taut_fix::{LogonContext, Writer};

/// Bytes of the seed that a private key is made of.
pub const SEED_BYTES: usize = 32;
/// What stands before the seed in a PKCS #8 file of an Ed25519 key (RFC 8410, section 7).
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// The text of a signature.
const SIGNATURE_TEXT_BYTES: usize = 88;
/// MsgType, two CompIDs, twenty digits, a timestamp, and four delimiters.
const PAYLOAD_BYTES_MAX: usize = 1 + 31 + 31 + 20 + 30 + 4;

/// The credentials of one API key.
#[derive(Clone)]
pub struct BinanceLogon<'k> {
    api_key: &'k [u8],
    key: SigningKey,
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
        Self { api_key, key: SigningKey::from_bytes(seed) }
    }

    /// Writes RawDataLength (95), RawData (96) and Username (553). What else Binance wants in a
    /// Logon, such as MessageHandling (25035), is the caller's to add.
    pub fn write(&self, context: &LogonContext, writer: &mut Writer<'_>) {
        let mut text = [0; SIGNATURE_TEXT_BYTES];
        writer.data::<95, 96>(self.sign(context, &mut text));
        writer.text::<553>(self.api_key);
    }

    /// Signs MsgType, SenderCompID, TargetCompID, MsgSeqNum and SendingTime, a delimiter between
    /// them, each as it stands in the message.
    fn sign<'o>(
        &self,
        context: &LogonContext,
        out: &'o mut [u8; SIGNATURE_TEXT_BYTES],
    ) -> &'o [u8] {
        let mut digits = [0; 20];
        let parts = [
            &b"A"[..],
            context.sender.as_bytes(),
            context.target.as_bytes(),
            decimal(context.sequence, &mut digits),
            context.sending_time.as_bytes(),
        ];
        let mut payload = [1; PAYLOAD_BYTES_MAX];
        let mut len = 0;
        for part in parts {
            if let Some(room) = payload.get_mut(len..len + part.len()) {
                room.copy_from_slice(part);
            }
            len += part.len() + 1;
        }
        let signature = self.key.sign(payload.get(..len - 1).unwrap_or_default());
        Base64::encode(&signature.to_bytes(), out).unwrap_or_default().as_bytes()
    }
}

/// The seed in a private key file: PKCS #8 in PEM, as `openssl genpkey -algorithm ed25519` makes
/// it. `None` for any other kind of key or file.
#[must_use]
pub fn seed_from_pem(pem: &[u8]) -> Option<[u8; SEED_BYTES]> {
    const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
    const END: &str = "-----END PRIVATE KEY-----";
    let text = core::str::from_utf8(pem).ok()?;
    let (_, rest) = text.split_once(BEGIN)?;
    let (inner, _) = rest.split_once(END)?;
    let inner: String = inner.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    let key = Base64::decode_vec(&inner).ok()?;
    let (head, seed) = key.split_first_chunk()?;
    (*head == PKCS8_HEAD).then(|| seed.try_into().ok())?
}

fn decimal(mut number: u64, out: &mut [u8; 20]) -> &[u8] {
    let mut start = out.len();
    for room in out.iter_mut().rev() {
        *room = b'0' + (number % 10) as u8;
        number /= 10;
        start -= 1;
        if number == 0 {
            break;
        }
    }
    out.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{BinanceLogon, decimal, seed_from_pem};
    use std::string::String;
    use taut_fix::{
        BeginString, CompId, MemoryStore, Now, Role, Session, SessionConfig, parse_timestamp,
    };
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

    #[test]
    fn other_keys_and_files_are_refused() {
        assert!(seed_from_pem(b"").is_none());
        assert!(seed_from_pem(PEM.replace("MC4C", "MC5C").as_bytes()).is_none());
        assert!(seed_from_pem(PEM.replace("m89u", "").as_bytes()).is_none());
        assert!(seed_from_pem(PEM.replace("PRIVATE", "PUBLIC").as_bytes()).is_none());
    }

    #[test]
    fn numbers_are_written_as_they_print() {
        for number in [0, 9, 10, 1_234_567_890, u64::MAX] {
            let mut digits = [0; 20];
            assert_eq!(decimal(number, &mut digits), std::format!("{number}").as_bytes());
        }
    }
}
