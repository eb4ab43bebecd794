//! Files that settings name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taut_fix::Dictionary;

use crate::settings::error::{SettingsError, wrong};

/// The name of the dictionary that needs no file.
const BUILT_IN: &str = "FIX.4.4";

/// Files that settings name: where they are, and the dictionaries that were read.
pub struct Files {
    folder: PathBuf,
    dictionaries: HashMap<PathBuf, Arc<Dictionary>>,
}

impl Files {
    /// Relative paths start at this folder.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), dictionaries: HashMap::new() }
    }

    /// A path as the settings mean it.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// Each dictionary is read once; `FIX.4.4` is built in.
    pub fn dictionary(&mut self, path: &Path) -> Result<Arc<Dictionary>, SettingsError> {
        let is_built_in = path == Path::new(BUILT_IN);
        let path = if is_built_in { path.to_owned() } else { self.path(path) };
        if let Some(known) = self.dictionaries.get(&path) {
            return Ok(Arc::clone(known));
        }
        let read = if is_built_in {
            taut_fix::fix44().map_err(|error| wrong(format!("{BUILT_IN}: {error}")))?
        } else {
            crate::dictionary::load(&path).map_err(|error| {
                let remedy = format!("the one of FIX 4.4 is built in as \"{BUILT_IN}\"");
                wrong(format!("{}: {error}; {remedy}", path.display()))
            })?
        };
        let read = Arc::new(read);
        self.dictionaries.insert(path, Arc::clone(&read));
        Ok(read)
    }
}
