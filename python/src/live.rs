//! A gateway that runs: what it says of itself, its market in batches, and a strategy at it.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use taut_gateway::{MarketRead, MarketReader, Regions, Views};
use taut_ipc::Segment;
use taut_lat::{PathSnapshot, Snapshot, Stage};
use taut_runner::service::{Attach, ControlClient, ControlReply, ControlRequest, InstrumentLine};
use taut_sys::{forget_stop_requests, stop_request};
use taut_types::{InstrumentId, Price, Qty};

use crate::batch::Batch;
use crate::columns::{Columns, Steps};
use crate::errors::{TautError, of_runner};
use crate::strategy::{PyStrategy, Raised};

/// A connection to a gateway that runs.
#[derive(Debug)]
#[pyclass(frozen, module = "taut")]
pub struct Connection {
    client: Mutex<ControlClient>,
}

#[pymethods]
impl Connection {
    /// Connects to the gateway of this name, or at this path of a control socket.
    #[new]
    fn new(py: Python<'_>, name: String) -> PyResult<Self> {
        let client = py.detach(|| ControlClient::connect(&name));
        Ok(Self { client: Mutex::new(client.map_err(|error| of_runner(&error))?) })
    }

    /// Asks for status or stages: the answer as JSON.
    fn ask(&self, py: Python<'_>, what: &str) -> PyResult<String> {
        let request = match what {
            "status" => ControlRequest::Status,
            _ => ControlRequest::Stages,
        };
        let reply = py.detach(|| self.client().ask(&request)).map_err(|error| of_runner(&error))?;
        match reply {
            ControlReply::Status(status) => json(&status),
            ControlReply::Stages(stages) => json(&stages),
            other => Err(TautError::new_err(format!("{other:?} is no answer to {what}"))),
        }
    }

    /// The open orders as JSON.
    fn orders(&self, py: Python<'_>) -> PyResult<String> {
        let orders = py.detach(|| self.client().orders()).map_err(|error| of_runner(&error))?;
        json(&orders)
    }

    /// What is held as JSON.
    fn positions(&self, py: Python<'_>) -> PyResult<String> {
        let held = py.detach(|| self.client().positions()).map_err(|error| of_runner(&error))?;
        json(&held)
    }

    /// The book of an instrument as JSON.
    fn book(&self, py: Python<'_>, symbol: &str) -> PyResult<String> {
        let book = py.detach(|| self.client().book(symbol)).map_err(|error| of_runner(&error))?;
        json(&book)
    }

    /// Looks at the gateway's market from now on.
    fn watch(&self, py: Python<'_>) -> PyResult<Watch> {
        let observed = py.detach(|| self.client().observe());
        let (segment, instruments) = observed.map_err(|error| of_runner(&error))?;
        let regions = Regions::of(&segment).map_err(|error| failed(&error))?;
        let position = MarketReader::new(&regions).map_err(|error| failed(&error))?.position();
        let reading = Mutex::new(Reading { position, ..Reading::default() });
        Ok(Watch { segment, instruments, reading })
    }

    /// Whether the gateway has ended.
    fn has_ended(&self) -> bool {
        self.client().is_gone()
    }
}

impl Connection {
    fn client(&self) -> MutexGuard<'_, ControlClient> {
        // Whoever panicked held no half of an answer: each is read whole.
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(error: &dyn std::fmt::Display) -> PyErr {
    TautError::new_err(format!("shared memory: {error}"))
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| TautError::new_err(error.to_string()))
}

/// The market ring and the histograms of a gateway, mapped to be read. Nothing is written that the
/// gateway could see: it does not know how many look.
#[derive(Debug)]
#[pyclass(frozen, module = "taut")]
pub struct Watch {
    segment: Segment,
    instruments: Vec<InstrumentLine>,
    reading: Mutex<Reading>,
}

/// How far the ring was read.
#[derive(Debug, Default)]
struct Reading {
    position: u64,
    /// Instruments of which best levels are told just now, beside their books.
    partial: HashSet<InstrumentId>,
}

#[pymethods]
impl Watch {
    /// Every instrument: number, symbol, tick (1e-9), quantity of a lot as mantissa and decimals.
    #[getter]
    fn instruments(&self) -> Vec<Steps> {
        let of = |it: &InstrumentLine| {
            let tick = Price::parse(it.tick.as_bytes()).unwrap_or_default();
            let lot = Qty::parse(it.lot.as_bytes()).unwrap_or(Qty::whole(1));
            (it.number, it.symbol.clone(), tick.0, lot.mantissa, lot.decimals)
        };
        self.instruments.iter().map(of).collect()
    }

    /// What came since the last call, at most so many events: tables of columns by name, how many
    /// entries of the ring were lost before them, and whether more are there.
    fn poll<'py>(
        &self,
        py: Python<'py>,
        events_max: usize,
    ) -> PyResult<(Bound<'py, PyDict>, u64, bool)> {
        let batch = py.detach(|| self.read(events_max))?;
        let (lost, has_more) = (batch.lost, batch.has_more);
        Ok((batch.tables(py)?, lost, has_more))
    }

    /// The histograms as they are now: by name the count, the sum, the smallest and the largest
    /// value, then columns of the values up to which buckets reach and of their counts.
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let regions = Regions::of(&self.segment).map_err(|error| failed(&error))?;
        let views = Views::new(&regions).map_err(|error| failed(&error))?;
        let path = PathSnapshot::of(&views.path);
        let dict = PyDict::new(py);
        for (stage, of) in Stage::ALL.iter().zip(&path.stages) {
            dict.set_item(stage.name(), histogram(py, of)?)?;
        }
        dict.set_item("tick to trade", histogram(py, &path.tick_to_trade)?)?;
        dict.set_item("less send", histogram(py, &path.tick_to_send)?)?;
        dict.set_item("order round trip", histogram(py, &Snapshot::of(&views.round_trip))?)?;
        Ok(dict)
    }
}

/// A histogram as a dict of figures and columns.
fn histogram<'py>(py: Python<'py>, of: &Snapshot) -> PyResult<Bound<'py, PyDict>> {
    let summary = of.summary();
    let dict = PyDict::new(py);
    dict.set_item("count", summary.count)?;
    dict.set_item("min_ns", summary.min)?;
    dict.set_item("p50_ns", summary.p50)?;
    dict.set_item("p99_ns", summary.p99)?;
    dict.set_item("p999_ns", summary.p999)?;
    dict.set_item("max_ns", summary.max)?;
    let columns = Columns::new(py);
    columns.add("up_to_ns", of.buckets().map(|bucket| bucket.highest).collect())?;
    columns.add("count", of.buckets().map(|bucket| bucket.count).collect())?;
    dict.set_item("buckets", columns.finish())?;
    Ok(dict)
}

impl Watch {
    fn read(&self, events_max: usize) -> PyResult<Batch> {
        let regions = Regions::of(&self.segment).map_err(|error| failed(&error))?;
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let Reading { position, partial } = &mut *reading;
        let resumed = MarketReader::resume(&regions, *position).map_err(|error| failed(&error))?;
        let (mut reader, lost) = resumed;
        let mut batch = Batch::default();
        batch.lost = lost;
        batch.has_more = loop {
            if batch.events == events_max {
                break true;
            }
            let at = reader.position();
            match reader.poll() {
                MarketRead::Nothing => break false,
                MarketRead::Event(event) => batch.take(at, &event, partial),
                MarketRead::Lost(lost) => batch.lost += lost,
                MarketRead::Other => {}
            }
        };
        *position = reader.position();
        Ok(batch)
    }
}

/// Runs a strategy in Python at gateways that run, as this strategy of theirs, until a stop signal
/// comes or it raises something: then its orders are cancelled and answered. How often it attached,
/// and what it counted.
#[pyfunction]
pub fn attach<'py>(
    py: Python<'py>,
    gateways: Vec<String>,
    name: String,
    strategy: &Bound<'py, PyAny>,
    base: &Bound<'py, PyAny>,
    waits: bool,
    heard: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let Some((first, others)) = gateways.split_first() else {
        return Err(PyValueError::new_err("gateways: none is named; name one"));
    };
    let mut attach =
        others.iter().fold(Attach::new(first, &name), |attach, other| attach.and(other));
    attach.waits = waits;
    let raised = Raised::ending(stop_request);
    let own = PyStrategy::new(strategy, base, raised.clone())?;
    forget_stop_requests();
    let attached = py.detach(|| {
        attach.run(
            |_| own,
            |line| {
                let told =
                    heard.as_ref().map(|heard| Python::attach(|py| heard.call1(py, (line,))));
                if let Some(Err(error)) = told {
                    raised.keep(error);
                }
            },
        )
    });
    if let Some(error) = raised.error(py) {
        return Err(error);
    }
    let attached = attached.map_err(|error| of_runner(&error))?;
    let counters = attached.counters;
    let dict = PyDict::new(py);
    dict.set_item("attachments", attached.attachments)?;
    dict.set_item("drained", attached.drained)?;
    dict.set_item("events", counters.events)?;
    dict.set_item("lapped", counters.lapped)?;
    dict.set_item("requests", counters.requests)?;
    dict.set_item("updates", counters.updates)?;
    Ok(dict)
}
