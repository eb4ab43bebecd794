//! Files that settings name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taut_fix::Dictionary;

use crate::settings::error::{SettingsError, wrong};

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

    /// Each dictionary is read once.
    pub fn dictionary(&mut self, path: &Path) -> Result<Arc<Dictionary>, SettingsError> {
        let path = self.path(path);
        if let Some(known) = self.dictionaries.get(&path) {
            return Ok(Arc::clone(known));
        }
        let read = crate::dictionary::load(&path)
            .map_err(|error| wrong(format!("{}: {error}", path.display())))?;
        let read = Arc::new(read);
        self.dictionaries.insert(path, Arc::clone(&read));
        Ok(read)
    }
}
