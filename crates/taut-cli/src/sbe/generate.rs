//! `taut sbe generate`.

use std::fs;
use std::path::Path;

use taut_sbe_gen::{generate_crate, generate_module};

use super::arguments::Generate;
use super::input;
use crate::exit::Failure;

pub(super) fn run(arguments: &Generate) -> Result<(), Failure> {
    let schema = input::schema(&arguments.schema)?;
    input::check_names(&schema, &arguments.messages)?;
    if let Some(file) = &arguments.module {
        return write(file, &generate_module(&schema, &arguments.messages));
    }
    let folder = arguments.out.as_deref().unwrap_or(Path::new("."));
    for (path, text) in generate_crate(&schema, &arguments.messages) {
        write(&folder.join(path), &text)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| fs::write(path, text))
        .map_err(|error| Failure::Run(format!("{} cannot be written: {error}", path.display())))
}
