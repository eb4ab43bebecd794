//! The venues' published signatures, byte for byte.

use std::path::Path;

use serde::Deserialize;
use taut_order_entry::binance::{logon_signature, request_text, rest_signature};
use taut_order_entry::deribit::client_signature;
use taut_order_entry::sign::{Ed25519Key, HmacKey, seed_from_pkcs8};

#[derive(Deserialize)]
struct Vector {
    what: String,
    algorithm: String,
    secret: Option<String>,
    private_key_pkcs8: Option<String>,
    public_key_hex: Option<String>,
    payload: String,
    signature: String,
}

fn hmac(vector: &Vector) -> Vec<u8> {
    let key = HmacKey::new(vector.secret.as_ref().unwrap().as_bytes());
    let payload = vector.payload.as_str();
    assert!(key.is_signed_hex(&[payload.as_bytes()], vector.signature.as_bytes()));
    if vector.what.starts_with("Deribit") {
        let mut lines = payload.split('\n');
        let mut next = || lines.next().unwrap();
        let (time, nonce, data) = (next(), next(), next());
        let time = time.parse().unwrap();
        return client_signature(&key, time, nonce.as_bytes(), data.as_bytes()).to_vec();
    }
    if vector.what.contains("WebSocket") {
        // As a client may have them: the last first.
        let pairs = payload.split('&').rev().map(|pair| pair.split_once('=').unwrap());
        let pairs: Vec<_> =
            pairs.map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let mut room = [0; 1024];
        let text = request_text(&pairs, &mut room).unwrap();
        assert_eq!(text, payload.as_bytes());
        return key.sign_hex(&[text]).to_vec();
    }
    let (query, body) = payload.split_at(payload.len() / 3);
    rest_signature(&key, query.as_bytes(), body.as_bytes()).to_vec()
}

fn ed25519(vector: &Vector) -> Vec<u8> {
    let pkcs8 = vector.private_key_pkcs8.as_ref().unwrap();
    let key = Ed25519Key::new(&seed_from_pkcs8(pkcs8.as_bytes()).unwrap());
    let public: String = key.public().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(Some(public), vector.public_key_hex);
    let parts: Vec<&[u8]> = vector.payload.split('\x01').map(str::as_bytes).collect();
    let [b"A", sender, target, b"1", time] = parts[..] else { panic!("{}", vector.payload) };
    let signature = logon_signature(&key, [sender, target], 1, time).unwrap();
    assert_eq!(signature, key.sign_base64(vector.payload.as_bytes()));
    signature.to_vec()
}

#[test]
fn all_eleven_signatures_are_the_published_ones() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/venues/vectors.json");
    let Ok(text) = std::fs::read_to_string(Path::new(path)) else {
        println!("skipped: vectors.json is not there");
        return;
    };
    let vectors: Vec<Vector> = serde_json::from_str(&text).unwrap();
    assert_eq!(vectors.len(), 11);
    for vector in &vectors {
        let signature =
            if vector.algorithm.starts_with("HMAC") { hmac(vector) } else { ed25519(vector) };
        assert_eq!(String::from_utf8(signature).unwrap(), vector.signature, "{}", vector.what);
    }
}
