//! Writes the crate of a schema: `sbe_generate SCHEMA FOLDER`.

use std::path::Path;

use taut_sbe_gen::{Schema, generate_crate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [schema, folder] = arguments.as_slice() else { return Err("SCHEMA FOLDER".into()) };
    for (path, text) in generate_crate(&Schema::read(Path::new(schema))?, &[]) {
        let path = Path::new(folder).join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(path, text)?;
    }
    Ok(())
}
