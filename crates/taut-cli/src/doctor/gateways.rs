//! What is wrong with the gateways that run: the doctor's word on them is that of `top` and `desk`.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use taut_doctor::{Diagnosis, Severity};
use taut_runner::service::GatewayFile;

use crate::config_file::failure;
use crate::exit::Failure;
use crate::observed::model::{State, Warning};
use crate::observed::{Extent, Observed};

/// Gateways, looked at twice: between the looks lies what is told of their threads.
pub struct Gateways(Observed);

impl Gateways {
    /// The first look: at the gateway of this file, or at every gateway of this user.
    pub fn look(file: Option<&Path>) -> Result<Self, Failure> {
        let path = file.map(|file| GatewayFile::read_for_machine(file).map_err(failure));
        let path = path.transpose()?.map(|file| file.control_path().display().to_string());
        let mut observed = Observed::new(path.as_slice(), Extent::All);
        observed.look();
        Ok(Self(observed))
    }

    /// The second: those that run, and what is wrong with them.
    pub fn look_again(&mut self) -> Vec<Gateway> {
        self.0.look_patiently();
        let gateways = self.0.snapshot().gateways.into_iter();
        gateways
            .filter(|it| it.state != State::Ended)
            .map(|it| Gateway { name: it.name, warnings: it.warnings })
            .collect()
    }
}

/// A gateway that runs.
#[derive(Clone, Debug, Serialize)]
pub struct Gateway {
    /// Its name, or the path of its control socket.
    name: String,
    /// What is wrong with it.
    warnings: Vec<Warning>,
}

/// What is wrong with the machine, and with the gateways on it.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// The machine.
    #[serde(flatten)]
    pub diagnosis: Diagnosis,
    /// The gateways of this user that run.
    pub gateways: Vec<Gateway>,
}

impl Told {
    /// Whether a check of this severity or a greater one is wrong, or anything is with a gateway.
    pub fn is_wrong_from(&self, severity: Severity) -> bool {
        let is_ill = |it: &Gateway| !it.warnings.is_empty();
        self.diagnosis.is_wrong_from(severity) || self.gateways.iter().any(is_ill)
    }
}

/// The machine's checks, and a line for each thing that is wrong with a gateway.
impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.diagnosis)?;
        for Gateway { name, warnings } in &self.gateways {
            if warnings.is_empty() {
                write!(f, "\ngateway {name}: nothing is wrong with it")?;
            }
            for Warning { code, text } in warnings {
                write!(f, "\ngateway {name}: {code}: {text}")?;
            }
        }
        Ok(())
    }
}
