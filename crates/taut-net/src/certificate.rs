//! Why a peer's certificate is refused, and what helps.

use core::fmt;

use rustls::CertificateError as Cause;

/// What is wrong with a peer's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateFault {
    /// There is none.
    Absent,
    /// It leads to no root that is trusted.
    UnknownIssuer,
    /// A root has its issuer's name, and did not sign it.
    BadSignature,
    /// It is a certificate authority's own, and no server's.
    Authority,
    /// It is for another name.
    AnotherName,
    /// Its time is over.
    Expired,
    /// Its time is yet to come.
    NotYetValid,
    /// Its issuer has taken it back.
    Revoked,
    /// It is malformed, or uses what is not known.
    Unusable,
}

impl CertificateFault {
    /// What the TLS library says.
    pub(crate) fn of(cause: &Cause) -> Self {
        match cause {
            Cause::UnknownIssuer => Self::UnknownIssuer,
            Cause::BadSignature => Self::BadSignature,
            Cause::NotValidForName | Cause::NotValidForNameContext { .. } => Self::AnotherName,
            Cause::Expired | Cause::ExpiredContext { .. } => Self::Expired,
            Cause::NotValidYet | Cause::NotValidYetContext { .. } => Self::NotYetValid,
            Cause::Revoked => Self::Revoked,
            // The library has no case of its own for it, only its verifier's name.
            Cause::Other(other) if other.to_string() == "CaUsedAsEndEntity" => Self::Authority,
            _ => Self::Unusable,
        }
    }

    /// In words that follow "the certificate is refused".
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "there is none",
            Self::UnknownIssuer => "it leads to no root that is trusted",
            Self::BadSignature => "the root of its issuer's name did not sign it",
            Self::Authority => "it is a certificate authority's own (CA:TRUE), not a server's",
            Self::AnotherName => "it is for another name",
            Self::Expired => "its time is over",
            Self::NotYetValid => "its time is yet to come",
            Self::Revoked => "its issuer has revoked it",
            Self::Unusable => "it is malformed, or of a kind that is not known",
        }
    }

    /// What helps, where `roots` says how the user names the roots that are trusted, and `name` the
    /// name that the certificate must be for.
    #[must_use]
    pub fn remedy(self, roots: &str, name: &str) -> String {
        match self {
            Self::UnknownIssuer | Self::BadSignature => format!(
                "give the certificate of its issuer as {roots}; who signed it by itself gives the \
                 certificate itself"
            ),
            Self::Authority => format!(
                "`openssl req -x509` makes such ones: make the server's with `-addext \
                 basicConstraints=critical,CA:FALSE`, and give that as {roots}"
            ),
            Self::AnotherName => format!("it must be for \"{name}\" (subjectAltName)"),
            Self::Expired | Self::NotYetValid => {
                "the server needs another, unless the clock of this machine is wrong".to_owned()
            }
            Self::Absent | Self::Revoked | Self::Unusable => "the server needs another".to_owned(),
        }
    }
}

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
