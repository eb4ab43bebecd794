//! Recordings from one format to another, and what readers that nobody here wrote find in them.

mod hostile;
mod made;
mod recorded;
mod referees;
mod trips;
mod whole;

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use taut_recording::{Conversion, ConvertError, Converted, ReadOptions, Source, Target, convert};

/// Something of what is recorded, where it is.
fn shared(what: &str) -> Option<PathBuf> {
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let path = Path::new(shared).join(what);
    if !path.exists() {
        println!("skipped: no ../shared/{what} beside the repository");
        return None;
    }
    Some(path)
}

/// A conversion of files, with nothing said of how.
fn conversion(from: Source, files: &[&Path], to: Target) -> Conversion {
    Conversion {
        from,
        files: files.iter().map(|path| path.to_path_buf()).collect(),
        to,
        reading: ReadOptions::default(),
        quantity_decimals: None,
        base_latency: 0,
    }
}

/// Does it.
fn run(what: &Conversion, out: &Path) -> Result<Converted, String> {
    let mut file = File::create(out).expect("a file");
    convert(what, &mut file, &mut |_| ControlFlow::Continue(())).map_err(|error| match error {
        ConvertError::File(error) => error.to_string(),
        ConvertError::Usage(what) => what,
        other => panic!("{other:?}"),
    })
}
