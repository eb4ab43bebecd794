//! A TCP connection that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use taut_sync::atomic::{AtomicBool, Ordering};
use taut_testkit::tcp_listener;

/// Passes connections on to a target, until it is cut.
pub struct Wire {
    /// Where to connect.
    pub address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_cut: AtomicBool,
    /// Whether what the connecting side sends is lost.
    is_deaf: AtomicBool,
    ends: Mutex<Vec<TcpStream>>,
}

impl Wire {
    pub fn to(target: SocketAddr) -> Self {
        let (listener, address) = tcp_listener();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // What was connected while it is cut ends at once.
                let _ = shared.join(near, target);
            }
        });
        Self { address, state }
    }

    /// From now on what the connecting side sends is lost.
    pub fn deafen(&self) {
        self.state.is_deaf.store(true, Ordering::SeqCst);
    }

    /// Ends what is connected; nothing connects any more.
    pub fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for end in self.state.lock().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Connections pass again.
    pub fn mend(&self) {
        self.state.is_deaf.store(false, Ordering::SeqCst);
        self.state.is_cut.store(false, Ordering::SeqCst);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.cut();
    }
}

impl State {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(self: &Arc<Self>, near: TcpStream, target: SocketAddr) -> std::io::Result<()> {
        let mut ends = self.lock();
        if self.is_cut.load(Ordering::SeqCst) {
            return Ok(());
        }
        let far = TcpStream::connect(target)?;
        ends.extend([near.try_clone()?, far.try_clone()?]);
        for (from, to, is_outward) in
            [(near.try_clone()?, far.try_clone()?, true), (far, near, false)]
        {
            let state = Arc::clone(self);
            thread::spawn(move || state.copy(from, to, is_outward));
        }
        Ok(())
    }

    fn copy(&self, mut from: TcpStream, mut to: TcpStream, is_outward: bool) {
        let mut buffer = [0; 16_384];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let is_lost = is_outward && self.is_deaf.load(Ordering::SeqCst);
            if !is_lost && to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
}
