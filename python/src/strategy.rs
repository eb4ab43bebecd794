//! A strategy in Python, as the gateway calls it.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use taut_gateway::{Strategy, Trading as RustTrading};
use taut_types::Nanos;

use crate::errors::Stop;
use crate::event::{Event, KINDS, number};
use crate::trading::{Trading, lend};
use crate::update::{GatewayEvent, OrderUpdate};

/// The first exception that a strategy raised: it is called no more.
#[derive(Clone, Default)]
pub struct Raised {
    error: Arc<OnceLock<PyErr>>,
    /// What ends the run.
    end: Option<fn()>,
}

impl Raised {
    /// With the first one, the run is ended in this way.
    pub fn ending(end: fn()) -> Self {
        Self { end: Some(end), ..Self::default() }
    }

    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        self.error.get().is_some()
    }

    /// Keeps it, unless there is one before it.
    pub fn keep(&self, error: PyErr) {
        if self.error.set(error).is_ok()
            && let Some(end) = self.end
        {
            end();
        }
    }

    /// The exception, unless it is the one that asks for an end in good order.
    pub fn error(&self, py: Python<'_>) -> Option<PyErr> {
        let error = self.error.get()?;
        (!error.is_instance_of::<Stop>(py)).then(|| error.clone_ref(py))
    }
}

/// Methods of a Python object; those that its class does not have are not called at all.
pub struct PyStrategy {
    trading: Py<Trading>,
    on_market: Option<Py<PyAny>>,
    on_batch_end: Option<Py<PyAny>>,
    on_order: Option<Py<PyAny>>,
    on_gateway: Option<Py<PyAny>>,
    on_alarm: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    on_stop: Option<Py<PyAny>>,
    /// Bits of the kinds of events that it wants.
    kinds: u16,
    raised: Raised,
}

impl PyStrategy {
    /// A strategy of this object, by the methods that it has and that `base`, the class
    /// `taut.Strategy`, has not as they are.
    pub fn new(
        object: &Bound<'_, PyAny>,
        base: &Bound<'_, PyAny>,
        raised: Raised,
    ) -> PyResult<Self> {
        let py = object.py();
        let class = object.get_type();
        let own = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            if !class.hasattr(name)? {
                return Ok(None);
            }
            let is_inherited = base.hasattr(name)? && class.getattr(name)?.is(&base.getattr(name)?);
            Ok(if is_inherited { None } else { Some(object.getattr(name)?.unbind()) })
        };
        let kinds = match object.hasattr("events")? {
            true => kinds_of(&object.getattr("events")?)?,
            false => u16::MAX,
        };
        Ok(Self {
            trading: Py::new(py, Trading)?,
            on_market: own("on_market")?,
            on_batch_end: own("on_batch_end")?,
            on_order: own("on_order")?,
            on_gateway: own("on_gateway")?,
            on_alarm: own("on_alarm")?,
            on_timer: own("on_timer")?,
            on_stop: own("on_stop")?,
            kinds,
            raised,
        })
    }

    /// Calls a method, unless the strategy has raised something before.
    fn call(
        &self,
        method: Option<&Py<PyAny>>,
        trading: &mut impl RustTrading,
        arguments: impl for<'py> FnOnce(&Bound<'py, Trading>) -> PyResult<Bound<'py, PyTuple>>,
    ) {
        let Some(method) = method.filter(|_| !self.raised.is_some()) else { return };
        lend(trading, || {
            Python::attach(|py| {
                let called = arguments(self.trading.bind(py))
                    .and_then(|arguments| method.bind(py).call1(arguments));
                if let Err(error) = called {
                    self.raised.keep(error);
                }
            });
        });
    }
}

/// The bits of kinds by their names; all where nothing is said.
fn kinds_of(names: &Bound<'_, PyAny>) -> PyResult<u16> {
    if names.is_none() {
        return Ok(u16::MAX);
    }
    let mut kinds = 0;
    for name in names.try_iter()? {
        let name: String = name?.extract()?;
        let Some(at) = KINDS.iter().position(|kind| *kind == name) else {
            return Err(PyValueError::new_err(format!(
                "events = {name:?}: must be among {}",
                KINDS.join(", ")
            )));
        };
        kinds |= 1 << at;
    }
    Ok(kinds)
}

impl Strategy for PyStrategy {
    fn on_market(
        &mut self,
        now: Nanos,
        event: &taut_market_data::Event,
        trading: &mut impl RustTrading,
    ) {
        if self.kinds & 1 << number(&event.kind) != 0 {
            self.call(self.on_market.as_ref(), trading, |own| {
                (now.0, Bound::new(own.py(), Event(*event))?, own).into_pyobject(own.py())
            });
        }
    }

    fn on_batch_end(&mut self, now: Nanos, trading: &mut impl RustTrading) {
        self.call(self.on_batch_end.as_ref(), trading, |own| (now.0, own).into_pyobject(own.py()));
    }

    fn on_order(
        &mut self,
        now: Nanos,
        update: &taut_gateway::OrderUpdate,
        trading: &mut impl RustTrading,
    ) {
        self.call(self.on_order.as_ref(), trading, |own| {
            (now.0, Bound::new(own.py(), OrderUpdate::of(update))?, own).into_pyobject(own.py())
        });
    }

    fn on_gateway(
        &mut self,
        now: Nanos,
        event: &taut_gateway::GatewayEvent,
        trading: &mut impl RustTrading,
    ) {
        self.call(self.on_gateway.as_ref(), trading, |own| {
            (now.0, Bound::new(own.py(), GatewayEvent::of(event))?, own).into_pyobject(own.py())
        });
    }

    fn on_alarm(&mut self, now: Nanos, token: u64, trading: &mut impl RustTrading) {
        self.call(self.on_alarm.as_ref(), trading, |own| {
            (now.0, token, own).into_pyobject(own.py())
        });
    }

    fn on_timer(&mut self, now: Nanos, trading: &mut impl RustTrading) {
        self.call(self.on_timer.as_ref(), trading, |own| (now.0, own).into_pyobject(own.py()));
    }

    fn on_stop(&mut self, now: Nanos, trading: &mut impl RustTrading) {
        // One that failed must not leave orders behind.
        if self.on_stop.is_none() || self.raised.is_some() {
            trading.cancel_all(taut_gateway::OrderFilter::ALL);
            return;
        }
        self.call(self.on_stop.as_ref(), trading, |own| (now.0, own).into_pyobject(own.py()));
    }
}
