//! Errors as Python's exceptions.

use std::io;
use std::path::Path;

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use taut_recording::{ConvertError, FileError};
use taut_runner::RunnerError;

create_exception!(taut, TautError, pyo3::exceptions::PyException, "A run or a gateway failed.");
create_exception!(
    taut,
    Stop,
    pyo3::exceptions::PyException,
    "Raised by a strategy that has seen enough: its run ends in good order."
);

/// Wrong settings are a `ValueError`, what happened later a [`TautError`].
pub fn of_runner(error: &RunnerError) -> PyErr {
    match error {
        RunnerError::Settings(text) => PyValueError::new_err(text.clone()),
        other => TautError::new_err(other.to_string()),
    }
}

/// What is wrong with the bytes of a file.
pub fn of_file(error: &FileError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What the system says of a file.
pub fn of_io(path: &Path, error: &io::Error) -> PyErr {
    let path = path.display();
    match error.raw_os_error() {
        // With a number Python chooses the class: FileNotFoundError, PermissionError.
        Some(number) => {
            let what = format!("{error}; check the path and its permissions");
            PyOSError::new_err((number, what, path.to_string()))
        }
        None => PyOSError::new_err(format!("{path}: {error}")),
    }
}

/// Why a conversion wrote nothing.
pub fn of_conversion(out: &Path, error: &ConvertError) -> PyErr {
    match error {
        ConvertError::Io(error) => of_io(out, error),
        other => PyValueError::new_err(other.to_string()),
    }
}
