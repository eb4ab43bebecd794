//! The versions of FIX in which clients trade, and what differs from one to the next.
//!
//! The venue thinks in FIX 4.4: requests are read into the same values in every version, and
//! answers are said in the version of their session by its [`Dialect`].

use taut_fix::{
    BeginString, BusinessMessageReject, Charges, ExecTransType, ExecType, ExecutionReport, Link,
    MemoryStore, OrderCancelReject, OrderMassCancelReport, PositionReport, TypedMessage, Writer,
    tag,
};

use crate::reports::ord_rej_reason;

/// A version of FIX in which a client may trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixVersion {
    /// FIX 4.4
    Fix44,
    /// FIX 4.2
    Fix42,
    /// FIX 5.0 SP2 over FIXT 1.1
    Fix50Sp2,
}

/// What a version says in another way than FIX 4.4, and what it does not have.
#[derive(Debug)]
pub struct Dialect {
    name: &'static str,
    begin: BeginString,
    /// DefaultApplVerID (1137) of its Logons.
    application: Option<u8>,
    /// Reports say by ExecTransType (20) what ExecType (150) says from FIX 4.3 on, and by ExecType
    /// where the order stands: these do, and all others are new.
    exec_trans_types: Option<&'static [(ExecType, ExecTransType)]>,
    /// Commission (12) and CommType (13) are all that it has of a trade's charges.
    has_few_charges: bool,
    /// OrdRejReasons (103) that it does not have: Text (58) says them.
    no_ord_rej_reasons: &'static [u32],
    /// The highest CxlRejReason (102) that it has: Text (58) says the others.
    cancel_reason_max: u8,
    /// A mass cancel's report has a MassActionReportID (1369).
    has_mass_action_id: bool,
    /// MsgTypes (35) of requests that it does not have, or has in another form.
    no_requests: &'static [&'static [u8]],
}

/// In the order of the versions: FIX 4.4 with errata 20030618, FIX 4.2 with errata 20010501, and
/// FIX 5.0 SP2.
static DIALECTS: [Dialect; 3] = [
    Dialect {
        name: "FIX.4.4",
        begin: BeginString::Fix44,
        application: None,
        exec_trans_types: None,
        has_few_charges: false,
        no_ord_rej_reasons: &[],
        cancel_reason_max: u8::MAX,
        has_mass_action_id: false,
        no_requests: &[],
    },
    Dialect {
        name: "FIX.4.2",
        begin: BeginString::Fix42,
        application: None,
        exec_trans_types: Some(&[
            (ExecType::Trade, ExecTransType::New),
            (ExecType::TradeCancel, ExecTransType::Cancel),
            (ExecType::OrderStatus, ExecTransType::Status),
        ]),
        has_few_charges: true,
        no_ord_rej_reasons: &[ord_rej_reason::INCORRECT_QUANTITY, ord_rej_reason::OTHER],
        cancel_reason_max: 3,
        has_mass_action_id: false,
        no_requests: &[b"AF", b"q", b"AN"],
    },
    Dialect {
        name: "FIX.5.0SP2",
        begin: BeginString::Fixt11,
        application: Some(b'9'),
        exec_trans_types: None,
        has_few_charges: false,
        no_ord_rej_reasons: &[],
        cancel_reason_max: u8::MAX,
        has_mass_action_id: true,
        no_requests: &[b"AN"],
    },
];

impl FixVersion {
    /// Every version, in the order of their numbers in a journal.
    pub const ALL: [Self; 3] = [Self::Fix44, Self::Fix42, Self::Fix50Sp2];

    fn dialect(self) -> &'static Dialect {
        // In the order of the versions: a test says so.
        DIALECTS.get(self as usize).unwrap_or(&DIALECTS[0])
    }

    /// Its name: `FIX.4.2`, `FIX.4.4` or `FIX.5.0SP2`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.dialect().name
    }

    /// The version with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == name)
    }

    /// BeginString (8) of its sessions.
    #[must_use]
    pub fn begin(self) -> BeginString {
        self.dialect().begin
    }

    /// DefaultApplVerID (1137) of its Logons, where they have one.
    #[must_use]
    pub fn application_version(self) -> Option<u8> {
        self.dialect().application
    }

    /// The version of a Logon. FIX 4.2 and 4.4 do not look at DefaultApplVerID (1137).
    pub(crate) fn of_logon(begin: BeginString, application: Option<&[u8]>) -> Option<Self> {
        let mut versions = Self::ALL.into_iter();
        versions.find(|version| {
            let wanted = version.application_version();
            version.begin() == begin && wanted.is_none_or(|it| application == Some(&[it][..]))
        })
    }

    /// The version of a session: each has a BeginString of its own.
    pub(crate) fn of_session(begin: BeginString) -> Self {
        Self::ALL.into_iter().find(|version| version.begin() == begin).unwrap_or(Self::Fix44)
    }

    /// Whether it has a request of this MsgType (35), if others have.
    pub(crate) fn has_request(self, msg_type: &[u8]) -> bool {
        !self.dialect().no_requests.contains(&msg_type)
    }
}

/// The version of FIX in which a session speaks.
pub fn version_of(link: &Link<MemoryStore>) -> FixVersion {
    FixVersion::of_session(link.session().config().begin)
}

/// What the venue says to its clients, in whatever version.
pub trait Answer: TypedMessage {
    /// Writes the body in a version, tags ascending.
    fn encode_in(&self, _: &Dialect, writer: &mut Writer<'_>) {
        self.encode_body(writer);
    }
}

/// A message in the words of a version.
#[derive(Debug)]
pub struct InVersion<'a, M> {
    message: &'a M,
    version: FixVersion,
}

impl<'a, M> InVersion<'a, M> {
    /// The message, for a session of this version.
    pub const fn new(version: FixVersion, message: &'a M) -> Self {
        Self { message, version }
    }
}

impl<M: Answer> TypedMessage for InVersion<'_, M> {
    const MSG_TYPE: &'static [u8] = M::MSG_TYPE;

    #[inline]
    fn encode_body(&self, writer: &mut Writer<'_>) {
        match self.version {
            FixVersion::Fix44 => self.message.encode_body(writer),
            version => self.message.encode_in(version.dialect(), writer),
        }
    }
}

impl Answer for ExecutionReport<'_> {
    fn encode_in(&self, dialect: &Dialect, writer: &mut Writer<'_>) {
        let mut report = *self;
        report.ord_rej_reason =
            report.ord_rej_reason.filter(|it| !dialect.no_ord_rej_reasons.contains(it));
        if let Some(said) = dialect.exec_trans_types {
            let trans = said.iter().find(|(exec_type, _)| *exec_type == self.exec_type);
            if trans.is_some() {
                report.exec_type = ExecType::from_byte(self.ord_status.to_byte());
            }
            report.exec_trans_type =
                Some(trans.map_or(ExecTransType::New, |(_, exec_trans_type)| *exec_trans_type));
        }
        if dialect.has_few_charges {
            let Charges { commission, comm_type, .. } = self.charges;
            report.charges = Charges { commission, comm_type, ..Charges::NONE };
        }
        report.encode_body(writer);
    }
}

impl Answer for OrderCancelReject<'_> {
    fn encode_in(&self, dialect: &Dialect, writer: &mut Writer<'_>) {
        let reason = self.reason.filter(|reason| reason.code() <= dialect.cancel_reason_max);
        Self { reason, ..*self }.encode_body(writer);
    }
}

impl Answer for OrderMassCancelReport<'_> {
    fn encode_in(&self, dialect: &Dialect, writer: &mut Writer<'_>) {
        self.encode_body(writer);
        if let Some(cl_ord_id) = self.cl_ord_id.filter(|_| dialect.has_mass_action_id) {
            // A client's requests have ClOrdIDs of their own.
            writer.short::<{ tag::MASS_ACTION_REPORT_ID }, 39>(&cl_ord_id);
        }
    }
}

impl Answer for PositionReport {}

impl Answer for BusinessMessageReject<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_place_its_name_and_a_begin_string_of_its_own() {
        for (at, version) in FixVersion::ALL.into_iter().enumerate() {
            assert_eq!(version as usize, at);
            assert_eq!(FixVersion::named(version.as_str()), Some(version));
            assert_eq!(FixVersion::of_session(version.begin()), version);
            let application = version.application_version().map(|it| [it]);
            let application = application.as_ref().map(|it| &it[..]);
            assert_eq!(FixVersion::of_logon(version.begin(), application), Some(version));
        }
        assert_eq!(FixVersion::of_logon(BeginString::Fix43, None), None);
        assert_eq!(FixVersion::of_logon(BeginString::Fixt11, None), None);
        assert_eq!(FixVersion::of_logon(BeginString::Fixt11, Some(b"7")), None);
        assert_eq!(FixVersion::named("FIX.5.0"), None);
    }
}
