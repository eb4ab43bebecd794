//! `taut sbe generate`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use taut_sbe_gen::{self as generator, Files, MARK, Options, generate_crate, generate_module};

use super::arguments::{Direction, Generate};
use super::input;
use crate::exit::Failure;
use taut_report::files::{WholeFile, write_all};

pub(super) fn run(arguments: &Generate) -> Result<(), Failure> {
    let schema = input::schema(&arguments.schema)?;
    input::check_names(&schema, &arguments.messages)?;
    let options = options(arguments);
    if let Some(file) = &arguments.module {
        if !is_ours(file) {
            return Err(foreign(file));
        }
        let text = generate_module(&schema, &options);
        return write(file, &text).map_err(|error| {
            Failure::run(&format!("{} cannot be written", file.display()), error)
        });
    }
    let folder = arguments.out.as_deref().unwrap_or(Path::new("."));
    let files = generate_crate(&schema, &options);
    let stale = stale(folder, &files)?;
    let written: Vec<_> = files.into_iter().collect();
    write_all(folder, &written).map_err(|error| Failure::run("cannot write", error))?;
    for path in stale {
        let removed = fs::remove_file(&path);
        removed.map_err(|error| Failure::run(&path.display().to_string(), error))?;
    }
    Ok(())
}

fn options(arguments: &Generate) -> Options {
    let direction = match arguments.direction {
        Direction::Both => generator::Direction::Both,
        Direction::Decode => generator::Direction::Decode,
        Direction::Encode => generator::Direction::Encode,
    };
    let options = Options::default().messages(&arguments.messages).direction(direction);
    if arguments.stand_alone { options.stand_alone() } else { options }
}

/// Writes a file, and makes its folder.
fn write(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes())?;
    file.finish()
}

/// The messages of an older schema in a folder that may be written to: one in which nothing would
/// be overwritten, or one that was generated.
fn stale(folder: &Path, files: &Files) -> Result<Vec<PathBuf>, Failure> {
    let there = |path: &&PathBuf| folder.join(path).exists();
    let Some(first) = files.keys().find(there) else { return Ok(Vec::new()) };
    if !is_generated(&folder.join("src/lib.rs")) {
        return Err(foreign(&folder.join(first)));
    }
    let messages = fs::read_dir(folder.join("src/messages")).into_iter().flatten().flatten();
    let is_stale = |path: &PathBuf| {
        path.strip_prefix(folder).is_ok_and(|name| !files.contains_key(name))
            && path.extension().is_some_and(|extension| extension == "rs")
    };
    Ok(messages.map(|entry| entry.path()).filter(is_stale).collect())
}

/// Whether a file may be written: there is nothing that it could destroy.
fn is_ours(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() > 0);
    !is_file || is_generated(path)
}

fn is_generated(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.contains(MARK))
}

fn foreign(path: &Path) -> Failure {
    let path = path.display();
    Failure::Usage(format!("{path} is there and was not generated: remove it or write elsewhere"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generates all or some messages of a schema of two; what failed.
    fn generate(folder: &Path, to: [&str; 2], only: &[&str]) -> Option<Failure> {
        let header = ["blockLength", "templateId", "schemaId", "version"]
            .map(|name| format!("<type name=\"{name}\" primitiveType=\"uint16\"/>"));
        let text = format!(
            "<messageSchema package=\"t\" id=\"1\" version=\"0\"><types>\
             <composite name=\"messageHeader\">{}</composite></types>\
             <message name=\"A\" id=\"1\"/><message name=\"B\" id=\"2\"/></messageSchema>",
            header.concat()
        );
        let schema = folder.join("schema.xml");
        fs::write(&schema, text).expect("room");
        let [out, module] = to.map(|to| (!to.is_empty()).then(|| folder.join(to)));
        let messages = only.iter().map(|&name| name.to_owned()).collect();
        let (direction, stand_alone) = (Direction::Both, false);
        run(&Generate { schema, out, module, messages, direction, stand_alone }).err()
    }

    #[test]
    fn what_was_not_generated_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let precious = ["mine/Cargo.toml", "lib/src/types.rs", "mine.rs"];
        for path in precious.map(|path| folder.path().join(path)) {
            fs::create_dir_all(path.parent().expect("a folder")).expect("room");
            fs::write(path, "precious").expect("room");
        }
        for to in [["mine", ""], ["lib", ""], ["", "mine.rs"]] {
            let failure = generate(folder.path(), to, &[]).expect("refused");
            assert!(matches!(&failure, Failure::Usage(text) if text.contains("not generated")));
        }
        for path in precious {
            let text = fs::read_to_string(folder.path().join(path)).expect("it is there");
            assert_eq!(text, "precious");
        }
        let count = |folder: &Path| fs::read_dir(folder).expect("a folder").count();
        assert_eq!([count(folder.path()), count(&folder.path().join("mine"))], [4, 1]);
    }

    #[test]
    fn what_was_generated_is_replaced_and_what_the_schema_lost_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let messages = folder.path().join("new/src/messages");
        for (only, a_is_there) in [(&["A"][..], true), (&[], true), (&["B"], false)] {
            assert!(generate(folder.path(), ["new", ""], only).is_none());
            assert!(generate(folder.path(), ["", "new.rs"], only).is_none());
            assert_eq!(messages.join("a.rs").exists(), a_is_there);
            let module = fs::read_to_string(folder.path().join("new.rs")).expect("the module");
            assert_eq!(module.contains("struct ADecoder"), a_is_there);
        }
        assert!(messages.join("b.rs").exists());
    }
}
