//! What the examples share: an error is said in words.
#![forbid(unsafe_code)]

use std::error::Error;
use std::process::ExitCode;

/// The end of a program: 0, or 1 with the error on standard error.
#[must_use]
pub fn told(result: Result<(), Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
