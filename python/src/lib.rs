//! The compiled part of the Python package `taut`: what `package/taut` is written over.
//!
//! It hands out what Rust has worked out as columns, one allocation each, which `NumPy` takes over
//! as it is. What is convenient in Python is written in Python; what takes time is here, and lets
//! other threads of Python run meanwhile.
#![forbid(unsafe_code)]

mod backtest;
mod batch;
mod columns;
mod errors;
mod event;
mod journal;
mod live;
mod outcome;
mod recording;
mod strategy;
mod trading;
mod update;

use pyo3::prelude::*;

/// The compiled part of the package.
#[pymodule(gil_used = true)]
mod _taut {
    #[pymodule_export]
    use crate::backtest::{
        Recordings, backtest_sample, check_backtest, check_backtest_file, load, run,
    };
    #[pymodule_export]
    use crate::errors::{Stop, TautError};
    #[pymodule_export]
    use crate::event::Event;
    #[pymodule_export]
    use crate::journal::read_journal;
    #[pymodule_export]
    use crate::live::{Connection, Watch, attach};
    #[pymodule_export]
    use crate::recording::{convert_rows, read_rows};
    #[pymodule_export]
    use crate::trading::Trading;
    #[pymodule_export]
    use crate::update::{GatewayEvent, OpenOrder, OrderUpdate};
}
