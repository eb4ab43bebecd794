//! CPUs that a user names. A figure of a pinned run is none when the pinning failed.

use taut_sys::{available_cpus, pin_to_cpu};

use taut_report::Failure;

/// Refuses a CPU that does not exist or may not be used.
///
/// # Errors
/// [`Failure::Usage`], with what may be used.
pub fn check(flag: &str, cpus: &[usize]) -> Result<(), Failure> {
    let have = available_cpus().map_err(|error| Failure::run("CPUs", error))?;
    let Some(wrong) = cpus.iter().find(|cpu| !have.contains(cpu)) else { return Ok(()) };
    let have = have.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    Err(Failure::Usage(format!(
        "{flag}: CPU {wrong} does not exist or may not be used; this process may use {have}"
    )))
}

/// Runs the calling thread on the CPU that a flag names, if it names one.
///
/// # Errors
/// [`Failure::Usage`] when there is no such CPU.
pub fn pin(flag: &str, cpu: Option<usize>) -> Result<(), Failure> {
    let Some(cpu) = cpu else { return Ok(()) };
    // Who was started on one CPU may still go to another, so that the kernel is asked first.
    pin_to_cpu(cpu).or_else(|error| {
        check(flag, &[cpu])?;
        Err(Failure::run(flag, error))
    })
}
