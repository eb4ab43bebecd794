//! What the handshake's commands hold, by mechanism: NULL, PLAIN (RFC 24), CURVE (RFC 25).

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::command::write_command;
use crate::connection::config::{Account, ConnectionConfig, Security};
use crate::curve::client::CurveClient;
use crate::curve::keys::Seed;
use crate::curve::server::CurveServer;
use crate::curve::stream::CurveStream;
use crate::error::Violation;
use crate::metadata::{read_metadata, write_metadata};
use crate::socket_type::SocketType;

/// What the handshake needs to remember.
pub enum Handshake {
    /// NULL, PLAIN, or a handshake that is over.
    Stateless,
    /// A CURVE client.
    CurveClient(Box<CurveClient>),
    /// A CURVE server.
    CurveServer(Box<CurveServer>),
}

/// What a handshake ends with.
#[derive(Debug)]
pub struct Agreed {
    pub socket_type: SocketType,
    /// What the peer calls itself.
    pub routing_id: Vec<u8>,
    pub stream: Option<Box<CurveStream>>,
}

impl Handshake {
    pub fn new(security: &Security, seed: Seed) -> Self {
        match security {
            Security::CurveClient { secret, server } => {
                Self::CurveClient(Box::new(CurveClient::new(secret, *server, &seed)))
            }
            Security::CurveServer { secret, .. } => {
                Self::CurveServer(Box::new(CurveServer::new(secret, seed)))
            }
            _ => Self::Stateless,
        }
    }

    pub fn send_hello(&mut self, config: &ConnectionConfig, out: &mut Vec<u8>) {
        match (self, &config.security) {
            (Self::CurveClient(client), _) => client.hello(out),
            (_, Security::PlainClient(account)) => {
                let (user, password) = (account.user(), account.password());
                let sizes = [[user.len() as u8], [password.len() as u8]];
                write_command(out, "HELLO", &[&sizes[0], user, &sizes[1], password]);
            }
            _ => {}
        }
    }

    pub fn answer_hello(
        &mut self,
        config: &ConnectionConfig,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        match (self, &config.security) {
            (Self::CurveServer(server), _) => server.hello(data, out),
            (_, Security::PlainServer(accounts)) => {
                check_account(accounts, data)?;
                write_command(out, "WELCOME", &[]);
                Ok(())
            }
            _ => Err(Violation::UnexpectedCommand),
        }
    }

    pub fn answer_welcome(
        &mut self,
        config: &ConnectionConfig,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let mut metadata = Vec::with_capacity(64);
        write_metadata(&mut metadata, config.socket_type, &config.routing_id);
        match self {
            Self::CurveClient(client) => client.welcome(data, &metadata, out),
            _ if data.is_empty() => {
                write_command(out, "INITIATE", &[&metadata]);
                Ok(())
            }
            _ => Err(Violation::CommandSyntax),
        }
    }

    pub fn answer_initiate(
        &mut self,
        config: &ConnectionConfig,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Agreed, Violation> {
        let mut ours = Vec::with_capacity(64);
        write_metadata(&mut ours, config.socket_type, &config.routing_id);
        match (self, &config.security) {
            (Self::CurveServer(server), Security::CurveServer { clients, .. }) => {
                let mut theirs = Vec::new();
                let key = server.initiate(data, &mut theirs)?;
                if clients.as_ref().is_some_and(|clients| !clients.contains(&key)) {
                    return Err(Violation::Refused);
                }
                let (socket_type, routing_id) = read_matching(config, &theirs)?;
                let stream = server.ready(&ours, out).map(Box::new);
                Ok(Agreed { socket_type, routing_id, stream })
            }
            _ => {
                let (socket_type, routing_id) = read_matching(config, data)?;
                write_command(out, "READY", &[&ours]);
                Ok(Agreed { socket_type, routing_id, stream: None })
            }
        }
    }

    pub fn take_ready(
        &mut self,
        config: &ConnectionConfig,
        data: &[u8],
    ) -> Result<Agreed, Violation> {
        let Self::CurveClient(client) = self else {
            let (socket_type, routing_id) = read_matching(config, data)?;
            return Ok(Agreed { socket_type, routing_id, stream: None });
        };
        let mut metadata = Vec::new();
        let stream = Some(Box::new(client.ready(data, &mut metadata)?));
        let (socket_type, routing_id) = read_matching(config, &metadata)?;
        Ok(Agreed { socket_type, routing_id, stream })
    }
}

impl core::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Handshake(..)")
    }
}

fn read_matching(
    config: &ConnectionConfig,
    metadata: &[u8],
) -> Result<(SocketType, Vec<u8>), Violation> {
    let (socket_type, routing_id) = read_metadata(metadata)?;
    let goes = config.socket_type.goes_with(socket_type);
    if goes { Ok((socket_type, routing_id.to_vec())) } else { Err(Violation::SocketType) }
}

/// Compares with every account, and every byte of each, so that the time tells nothing.
fn check_account(accounts: &[Account], data: &[u8]) -> Result<(), Violation> {
    let text = |data: &'_ [u8]| -> Option<(usize, usize)> {
        let length = usize::from(*data.first()?);
        (data.len() > length).then_some((1, length + 1))
    };
    let split = |data: &[u8], at: usize| text(data.get(at..)?).map(|(a, b)| (at + a, at + b));
    let fields = split(data, 0).and_then(|user| Some((user, split(data, user.1)?)));
    let Some((user, password)) = fields.filter(|(_, password)| password.1 == data.len()) else {
        return Err(Violation::CommandSyntax);
    };
    let (user, password) = (data.get(user.0..user.1), data.get(password.0..password.1));
    let (user, password) = (user.unwrap_or(&[]), password.unwrap_or(&[]));
    let mut accepted = false;
    for account in accounts {
        accepted |= is_equal(account.user(), user) & is_equal(account.password(), password);
    }
    if accepted { Ok(()) } else { Err(Violation::Refused) }
}

fn is_equal(ours: &[u8], theirs: &[u8]) -> bool {
    let differ =
        ours.iter().zip(theirs).fold(0, |differ, (a, b)| core::hint::black_box(differ | a ^ b));
    (ours.len() == theirs.len()) & (differ == 0)
}
