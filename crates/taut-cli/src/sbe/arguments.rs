//! What the user says.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Work with SBE schemas and messages.
#[derive(Subcommand, Clone, Debug)]
pub enum Sbe {
    /// Write the decoders and encoders of a schema: a crate, or one file
    Generate(Generate),
    /// Print the messages of a file as lines of JSON
    Decode(Decode),
    /// Write the messages of lines of JSON
    Encode(Encode),
    /// Print where every field of every message lies
    Show(Show),
}

/// How messages are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Framing {
    /// One message behind the other, each from its own header
    Raw,
    /// A Simple Open Framing Header before each message; its shape is the schema's, if it has one
    Sofh,
    /// One datagram of CME MDP 3.0: a packet header, then messages behind their sizes
    Mdp3,
    /// The UDP datagrams of a classic pcap file, each raw, sofh or mdp3
    UdpPcap,
}

#[derive(Args, Clone, Debug)]
pub struct Generate {
    /// The schema
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    /// The folder to write a crate to
    #[arg(long, value_name = "FOLDER", required_unless_present = "module")]
    pub(super) out: Option<PathBuf>,
    /// The file to write a module to
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub(super) module: Option<PathBuf>,
    /// Only these messages
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) messages: Vec<String>,
    /// Decoders, encoders or both
    #[arg(long, value_enum, default_value = "both")]
    pub(super) direction: Direction,
    /// Carry a copy of the runtime, instead of depending on the crate taut-sbe
    #[arg(long)]
    pub(super) stand_alone: bool,
}

/// What to write for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Direction {
    /// A decoder and an encoder
    Both,
    /// A decoder
    Decode,
    /// An encoder
    Encode,
}

#[derive(Args, Clone, Debug)]
pub struct Decode {
    /// The schema
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    /// How messages are told apart
    #[arg(long, value_enum, default_value = "raw")]
    pub(super) framing: Framing,
    /// The file of messages; - is standard input
    pub(super) file: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub struct Encode {
    /// The schema
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    /// How messages are told apart
    #[arg(long, value_enum, default_value = "raw")]
    pub(super) framing: Framing,
    /// The file to write; standard output without it
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// The file of JSON lines; - is standard input
    #[arg(default_value = "-")]
    pub(super) file: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub struct Show {
    /// The schema
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    /// Only these messages
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) messages: Vec<String>,
}
