//! The proactor: one thread, one loop over a trait for the kernel.
//!
//! A program starts operations on [`Handle`]s through [`Io`] and receives each [`Completion`]:
//! bytes received into the loop's own buffers, writes taken in order, connections, timers, posted
//! messages. Every operation that was started completes, also when it is cancelled, times out or
//! its source is closed; [`Completion::Closed`] is the last completion of a handle.
//!
//! | kernel | cost of a message | best for |
//! |---|---|---|
//! | [`EpollKernel`] | a wait and a receive; a burst shares the wait | many sockets, blocking |
//! | the same, [hot](Io::set_hot) | a receive, and one in every idle turn | one to four sockets |
//! | [`UringKernel`] | one call; none in an idle turn | many sockets while spinning |
//! | [`SimKernel`] | virtual time | tests |
//!
//! A protocol that reads into memory of its own, sends datagrams in batches, or stops in the middle
//! of what arrived, [watches](Io::watch) its sources instead: [`Completion::Ready`] says that there
//! is something, and [`Io::read`], [`Io::receive_batch`], [`Io::send`], [`Io::send_batch`] and
//! [`Io::send_segmented`] are one system call each.
//!
//! Every listener has an [`Admission`]: how many connections it accepts, in all and from one
//! source, and how long the handshake of each may take.
//!
//! A turn is: wait, timers, posts, then sources by priority, then connections whose handshakes are
//! in progress, a few whose handshakes begin, and a few new ones ([`Io::has_not_begun`]). A source
//! gets a few receives per visit and goes to the end of its class. Each class gets its share of a
//! turn, so that a flood of one source stops no other. Nothing allocates in steady state.
//!
//! ```
//! use taut_io::{Admission, Completion, EpollKernel, EventLoop, Io, LoopConfig, WaitStrategy};
//! use taut_sys::{Address, StreamOptions};
//!
//! let mut events = EventLoop::new(EpollKernel::new(16)?, LoopConfig::default())?;
//! let options = StreamOptions::default();
//! let any_port = Address::Inet("127.0.0.1:0".parse()?);
//! let listener = events.io().listen(&any_port, &options, &Admission::OPEN)?;
//! let address = events.io().local_address(listener)?;
//! events.io().connect(&address, &options, None)?;
//!
//! let mut heard = Vec::new();
//! let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| match completion {
//!     Completion::Connected { stream } => drop(io.write(stream, b"hello", None)),
//!     Completion::Accepted { stream, .. } => drop(io.receive(stream)),
//!     Completion::Received { bytes, .. } => {
//!         heard.extend_from_slice(bytes);
//!         io.stop();
//!     }
//!     _ => {}
//! };
//! events.run(&mut handler, WaitStrategy::Block)?;
//! assert_eq!(heard, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod admission;
mod admit;
mod adopt;
mod bip_buffer;
mod byte_buffer;
mod completion;
mod config;
mod direct;
mod dispatch;
mod error;
mod event_loop;
mod handle;
mod io;
mod kernel;
mod outgoing;
mod post;
mod source;
mod timer;
mod wait;

pub use admission::{Admission, AdmissionCounters};
pub use adopt::Endpoint;
pub use bip_buffer::BipBuffer;
pub use byte_buffer::{ByteBuffer, Saved};
pub use completion::{Completion, Operation};
pub use config::LoopConfig;
pub use dispatch::Handler;
pub use error::{IoError, Limit, Misuse};
pub use event_loop::EventLoop;
pub use handle::{Handle, TimerId};
pub use io::Io;
pub use kernel::epoll::EpollKernel;
pub use kernel::sim::{SimBell, SimBuffers, SimConfig, SimKernel};
pub use kernel::sim_host::{SimHost, SimNetwork};
pub use kernel::taped::{TapedBell, TapedBuffers, TapedKernel, TapedLease};
pub use kernel::traffic::{Traffic, Witness};
pub use kernel::uring::{UringKernel, UringRefused};
pub use kernel::{Adopted, Bell, Calls, Kernel, Received};
pub use post::Poster;
pub use source::PRIORITIES;
pub use taut_ring::Payload;
pub use timer::{Expired, TimerWheel};
pub use wait::{Step, WaitStrategy, Waiting};
