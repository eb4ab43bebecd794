//! Drop copies of a venue: each reader reads what happens to the orders of one member.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_fix::{BeginString, CompId, ExecutionReport, FixError};
use taut_fix_engine::{
    DropCopyNotes, DropCopyServer, DropCopySettings, DropCopySource, Outbox, Tell,
};
use taut_io::Kernel;
use taut_venue::{FixVersion, InVersion, Observer};

use crate::error::RunnerError;
use crate::settings::{comp_id, fix_version};

/// Where copies of the members' executions can be read, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberCopyKeys {
    /// Where readers connect.
    pub listen: SocketAddrV4,
    /// By the CompID of a reader, that of the member whose executions it reads.
    pub readers: BTreeMap<String, String>,
    /// The folder of what is sent: a reader that comes back gets what it missed.
    pub store: PathBuf,
    /// The version of FIX that the readers speak.
    #[serde(default = "usual_version")]
    pub fix_version: String,
}

fn usual_version() -> String {
    FixVersion::Fix44.as_str().to_owned()
}

impl MemberCopyKeys {
    /// Looks at every value.
    pub(super) fn check(&self) -> Result<(), RunnerError> {
        if self.listen.port() == 0 {
            let remedy = "an address with a port";
            return Err(RunnerError::setting("drop_copy.listen", self.listen, remedy));
        }
        if self.readers.is_empty() {
            let remedy = "at least one: { READER = \"MEMBER\" }";
            return Err(RunnerError::setting("drop_copy.readers", "{}", remedy));
        }
        self.version()?;
        self.readers().map(drop)
    }

    /// Listens; the first half is the venue's, the second one a thread's.
    pub(super) fn open(
        &self,
        venue: CompId,
        tell: Tell,
    ) -> Result<(MemberCopies, DropCopyServer<Members>), RunnerError> {
        let members = Members { of: self.readers()?, version: self.version()? };
        let settings = DropCopySettings {
            listen: self.listen.into(),
            sender_comp_id: venue,
            readers: members.of.iter().map(|(reader, _)| *reader).collect(),
            store: self.store.clone(),
            tell,
        };
        let (notes, server) = DropCopyServer::open(&settings, members)
            .map_err(|error| RunnerError::run("drop_copy", error))?;
        Ok((MemberCopies(Some(notes)), server))
    }

    fn version(&self) -> Result<FixVersion, RunnerError> {
        fix_version("drop_copy.fix_version", &self.fix_version)
    }

    fn readers(&self) -> Result<Vec<(CompId, CompId)>, RunnerError> {
        let ids = |(reader, member): (&String, &String)| {
            let key = "drop_copy.readers";
            Ok((comp_id(key, reader)?, comp_id(key, member)?))
        };
        self.readers.iter().map(ids).collect()
    }
}

/// What happened to an order of a member.
#[derive(Debug)]
pub struct MemberReport {
    member: CompId,
    report: ExecutionReport<'static>,
    /// Its Text (58).
    text: Box<[u8]>,
}

/// Notes what happens, if somebody reads it.
#[derive(Debug, Default)]
pub struct MemberCopies(Option<DropCopyNotes<MemberReport>>);

impl MemberCopies {
    /// Hands over what was noted.
    pub(super) fn hand_over(&mut self) {
        if let Some(notes) = &mut self.0 {
            notes.hand_over();
        }
    }
}

impl<K: Kernel> Observer<K> for MemberCopies {
    fn on_report(&mut self, member: CompId, report: &ExecutionReport<'_>) {
        if let Some(notes) = &mut self.0 {
            let text = report.text.into();
            notes.note(MemberReport { member, report: report.with_text(b""), text });
        }
    }
}

/// The members, by their readers.
#[derive(Debug)]
pub struct Members {
    of: Vec<(CompId, CompId)>,
    version: FixVersion,
}

impl DropCopySource for Members {
    type Execution = MemberReport;

    fn version(&self) -> (BeginString, Option<u8>) {
        (self.version.begin(), self.version.application_version())
    }

    fn is_for(&self, reader: CompId, execution: &MemberReport) -> bool {
        self.of.contains(&(reader, execution.member))
    }

    /// With the venue's own ExecID (17): a copy is of the report that the member has.
    fn send(&self, outbox: &mut Outbox<'_>, _: u64, it: &MemberReport) -> Result<(), FixError> {
        let report = it.report.with_text(&it.text);
        outbox.send_or_keep(&InVersion::new(self.version, &report))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::net::SocketAddr;
    use std::path::Path;
    use std::rc::Rc;
    use std::thread;

    use taut_fix::{Event, ExecType, LongText, OrdStatus, Role, SessionConfig};
    use taut_fix_engine::{Application, Initiator, Received, SessionSettings};
    use taut_io::{Completion, EpollKernel, EventLoop, Io, LoopConfig};
    use taut_testkit::Deadline;
    use taut_types::{Nanos, Price, Qty, Side};

    use super::*;

    fn id(text: &str) -> CompId {
        CompId::new(text.as_bytes()).expect("a CompID")
    }

    fn report<'a>(exec_id: &str, text: &'a str) -> ExecutionReport<'a> {
        let long = |text: &str| LongText::new(text.as_bytes()).expect("a text");
        ExecutionReport {
            order_id: long("1"),
            exec_id: long(exec_id),
            exec_ref_id: None,
            exec_trans_type: None,
            cl_ord_id: None,
            orig_cl_ord_id: None,
            account: None,
            exec_type: ExecType::Rejected,
            ord_status: OrdStatus::Rejected,
            symbol: Some(long("TAUT")),
            side: Side::Buy,
            order_qty: None,
            price: None,
            last_qty: Qty::ZERO,
            last_price: None,
            leaves_qty: Qty::ZERO,
            cum_qty: Qty::ZERO,
            avg_price: Some(Price(0)),
            ord_rej_reason: None,
            text: text.as_bytes(),
            transact_time: Some(Nanos(1)),
            mass_status: None,
            charges: taut_fix::Charges::NONE,
        }
    }

    /// ExecID and Text of what came, with ExecTransType in FIX 4.2.
    #[derive(Clone, Default)]
    struct Reading(Rc<RefCell<Vec<(String, String)>>>);

    impl Application for Reading {
        fn handle(&mut self, event: Event, message: Received<'_>, _: &mut Outbox<'_>) {
            if let Event::Application { .. } = event {
                let text = |tag| String::from_utf8_lossy(message.value(tag).unwrap_or_default());
                let words = format!("{}{}", text(58), text(20));
                self.0.borrow_mut().push((text(17).into_owned(), words));
            }
        }
    }

    fn read(
        (at, version): (SocketAddr, FixVersion),
        reader: &str,
        store: &Path,
        count: usize,
    ) -> Vec<(String, String)> {
        let kernel = EpollKernel::new(8).expect("a kernel");
        let mut events = EventLoop::new(kernel, LoopConfig::default()).expect("a loop");
        let (us, them) = (id(reader), id("VENUE"));
        let mut settings = SessionSettings::new(SessionConfig {
            default_application_version: version.application_version(),
            ..SessionConfig::new(Role::Initiator, version.begin(), us, them)
        });
        settings.store = Some(store.to_owned());
        settings.addresses = vec![at.to_string()];
        let reading = Reading::default();
        let mut initiator =
            Initiator::start(events.io(), settings, reading.clone()).expect("an initiator");
        let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
            initiator.handle(io, &completion);
        };
        let deadline = Deadline::default();
        while reading.0.borrow().len() < count {
            deadline.check("its copies", || format!("{:?}", reading.0.borrow()));
            events.wait(&mut handler, Nanos::from_millis(10)).expect("a turn");
        }
        reading.0.take()
    }

    #[test]
    fn each_reader_reads_the_executions_of_its_member_also_those_that_it_missed() {
        let folder = tempfile::tempdir().expect("a folder");
        let readers = [("RISK1", "ONE"), ("RISK2", "TWO"), ("DESK1", "ONE")];
        let keys = MemberCopyKeys {
            listen: "127.0.0.1:0".parse().expect("an address"),
            readers: readers.map(|(at, of)| (at.to_owned(), of.to_owned())).into(),
            store: folder.path().join("venue"),
            fix_version: usual_version(),
        };
        let nobody = Tell::new(|_| ());
        let (mut copies, mut server) = keys.open(id("VENUE"), nobody).expect("a listener");
        let at = (server.local_address().expect("its address"), FixVersion::Fix44);
        let server = thread::spawn(move || server.run());
        let mut tell = |member: &str, exec_id: &str, text: &str| {
            Observer::<EpollKernel>::on_report(&mut copies, id(member), &report(exec_id, text));
            copies.hand_over();
        };
        tell("ONE", "1", "too large");
        tell("TWO", "2", "");
        tell("ONE", "3", "");
        tell("NOBODY", "4", "");
        let pair = |exec_id: &str, text: &str| (exec_id.to_owned(), text.to_owned());
        let of_one = [pair("1", "too large"), pair("3", "")];
        assert_eq!(read(at, "RISK1", &folder.path().join("a"), 2), of_one);
        assert_eq!(read(at, "DESK1", &folder.path().join("b"), 2), of_one);
        assert_eq!(read(at, "RISK2", &folder.path().join("c"), 1), [pair("2", "")]);
        drop(copies);
        server.join().expect("no panic").expect("an end in good order");
    }

    #[test]
    fn copies_are_in_the_words_of_the_readers_version() {
        for (version, words) in [(FixVersion::Fix42, "why0"), (FixVersion::Fix50Sp2, "why")] {
            let folder = tempfile::tempdir().expect("a folder");
            let keys = MemberCopyKeys {
                listen: "127.0.0.1:0".parse().expect("an address"),
                readers: [("RISK".to_owned(), "ONE".to_owned())].into(),
                store: folder.path().join("venue"),
                fix_version: version.as_str().to_owned(),
            };
            let nobody = Tell::new(|_| ());
            let (mut copies, mut server) = keys.open(id("VENUE"), nobody).expect("a listener");
            let at = server.local_address().expect("its address");
            let server = thread::spawn(move || server.run());
            Observer::<EpollKernel>::on_report(&mut copies, id("ONE"), &report("1", "why"));
            copies.hand_over();
            let copy = ("1".to_owned(), words.to_owned());
            assert_eq!(read((at, version), "RISK", &folder.path().join("a"), 1), [copy]);
            drop(copies);
            server.join().expect("no panic").expect("an end in good order");
        }
    }

    #[test]
    fn what_cannot_be_is_named() {
        let keys = |readers: &[(&str, &str)], port| MemberCopyKeys {
            listen: SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port),
            readers: readers.iter().map(|(at, of)| ((*at).to_owned(), (*of).to_owned())).collect(),
            store: PathBuf::new(),
            fix_version: usual_version(),
        };
        for (keys, words) in [
            (keys(&[("R", "M")], 0), "drop_copy.listen"),
            (keys(&[], 1), "drop_copy.readers"),
            (keys(&[("R", "")], 1), "a FIX CompID"),
        ] {
            assert!(keys.check().expect_err(words).to_string().contains(words));
        }
        assert!(keys(&[("R", "M")], 1).check().is_ok());
        let old = MemberCopyKeys { fix_version: "FIX.4.0".to_owned(), ..keys(&[("R", "M")], 1) };
        let said = old.check().expect_err("no version of a venue's").to_string();
        assert!(said.contains("drop_copy.fix_version") && said.contains("FIX.4.2"), "{said}");
    }
}
