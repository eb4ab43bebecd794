//! `[proxy]` beside the rest of a gateway's file.

use crate::mistakes::Mistake;
use crate::service::file::GatewayFile;
use crate::service::proxy::ProxyKeys;

/// Everything that is wrong with the way through the proxy, if there is one; the secret is another
/// matter.
pub fn mistakes(file: &GatewayFile) -> Vec<Mistake> {
    let Some(proxy) = &file.proxy else { return Vec::new() };
    let mut mistakes = ProxyKeys::mistakes(proxy);
    if file.venue.is_some() {
        let text = "[proxy] goes with [deribit], [binance] or [okx]: the market data of [venue] is \
                    multicast, which no proxy takes";
        mistakes.push(Mistake::told("proxy", text));
    }
    let addresses = [
        ("deribit", file.deribit.as_ref().and_then(|it| it.address)),
        ("binance", file.binance.as_ref().and_then(|it| it.address)),
        ("okx", file.okx.as_ref().and_then(|it| it.address)),
    ];
    for (venue, address) in addresses {
        if let Some(address) = address {
            let remedy = "left out with [proxy], which is asked for the venue's names";
            mistakes.push(Mistake::new(&format!("{venue}.address"), address, remedy));
        }
    }
    if file.drop_copy_reader.is_some() {
        let text = "drop_copy_reader: it goes through no proxy; leave it or [proxy] out";
        mistakes.push(Mistake::told("drop_copy_reader", text));
    }
    mistakes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::file::{
        BINANCE_GATEWAY_SAMPLE, DERIBIT_GATEWAY_SAMPLE, GATEWAY_SAMPLE, OKX_GATEWAY_SAMPLE,
    };

    /// A file with these keys in `[proxy]`.
    fn file(sample: &str, keys: &str) -> GatewayFile {
        toml::from_str(&format!("{sample}\n[proxy]\n{keys}\n")).expect("a file")
    }

    fn wrong(file: &GatewayFile) -> Vec<String> {
        let mistakes = super::mistakes(file);
        mistakes
            .iter()
            .map(|mistake| crate::mistakes::error(std::slice::from_ref(mistake)).to_string())
            .collect()
    }

    #[test]
    fn a_proxy_is_a_url_and_a_user_has_a_password_somewhere_else() {
        let whole = "url = \"http://proxy.test:3128\"\nuser = \"me\"\npassword = { fd = 3 }";
        for sample in [DERIBIT_GATEWAY_SAMPLE, BINANCE_GATEWAY_SAMPLE, OKX_GATEWAY_SAMPLE] {
            for keys in ["url = \"http://10.0.0.1\"", whole] {
                assert_eq!(wrong(&file(sample, keys)), [""; 0], "{keys}");
            }
        }
        let url = "url = \"http://proxy.test\"\n";
        for (keys, key) in [
            ("url = \"https://proxy.test\"".to_owned(), "proxy.url"),
            ("url = \"http://me:hunter2@proxy.test\"".to_owned(), "proxy.url"),
            (format!("{url}user = \"me:hunter2\""), "proxy.user"),
            (format!("{url}user = \"me\""), "proxy.password"),
            (format!("{url}password = {{ fd = 3 }}"), "proxy.user"),
        ] {
            let said = wrong(&file(DERIBIT_GATEWAY_SAMPLE, &keys));
            assert!(said.len() == 1 && said[0].contains(key), "{keys}: {said:?}");
            assert!(!said[0].contains("hunter2"), "{said:?}");
        }
        let password = "password = \"hunter2\"";
        let text = format!("{DERIBIT_GATEWAY_SAMPLE}\n[proxy]\n{url}user = \"me\"\n{password}\n");
        let said = toml::from_str::<GatewayFile>(&text).expect_err("a secret in the file");
        assert!(!said.message().contains("hunter2"), "{}", said.message());
    }

    #[test]
    fn what_goes_through_no_proxy_and_addresses_of_the_venue_are_left_out() {
        let keys = "url = \"http://proxy.test\"";
        let said = wrong(&file(GATEWAY_SAMPLE, keys));
        assert!(said.len() == 1 && said[0].contains("[deribit], [binance] or [okx]"), "{said:?}");
        let sample = OKX_GATEWAY_SAMPLE.replace("# address = ", "address = ");
        let said = wrong(&file(&sample, keys));
        assert!(said.len() == 1 && said[0].contains("okx.address"), "{said:?}");
    }
}
