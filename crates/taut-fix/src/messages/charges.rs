//! What a trade costs besides its price.

use taut_types::Price;

use crate::codec::fields::Field;
use crate::codec::tag;
use crate::codec::text::InlineText;
use crate::codec::writer::Writer;
use crate::error::FixError;

/// A currency, by its code (ISO 4217) or a venue's name of it.
pub type Currency = InlineText<15>;

/// What a trade costs, as its report says: FIX 4.4 volume 6, Commission and MiscFees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    /// Commission (12); below 0 when it is paid to the order's owner.
    pub commission: Option<Price>,
    /// CommType (13).
    pub comm_type: CommType,
    /// CommCurrency (479).
    pub comm_currency: Option<Currency>,
    /// The sum of MiscFeeAmt (137) in the group of NoMiscFees (136).
    pub misc_fees: Option<Price>,
    /// MiscFeeCurr (138).
    pub misc_fee_currency: Option<Currency>,
    /// The sum has no meaning: its parts are in several currencies, or no 64 bits hold it.
    pub is_mixed: bool,
    /// LastLiquidityInd (851).
    pub liquidity: Option<Liquidity>,
}

/// What a commission is of: CommType (13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommType {
    /// For each unit that traded (1).
    PerUnit,
    /// A part of what the trade is worth (2): `0.05` is five percent.
    Percent,
    /// In all (3); what it is where nothing is said.
    #[default]
    Absolute,
    /// Something else.
    Other,
}

/// Who was there first: LastLiquidityInd (851).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liquidity {
    /// The order rested: it added liquidity (1).
    Maker,
    /// It arrived: it removed liquidity (2).
    Taker,
}

impl Charges {
    /// Nothing is charged, or nothing is said of it.
    pub const NONE: Self = Self {
        commission: None,
        comm_type: CommType::Absolute,
        comm_currency: None,
        misc_fees: None,
        misc_fee_currency: None,
        is_mixed: false,
        liquidity: None,
    };

    /// Takes a field, if it is one of these. An amount that no price is says nothing, but that
    /// there is one: the report counts all the same.
    #[cold]
    pub(super) fn take(&mut self, field: &Field<'_>) -> Result<(), FixError> {
        let amount = || Price::parse(field.value).ok();
        match field.tag {
            tag::COMMISSION => {
                self.commission = amount();
                self.is_mixed |= self.commission.is_none();
            }
            tag::COMM_TYPE => {
                self.comm_type = match field.value {
                    b"1" => CommType::PerUnit,
                    b"2" => CommType::Percent,
                    b"3" => CommType::Absolute,
                    _ => CommType::Other,
                }
            }
            tag::COMM_CURRENCY => self.comm_currency = Some(field.short()?),
            tag::MISC_FEE_AMT => {
                let before = self.misc_fees.unwrap_or(Price(0));
                let sum = amount().and_then(|fee| before.0.checked_add(fee.0));
                self.is_mixed |= sum.is_none();
                self.misc_fees = Some(sum.map_or(before, Price));
            }
            tag::MISC_FEE_CURR => {
                let currency = field.short()?;
                let before = self.misc_fee_currency.replace(currency);
                self.is_mixed |= before.is_some_and(|before| before != currency);
            }
            tag::LAST_LIQUIDITY_IND => {
                self.liquidity = match field.value {
                    b"1" => Some(Liquidity::Maker),
                    b"2" => Some(Liquidity::Taker),
                    _ => None,
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes them: a commission, and who was there first.
    #[cold]
    pub(super) fn encode(&self, writer: &mut Writer<'_>) {
        if let Some(commission) = self.commission {
            writer.price::<{ tag::COMMISSION }>(commission);
            writer.byte::<{ tag::COMM_TYPE }>(match self.comm_type {
                CommType::PerUnit => b'1',
                CommType::Percent => b'2',
                CommType::Absolute | CommType::Other => b'3',
            });
        }
        if let Some(currency) = &self.comm_currency {
            writer.short::<{ tag::COMM_CURRENCY }, 15>(currency);
        }
        if let Some(liquidity) = self.liquidity {
            writer.byte::<{ tag::LAST_LIQUIDITY_IND }>(match liquidity {
                Liquidity::Maker => b'1',
                Liquidity::Taker => b'2',
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(fields: &[(u32, &str)]) -> Result<Charges, FixError> {
        let mut charges = Charges::NONE;
        for (tag, value) in fields {
            charges.take(&Field { tag: *tag, value: value.as_bytes(), offset: 0 })?;
        }
        Ok(charges)
    }

    #[test]
    fn fees_of_one_currency_add_up_and_of_several_do_not() {
        let two =
            |first, second| taken(&[(137, "0.1"), (138, first), (137, "-0.03"), (138, second)]);
        let sum = two("USD", "USD").expect("charges");
        assert_eq!((sum.misc_fees, sum.is_mixed), (Some(Price(70_000_000)), false));
        assert!(two("USD", "BNB").is_ok_and(|charges| charges.is_mixed));
    }

    #[test]
    fn an_amount_that_is_none_is_not_taken_for_nothing() {
        for wrong in ["many", "0.0000000001", "99999999999999999999"] {
            let charges = taken(&[(12, wrong)]).expect("charges");
            assert_eq!((charges.commission, charges.is_mixed), (None, true), "{wrong}");
        }
        let large = taken(&[(137, "9000000000"), (137, "9000000000")]).expect("charges");
        assert!(large.is_mixed);
        assert!(taken(&[(479, "a currency with a long name")]).is_err());
        let other = taken(&[(12, "1"), (13, "9"), (851, "7")]).expect("charges");
        assert_eq!((other.comm_type, other.liquidity), (CommType::Other, None));
    }
}
