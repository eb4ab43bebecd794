//! Socket options by number, for those that have no safe binding.

use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};

use crate::error::SysError;

/// Sets an option to a plain C value.
pub(crate) fn set<T: Copy>(
    fd: &impl AsFd,
    (level, option): (i32, i32),
    value: &T,
    operation: &'static str,
) -> Result<(), SysError> {
    let bytes = size_of::<T>() as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the pointer and the length are those of a live value, which the kernel only reads;
    // the descriptor is borrowed and so stays open.
    let result =
        unsafe { libc::setsockopt(fd, level, option, std::ptr::from_ref(value).cast(), bytes) };
    if result == 0 { Ok(()) } else { Err(SysError::last(operation)) }
}

/// Sets an option to bytes, such as a name.
pub(crate) fn set_bytes(
    fd: &impl AsFd,
    (level, option): (i32, i32),
    value: &[u8],
    operation: &'static str,
) -> Result<(), SysError> {
    let bytes = value.len() as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the pointer and the length are those of a live slice, which the kernel only reads.
    let result = unsafe { libc::setsockopt(fd, level, option, value.as_ptr().cast(), bytes) };
    if result == 0 { Ok(()) } else { Err(SysError::last(operation)) }
}

/// Reads an option whose value is an `int`.
pub(crate) fn get(
    fd: &impl AsFd,
    (level, option): (i32, i32),
    operation: &'static str,
) -> Result<i32, SysError> {
    Ok(i32::from_ne_bytes(get_bytes::<4>(fd, (level, option), operation)?))
}

/// Reads an option of at most `N` bytes; what the kernel does not fill is zero.
pub(crate) fn get_bytes<const N: usize>(
    fd: &impl AsFd,
    (level, option): (i32, i32),
    operation: &'static str,
) -> Result<[u8; N], SysError> {
    let mut value = MaybeUninit::<[u8; N]>::zeroed();
    let mut bytes = N as libc::socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `bytes` bytes, which is the length of the array; both
    // pointers outlive the call.
    let result =
        unsafe { libc::getsockopt(fd, level, option, value.as_mut_ptr().cast(), &raw mut bytes) };
    if result != 0 {
        return Err(SysError::last(operation));
    }
    // SAFETY: every byte was zeroed or written by the kernel, and any byte is a valid u8.
    Ok(unsafe { value.assume_init() })
}

/// What an option is at and whether it is on.
pub(crate) fn set_flag(
    fd: &impl AsFd,
    place: (i32, i32),
    on: bool,
    operation: &'static str,
) -> Result<(), SysError> {
    set(fd, place, &i32::from(on), operation)
}
