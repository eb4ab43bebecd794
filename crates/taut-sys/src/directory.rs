//! Whether a directory takes new entries.

use std::path::Path;

use rustix::fs::{Access, FsWord, PROC_SUPER_MAGIC, access, statfs};
use rustix::io::Errno;

use crate::error::{SysError, SysResult};

/// `SYSFS_MAGIC` of linux/magic.h.
const SYSFS_MAGIC: FsWord = 0x6265_6572;

/// Whether files and directories can be made in this directory, as far as the kernel tells without
/// making one: an attempt could be interrupted and leave something behind.
///
/// # Errors
/// `EACCES`, `EROFS` and what else `access(2)` says; `EOPNOTSUPP` for the kernel's own trees, which
/// let root write everywhere and make nothing.
pub fn check_writable_directory(path: &Path) -> Result<(), SysError> {
    access(path, Access::WRITE_OK | Access::EXEC_OK).during("write")?;
    let kind = statfs(path).during("file system")?.f_type;
    if [PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&kind) {
        return Err(SysError::new("write", Errno::OPNOTSUPP));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_directory_from_the_kernel_s_own_trees() {
        assert_eq!(check_writable_directory(&std::env::temp_dir()), Ok(()));
        assert!(check_writable_directory(Path::new("/proc")).is_err());
        assert!(check_writable_directory(Path::new("/sys")).is_err());
        assert!(check_writable_directory(Path::new("/there/is/none")).is_err());
    }
}
