//! What is asked over HTTP.

use taut_order_entry::okx::http_signature;
use taut_types::OrderId;
use taut_web_venue::{HttpRequest, Refusal};

use super::orders::{State, name_of};
use super::{Okx, SIGNED_WITHIN_MS, passphrase_of};

/// Orders in an answer, at the most.
const PAGE: usize = 100;

impl Okx {
    /// The status and the body of an answer.
    pub(super) fn answer_http(&self, request: &HttpRequest, why: Option<Refusal>) -> (u16, String) {
        let refused = |status: u16, code: u32, words: &str| {
            (status, format!(r#"{{"code":"{code}","msg":"{words}","data":[]}}"#))
        };
        match why {
            Some(Refusal::Maintenance) => {
                return refused(503, 50_001, "Service temporarily unavailable");
            }
            Some(Refusal::TooMany) => return refused(429, 50_011, "Too Many Requests"),
            // Only what trades is refused; who asks here says who it is each time.
            Some(Refusal::Busy | Refusal::Unknown | Refusal::Expired) | None => {}
        }
        if request.path == "/api/v5/public/time" {
            let ms = self.ms();
            return (200, format!(r#"{{"code":"0","msg":"","data":[{{"ts":"{ms}"}}]}}"#));
        }
        let account = match self.asker(request) {
            Ok(account) => account,
            Err(code) => return refused(401, code, "refused"),
        };
        let parameter = |key: &str| {
            let mut all = request.query.split('&').filter_map(|pair| pair.split_once('='));
            all.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let data = match request.path.as_str() {
            "/api/v5/trade/order" => {
                let found = self.find_by(account, (parameter("ordId"), parameter("clOrdId")));
                let Some(order) = found.and_then(|id| self.orders.get(&id)) else {
                    return refused(200, 51_603, "Order does not exist");
                };
                self.shown(order)
            }
            "/api/v5/trade/orders-pending" => self.pending(account, parameter("after")),
            "/api/v5/account/positions" => self.positions(account),
            _ => return refused(404, 50_014, "no such path"),
        };
        (200, format!(r#"{{"code":"0","msg":"","data":[{data}]}}"#))
    }

    /// Open orders, the newest first.
    fn pending(&self, account: usize, after: Option<&str>) -> String {
        let is_older = |id: OrderId| after.is_none_or(|after| name_of(id).as_str() < after);
        let open = self.orders.values().rev().filter(|order| {
            order.account == account
                && order.state == State::Open
                && is_older(order.entered.order_id)
        });
        open.take(PAGE).map(|order| self.shown(order)).collect::<Vec<_>>().join(",")
    }

    fn positions(&self, account: usize) -> String {
        let (name, kind) = (self.listing.name, self.listing.kind);
        let size = self.listing.size(self.accounts[account].lots);
        format!(r#"{{"instType":"{kind}","instId":"{name}","posSide":"net","pos":"{size}"}}"#)
    }

    /// Who asks, or why that is not known.
    fn asker(&self, request: &HttpRequest) -> Result<usize, u32> {
        let header = |name| request.header(name).unwrap_or_default();
        let (key, time) = (header("ok-access-key"), header("ok-access-timestamp"));
        let found = self.accounts.iter().position(|it| it.name == key).ok_or(50_111_u32)?;
        let account = &self.accounts[found];
        let asked_at = milliseconds(time).ok_or(50_112_u32)?;
        if (asked_at - self.ms()).abs() > SIGNED_WITHIN_MS {
            return Err(50_102);
        }
        if header("ok-access-passphrase") != passphrase_of(account.name) {
            return Err(50_105);
        }
        let target = request.target();
        let signature = http_signature(&account.secret, time.as_bytes(), target.as_bytes());
        if header("ok-access-sign").as_bytes() != signature { Err(50_113) } else { Ok(found) }
    }
}

/// Of UTC: `2020-12-08T09:08:57.715Z`.
fn milliseconds(iso: &str) -> Option<i64> {
    let part = |from: usize, to: usize| iso.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let years: i64 = (1_970..year).map(|year| 365 + i64::from(is_leap(year))).sum();
    let february = 28 + i64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before: i64 = months.iter().take(usize::try_from(month - 1).ok()?).sum();
    let seconds = part(11, 13)? * 3_600 + part(14, 16)? * 60 + part(17, 19)?;
    Some(((years + before + day - 1) * 86_400 + seconds) * 1_000 + part(20, 23)?)
}
