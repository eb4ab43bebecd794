//! A network and a tree of files of a process's own: for a program that is to find at a name what
//! runs here, and nothing else.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::UnshareFlags;

use crate::error::{SysError, SysResult};
use crate::process::die_with_parent;

/// Gives this process, and what it starts from now on, a network of its own, with nothing but
/// loopback, and mounts that nobody else sees. Without the privilege for that it becomes the one
/// user of a user namespace, under its own number, where the kernel lets it. For a process of one
/// thread.
///
/// # Errors
/// What `unshare(2)` says: `EPERM` where a system forbids user namespaces, `EINVAL` when there are
/// threads. Nothing has changed then.
pub fn enter_own_namespaces() -> Result<(), SysError> {
    let own = UnshareFlags::NEWNS | UnshareFlags::NEWNET;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    match unshare(own) {
        Err(Errno::PERM) => {
            unshare(own | UnshareFlags::NEWUSER).during("unshare")?;
            map("setgroups", "deny")?;
            map("uid_map", &format!("{0} {0} 1", user.as_raw()))?;
            map("gid_map", &format!("{0} {0} 1", group.as_raw()))?;
        }
        other => other.during("unshare")?,
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).during("mount")?;
    raise_loopback()
}

/// Has whoever opens `target` find `source` instead; both are there, files both. For a process with
/// mounts of its own ([`enter_own_namespaces`]).
///
/// # Errors
/// What `mount(2)` says.
pub fn mount_over(source: &Path, target: &Path) -> Result<(), SysError> {
    mount_bind(source, target).during("mount")
}

/// The other processes in this process's network: of a network of its own
/// ([`enter_own_namespaces`]), those that it has started, whoever their parent is by now.
#[must_use]
pub fn processes_of_own_network() -> Vec<u32> {
    let network = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    let (own, Some(here)) = (std::process::id(), network("self")) else { return Vec::new() };
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let named = all.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let others = named.filter(|name| network(name).as_ref() == Some(&here));
    others.filter_map(|name| name.parse().ok()).filter(|process| *process != own).collect()
}

/// Has the program of this command killed when the thread that starts it ends, however it ends.
pub fn kill_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let prepare = move || match die_with_parent(parent) {
        Ok(true) => Ok(()),
        Ok(false) => Err(std::io::ErrorKind::BrokenPipe.into()),
        Err(error) => Err(error.into()),
    };
    // SAFETY: between fork and exec it makes two system calls, and allocates nothing where both
    // succeed; it takes no lock of ours.
    unsafe { command.pre_exec(prepare) };
}

fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    // SAFETY: neither file descriptors nor the current folder stop being shared with other threads.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

fn map(file: &str, text: &str) -> Result<(), SysError> {
    fs::write(format!("/proc/self/{file}"), text).map_err(|error| {
        SysError::from_errno("namespace of users", error.raw_os_error().unwrap_or(libc::EIO))
    })
}

/// The loopback interface of a new network is down.
fn raise_loopback() -> Result<(), SysError> {
    let any = std::net::UdpSocket::bind("0.0.0.0:0");
    let socket =
        any.map_err(|error| SysError::from_errno("socket", error.raw_os_error().unwrap_or(0)))?;
    // SAFETY: all of it is integers and bytes.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: the socket is open, and the request is what SIOCSIFFLAGS reads.
    match unsafe { libc::ioctl(fd, libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(SysError::last("loopback")),
    }
}
