//! The tags that this crate reads and writes (FIX 4.4 volume 6).

macro_rules! tags {
    ($($name:ident = $number:literal;)*) => {
        $(
            #[doc = concat!("Tag ", stringify!($number), ".")]
            pub const $name: u32 = $number;
        )*
    };
}

tags! {
    ACCOUNT = 1;
    AVG_PX = 6;
    BEGIN_SEQ_NO = 7;
    CL_ORD_ID = 11;
    COMMISSION = 12;
    COMM_TYPE = 13;
    CUM_QTY = 14;
    END_SEQ_NO = 16;
    EXEC_ID = 17;
    EXEC_INST = 18;
    EXEC_REF_ID = 19;
    EXEC_TRANS_TYPE = 20;
    LAST_PX = 31;
    LAST_QTY = 32;
    MSG_SEQ_NUM = 34;
    MSG_TYPE = 35;
    NEW_SEQ_NO = 36;
    ORDER_ID = 37;
    ORDER_QTY = 38;
    ORD_STATUS = 39;
    ORD_TYPE = 40;
    ORIG_CL_ORD_ID = 41;
    POSS_DUP_FLAG = 43;
    PRICE = 44;
    REF_SEQ_NUM = 45;
    SENDER_COMP_ID = 49;
    SENDING_TIME = 52;
    SIDE = 54;
    SYMBOL = 55;
    TARGET_COMP_ID = 56;
    TEXT = 58;
    TIME_IN_FORCE = 59;
    TRANSACT_TIME = 60;
    POSS_RESEND = 97;
    DEFAULT_APPL_VER_ID = 1137;
    MASS_ACTION_REPORT_ID = 1369;
    NEXT_EXPECTED_MSG_SEQ_NUM = 789;
    LAST_MSG_SEQ_NUM_PROCESSED = 369;
    ENCRYPT_METHOD = 98;
    STOP_PX = 99;
    CXL_REJ_REASON = 102;
    ORD_REJ_REASON = 103;
    HEART_BT_INT = 108;
    MAX_FLOOR = 111;
    TEST_REQ_ID = 112;
    ORIG_SENDING_TIME = 122;
    GAP_FILL_FLAG = 123;
    MISC_FEE_AMT = 137;
    MISC_FEE_CURR = 138;
    RESET_SEQ_NUM_FLAG = 141;
    EXEC_TYPE = 150;
    LEAVES_QTY = 151;
    REF_TAG_ID = 371;
    REF_MSG_TYPE = 372;
    SESSION_REJECT_REASON = 373;
    BUSINESS_REJECT_REF_ID = 379;
    BUSINESS_REJECT_REASON = 380;
    CXL_REJ_RESPONSE_TO = 434;
    COMM_CURRENCY = 479;
    MASS_CANCEL_REQUEST_TYPE = 530;
    MASS_CANCEL_RESPONSE = 531;
    MASS_CANCEL_REJECT_REASON = 532;
    TOTAL_AFFECTED_ORDERS = 533;
    ACCOUNT_TYPE = 581;
    MASS_STATUS_REQ_ID = 584;
    MASS_STATUS_REQ_TYPE = 585;
    NO_POSITIONS = 702;
    POS_TYPE = 703;
    LONG_QTY = 704;
    SHORT_QTY = 705;
    POS_REQ_ID = 710;
    CLEARING_BUSINESS_DATE = 715;
    POS_MAINT_RPT_ID = 721;
    POS_REQ_TYPE = 724;
    TOTAL_NUM_POS_REPORTS = 727;
    POS_REQ_RESULT = 728;
    POS_REQ_STATUS = 729;
    SETTL_PRICE = 730;
    SETTL_PRICE_TYPE = 731;
    PRIOR_SETTL_PRICE = 734;
    ORD_STATUS_REQ_ID = 790;
    LAST_LIQUIDITY_IND = 851;
    TOT_NUM_REPORTS = 911;
    LAST_RPT_REQUESTED = 912;
}

/// Whether the tag belongs to the standard header, which must stand before the body.
#[must_use]
pub const fn is_header(tag: u32) -> bool {
    HEADER.has(tag)
}

/// A set of tags below 1536: one load and a shift.
struct TagSet([u64; 24]);

impl TagSet {
    const fn of(tags: &[u32]) -> Self {
        let mut words = [0; 24];
        let mut at = 0;
        // Evaluated when compiled.
        #[expect(clippy::indexing_slicing, reason = "evaluated when compiled")]
        while at < tags.len() {
            words[(tags[at] / 64) as usize] |= 1 << (tags[at] % 64);
            at += 1;
        }
        Self(words)
    }

    #[inline(always)]
    const fn has(&self, tag: u32) -> bool {
        let word = (tag / 64) as usize;
        // `get` is not const yet; the index is below the length.
        #[expect(clippy::indexing_slicing, reason = "checked in the same expression")]
        {
            word < self.0.len() && self.0[word] >> (tag % 64) & 1 == 1
        }
    }
}

const HEADER: TagSet = TagSet::of(&[
    8, 9, 34, 35, 43, 49, 50, 52, 56, 57, 90, 91, 97, 115, 116, 122, 128, 129, 142, 143, 144, 145,
    212, 213, 347, 369, 627, 628, 629, 630, 1128, 1129, 1156,
]);

/// The tags that [`data_tag`] knows.
const LENGTHS: TagSet = TagSet::of(&[
    90, 93, 95, 212, 348, 350, 352, 354, 356, 358, 360, 362, 364, 445, 618, 621, 1184, 1277, 1280,
    1282, 1359, 1397, 1401, 1403, 1468,
]);

/// Whether [`data_tag`] knows the tag: a quick test that most tags fail.
#[inline(always)]
pub const fn may_be_length(tag: u32) -> bool {
    tag >= 90 && LENGTHS.has(tag)
}

/// The data field whose length this tag gives, if it gives one: such a value may hold delimiters.
#[must_use]
pub const fn data_tag(length_tag: u32) -> Option<u32> {
    match length_tag {
        90 => Some(91),
        93 => Some(89),
        95 => Some(96),
        212 | 348 | 350 | 352 | 354 | 356 | 358 | 360 | 362 | 364 | 445 | 618 | 621 => {
            Some(length_tag + 1)
        }
        1184 | 1277 | 1280 | 1282 | 1359 | 1397 | 1401 | 1403 | 1468 => Some(length_tag + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{data_tag, may_be_length};

    #[test]
    fn the_quick_test_knows_every_length() {
        for tag in 0..3000u32 {
            assert_eq!(may_be_length(tag), data_tag(tag).is_some(), "{tag}");
        }
        assert!(!may_be_length(u32::MAX - 89));
    }
}
