//! Positions: what the selling side holds for an account, asked for and reported.

use taut_types::{Nanos, Price, Qty};

use crate::codec::body::Body;
use crate::codec::fields::{Field, required};
use crate::codec::tag;
use crate::codec::text::{LongText, ShortText};
use crate::codec::timestamp::{StampCache, parse_timestamp};
use crate::codec::writer::Writer;
use crate::error::{FixError, RejectReason};

/// PosReqType (724): positions, and no trades, exercises or assignments.
const POSITIONS: u8 = b'0';
/// AccountType (581): the customer's side of the books.
const CUSTOMER: u8 = b'1';
/// SettlPriceType (731): theoretical.
const THEORETICAL: u8 = b'2';
/// PosReqResult (728) of a request for which there is no position.
pub const NO_POSITIONS: u32 = 2;
/// PosReqStatus (729) of a request that is refused.
const REFUSED: u32 = 2;

/// RequestForPositions (AN): what does an account hold?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestForPositions {
    /// PosReqID (710).
    pub request_id: ShortText,
    /// Account (1); without it all of the client's accounts, where the venue takes that.
    pub account: Option<ShortText>,
    /// TransactTime (60), UTC; its day is the ClearingBusinessDate (715).
    pub transact_time: Nanos,
}

impl RequestForPositions {
    /// Reads a body. 60, 710, 715 and 724 are required; 724 must ask for positions.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let (mut request_id, mut account, mut transact_time) = (None, None, None);
        let (mut kind, mut day) = (None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::ACCOUNT => field.once(&mut account, field.short()?)?,
                tag::TRANSACT_TIME => field.once(&mut transact_time, field.timestamp()?)?,
                tag::POS_REQ_ID => field.once(&mut request_id, field.short()?)?,
                tag::CLEARING_BUSINESS_DATE => field.once(&mut day, date(&field)?)?,
                tag::POS_REQ_TYPE => {
                    let positions = |byte| (byte == POSITIONS).then_some(());
                    field.once(&mut kind, field.code(positions)?)?;
                }
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        required(day, tag::CLEARING_BUSINESS_DATE, end)?;
        required(kind, tag::POS_REQ_TYPE, end)?;
        Ok(Self {
            request_id: required(request_id, tag::POS_REQ_ID, end)?,
            account,
            transact_time: required(transact_time, tag::TRANSACT_TIME, end)?,
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        if let Some(account) = &self.account {
            writer.short::<{ tag::ACCOUNT }, 23>(account);
        }
        writer.timestamp::<{ tag::TRANSACT_TIME }>(self.transact_time);
        writer.byte::<{ tag::ACCOUNT_TYPE }>(CUSTOMER);
        writer.short::<{ tag::POS_REQ_ID }, 23>(&self.request_id);
        write_date(writer, self.transact_time);
        writer.byte::<{ tag::POS_REQ_TYPE }>(POSITIONS);
    }
}

/// RequestForPositionsAck (AO): whether reports follow a request, and how many. A venue may leave
/// it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestForPositionsAck {
    /// PosReqID (710) of the request.
    pub request_id: Option<LongText>,
    /// TotalNumPosReports (727): how many reports follow.
    pub total: Option<u32>,
    /// PosReqResult (728): 0 when the request was good, [`NO_POSITIONS`] when there is none.
    pub result: u32,
    /// Whether PosReqStatus (729) says that the request is refused.
    pub is_refused: bool,
}

impl RequestForPositionsAck {
    /// Reads a body. 728 and 729 are required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let (mut request_id, mut total, mut result, mut status) = (None, None, None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::POS_REQ_ID => field.once(&mut request_id, field.short()?)?,
                tag::TOTAL_NUM_POS_REPORTS => field.once(&mut total, field.number_u32()?)?,
                tag::POS_REQ_RESULT => field.once(&mut result, field.number_u32()?)?,
                tag::POS_REQ_STATUS => field.once(&mut status, field.number_u32()?)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            request_id,
            total,
            result: required(result, tag::POS_REQ_RESULT, end)?,
            is_refused: required(status, tag::POS_REQ_STATUS, end)? == REFUSED,
        })
    }
}

/// PositionReport (AP): what an account holds of one instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionReport {
    /// PosMaintRptID (721): the report's own.
    pub report_id: LongText,
    /// PosReqID (710) of the request that it answers.
    pub request_id: Option<LongText>,
    /// TotalNumPosReports (727): how many answers there are.
    pub total: Option<u32>,
    /// PosReqResult (728): 0, or [`NO_POSITIONS`] when there is none at all.
    pub result: u32,
    /// ClearingBusinessDate (715): any moment of that day, UTC; its first one when it was read.
    pub business_day: Nanos,
    /// Account (1).
    pub account: Option<LongText>,
    /// Symbol (55); absent when there is no position.
    pub symbol: Option<LongText>,
    /// LongQty (704): the sum over the entries of the group (702).
    pub long: Qty,
    /// ShortQty (705), which is positive too.
    pub short: Qty,
    /// SettlPrice (730): 0 when there is none.
    pub settlement_price: Price,
}

impl PositionReport {
    /// Reads a body. 721 and 728 are required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let (mut report_id, mut request_id, mut total) = (None, None, None);
        let (mut result, mut day, mut account) = (None, None, None);
        let (mut symbol, mut settlement_price) = (None, None);
        let (mut long, mut short) = (Qty::ZERO, Qty::ZERO);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::ACCOUNT => field.once(&mut account, field.short()?)?,
                tag::SYMBOL => field.once(&mut symbol, field.short()?)?,
                // One entry for each kind of position: total, delivered, adjusted.
                tag::LONG_QTY => long = sum(&field, long)?,
                tag::SHORT_QTY => short = sum(&field, short)?,
                tag::POS_REQ_ID => field.once(&mut request_id, field.short()?)?,
                tag::CLEARING_BUSINESS_DATE => field.once(&mut day, date(&field)?)?,
                tag::POS_MAINT_RPT_ID => field.once(&mut report_id, field.short()?)?,
                tag::TOTAL_NUM_POS_REPORTS => field.once(&mut total, field.number_u32()?)?,
                tag::POS_REQ_RESULT => field.once(&mut result, field.number_u32()?)?,
                tag::SETTL_PRICE => field.once(&mut settlement_price, field.price()?)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            report_id: required(report_id, tag::POS_MAINT_RPT_ID, end)?,
            request_id,
            total,
            result: required(result, tag::POS_REQ_RESULT, end)?,
            business_day: day.unwrap_or_default(),
            account,
            symbol,
            long,
            short,
            settlement_price: settlement_price.unwrap_or_default(),
        })
    }

    /// Writes the body, tags ascending, but for the group (702), whose order is its own.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        if let Some(account) = &self.account {
            writer.short::<{ tag::ACCOUNT }, 39>(account);
        }
        if let Some(symbol) = &self.symbol {
            writer.short::<{ tag::SYMBOL }, 39>(symbol);
        }
        writer.byte::<{ tag::ACCOUNT_TYPE }>(CUSTOMER);
        if self.symbol.is_some() {
            writer.byte::<{ tag::NO_POSITIONS }>(b'1');
            writer.field(tag::POS_TYPE.cast_signed(), b"TQ");
            writer.qty::<{ tag::LONG_QTY }>(self.long);
            writer.qty::<{ tag::SHORT_QTY }>(self.short);
        }
        if let Some(request_id) = &self.request_id {
            writer.short::<{ tag::POS_REQ_ID }, 39>(request_id);
        }
        write_date(writer, self.business_day);
        writer.short::<{ tag::POS_MAINT_RPT_ID }, 39>(&self.report_id);
        if let Some(total) = self.total {
            writer.number::<{ tag::TOTAL_NUM_POS_REPORTS }>(u64::from(total));
        }
        writer.number::<{ tag::POS_REQ_RESULT }>(u64::from(self.result));
        writer.price::<{ tag::SETTL_PRICE }>(self.settlement_price);
        writer.byte::<{ tag::SETTL_PRICE_TYPE }>(THEORETICAL);
        writer.price::<{ tag::PRIOR_SETTL_PRICE }>(self.settlement_price);
    }
}

/// The sum with another entry's quantity.
fn sum(field: &Field<'_>, so_far: Qty) -> Result<Qty, FixError> {
    let more = field.qty()?;
    let decimals = so_far.decimals.max(more.decimals);
    let of = |qty: Qty| qty.with_decimals(decimals).map(|qty| qty.mantissa);
    let mantissa = of(so_far).zip(of(more)).and_then(|(one, other)| one.checked_add(other));
    let mantissa = mantissa.ok_or_else(|| field.violates(RejectReason::ValueIncorrect))?;
    Ok(Qty { mantissa, decimals })
}

/// LocalMktDate: `YYYYMMDD`, as the first moment of that day in UTC.
fn date(field: &Field<'_>) -> Result<Nanos, FixError> {
    let mut text = *b"YYYYMMDD-00:00:00";
    let day = text.first_chunk_mut::<8>().zip(field.value.first_chunk::<8>());
    let day = day.filter(|_| field.value.len() == 8).map(|(room, day)| *room = *day);
    let read = day.and_then(|()| parse_timestamp(&text));
    read.ok_or_else(|| field.violates(RejectReason::IncorrectDataFormat))
}

fn write_date(writer: &mut Writer<'_>, utc: Nanos) {
    let text = StampCache::new(crate::codec::timestamp::Precision::Seconds).text(utc);
    let day = text.as_bytes().get(..8).unwrap_or(&[]);
    writer.field(tag::CLEARING_BUSINESS_DATE.cast_signed(), day);
}
