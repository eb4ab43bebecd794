//! Our messages through the reference's generated Java: it decodes them into objects and encodes
//! those again, which must give the same bytes. So both directions are compared, for every message
//! of a schema.
//!
//! Versions of a schema are crossed: what the one writes the other reads, and what it writes of
//! that must be the same bytes here and at the reference. Older versions are made from a schema by
//! taking out what is newer than them.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::random::{self, Random};
use taut_sbe_gen::{Body, DynamicError, Field, Group, Message, Presence, Schema, Type, Value};

const ARTIFACT: &str = "uk.co.real-logic:sbe-all:1.38.1";
const JAR: &str = ".m2/repository/uk/co/real-logic/sbe-all/1.38.1/sbe-all-1.38.1.jar";

/// How many random messages of each kind.
const ROUNDS: usize = 100;

/// For programs that run for a second: one compiler, one collector.
const SHORT_RUN: [&str; 2] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/// The reference generator, fetched by Maven when it is not there; nothing, with a notice, where
/// there is no Java.
fn reference() -> Option<PathBuf> {
    let has = |tool| Command::new(tool).arg("-version").output().is_ok();
    if !has("java") || !has("javac") {
        println!("skipped: there is no Java");
        return None;
    }
    let jar = Path::new(&std::env::var_os("HOME")?).join(JAR);
    if !jar.exists() {
        let artifact = format!("-Dartifact={ARTIFACT}");
        let _ = Command::new("mvn").args(["-q", "dependency:get", &artifact]).output();
    }
    if !jar.exists() {
        println!("skipped: Maven does not give {ARTIFACT}");
        return None;
    }
    Some(jar)
}

/// What a program says, or why it fails.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(text + &String::from_utf8_lossy(&output.stderr)),
    }
}

/// The header's extra values are zero: the reference's objects do not carry them.
fn zero(value: &mut Value) {
    match value {
        Value::Record(items) => items.iter_mut().for_each(|(_, item)| zero(item)),
        other => *other = Value::Int(0),
    }
}

/// A message, and the bytes that a reader makes of it who writes what it has read.
struct Case {
    message: String,
    bytes: Vec<u8>,
    expected: Vec<u8>,
}

/// Random messages of a schema as `reads` reads and writes them: itself, or another version.
fn cases(schema: &Schema, reads: &Schema) -> Result<Vec<Case>, String> {
    let mut random = Random::with_seed(2);
    let mut cases = Vec::new();
    for shape in (0..ROUNDS).flat_map(|_| &schema.messages) {
        let known = reads.messages.iter().find(|known| known.id == shape.id);
        let may_cross = |known: &&Message| {
            may_cross(&shape.body, &known.body) && !lacks_required(&known.body, schema.version)
        };
        let Some(known) = known.filter(may_cross) else { continue };
        let mut message = random::message(schema, shape, &mut random);
        message.header.iter_mut().for_each(|(_, value)| zero(value));
        let bytes = schema.encode(&message).map_err(|error| error.to_string())?;
        let (seen, _) = reads.decode(&bytes).map_err(|error| error.to_string())?;
        if has_unknown(reads, &known.body, &seen.fields) {
            continue;
        }
        let expected = again(reads, &bytes).map_err(|error| error.to_string())?;
        cases.push(Case { message: known.name.clone(), bytes, expected });
    }
    Ok(cases)
}

/// What a reader writes of what it has read, as a message of its own version.
fn again(schema: &Schema, bytes: &[u8]) -> Result<Vec<u8>, DynamicError> {
    let (mut message, _) = schema.decode(bytes)?;
    if let Some(shape) = schema.messages.iter().find(|shape| shape.id == message.template) {
        zero_absent(&shape.body, &mut message.fields, message.version);
    }
    message.version = schema.version;
    message.block_length = None;
    schema.encode(&message)
}

/// Whether a value of an enum is newer than a reader: the reference's objects refuse it.
fn has_unknown(schema: &Schema, body: &Body, values: &Value) -> bool {
    fn in_fields(schema: &Schema, fields: &[Field], values: &Value) -> bool {
        fields.iter().any(|field| match (&field.kind, values.get(&field.name)) {
            (Type::Enum(id), Some(Value::Int(raw))) => *raw != schema[*id].null,
            (Type::Composite(id), Some(value)) => in_fields(schema, &schema[*id].fields, value),
            _ => false,
        })
    }
    let in_group = |group: &Group| match values.get(&group.name) {
        Some(Value::List(entries)) => {
            entries.iter().any(|entry| has_unknown(schema, &group.body, entry))
        }
        _ => false,
    };
    in_fields(schema, &body.fields, values) || body.groups.iter().any(in_group)
}

/// Absent values of more than one number become zeros. They are null, but the reference's objects
/// leave them out when they are written, on zeroed memory.
fn zero_absent(body: &Body, values: &mut Value, version: u32) {
    let Value::Record(items) = values else { return };
    for (name, value) in items {
        let field = body.fields.iter().find(|field| field.name == *name);
        if let Some(Field { kind: Type::Plain(plain), notes, .. }) = field
            && notes.since > version
            && plain.is_array()
            && !plain.is_text()
        {
            *value = Value::List(vec![Value::Int(0); plain.length]);
        }
        let group = body.groups.iter().find(|group| group.name == *name);
        if let (Some(group), Value::List(entries)) = (group, value) {
            entries.iter_mut().for_each(|entry| zero_absent(&group.body, entry, version));
        }
    }
}

/// Whether an older reader finds its way: what is new in a version stands behind everything else of
/// its block, or where nothing was, and new groups and data behind all others of the message
/// ("Schema extension" of the standard).
fn may_cross(one: &Body, other: &Body) -> bool {
    fn same_places(one: &Body, other: &Body) -> bool {
        let place = |field: &Field| {
            let same = other.fields.iter().find(|known| known.id == field.id);
            same.is_none_or(|known| known.offset == field.offset)
        };
        one.fields.iter().all(place)
    }
    fn same_inside(one: &Body, other: &Body) -> bool {
        let (groups, others) = (&one.groups, &other.groups);
        same_places(one, other)
            && groups.len() == others.len()
            && one.data.len() == other.data.len()
            && groups
                .iter()
                .zip(others)
                .all(|(one, other)| one.name == other.name && same_inside(&one.body, &other.body))
    }
    let mut pairs = one.groups.iter().zip(&other.groups);
    let no_data = one.data.is_empty() && other.data.is_empty();
    same_places(one, other)
        && (one.groups.len() == other.groups.len() || no_data)
        && pairs.all(|(one, other)| one.name == other.name && same_inside(&one.body, &other.body))
        && one.data.iter().zip(&other.data).all(|(one, other)| one.name == other.name)
}

/// Whether a required value is not in messages of a version. It is read as null, and the
/// reference's objects refuse to be written with that.
fn lacks_required(body: &Body, version: u32) -> bool {
    let is_required = |field: &Field| matches!(field.presence, Presence::Required);
    body.fields.iter().any(|field| field.notes.since > version && is_required(field))
        || body.groups.iter().any(|group| lacks_required(&group.body, version))
}

/// The schema's text as it was in an older version.
fn older(text: &str, version: u32) -> String {
    let document = roxmltree::Document::parse_with_options(
        text,
        roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() },
    );
    let document = document.expect("a schema that was read");
    let mut cuts = Vec::new();
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let is_part = ["message", "field", "group", "data"].contains(&node.tag_name().name());
        let since = node.attribute("sinceVersion").and_then(|since| since.parse().ok());
        let is_newer = since.is_some_and(|since: u32| since > version);
        let is_inside =
            |(range, _): &(std::ops::Range<usize>, _)| range.contains(&node.range().start);
        if cuts.iter().any(is_inside) {
            continue;
        }
        if is_part && is_newer {
            cuts.push((node.range(), String::new()));
            continue;
        }
        // Types and their values stay.
        if let Some(since) = node.attribute_node("sinceVersion").filter(|_| is_newer) {
            cuts.push((since.range(), String::new()));
        }
        // A block is as long as its fields are.
        if let Some(length) = node.attribute_node("blockLength").filter(|_| is_part) {
            cuts.push((length.range(), String::new()));
        }
        if node.tag_name().name() == "messageSchema" {
            let own = node.attribute_node("version").expect("a version");
            cuts.push((own.range(), format!("version=\"{version}\"")));
        }
    }
    cuts.sort_by_key(|(range, _)| range.start);
    let mut older = text.to_owned();
    for (range, with) in cuts.into_iter().rev() {
        older.replace_range(range, &with);
    }
    older
}

/// The reference's code for a schema in a new folder, or why there is none.
fn generate(jar: &Path, path: &Path) -> Result<tempfile::TempDir, String> {
    let folder = tempfile::tempdir().expect("folder");
    run(Command::new("java")
        .args(SHORT_RUN)
        .arg(format!("-Dsbe.output.dir={}", folder.path().join("java").display()))
        .args(["-Dsbe.target.language=Java", "-Dsbe.java.generate.dtos=true"])
        .args(["-Dsbe.xinclude.aware=true", "-jar"])
        .arg(jar)
        .arg(path))
    .map(|_| folder)
}

/// The reference's code for a schema, compiled, in a folder.
struct Reference {
    jar: PathBuf,
    schema: Schema,
    name: String,
    folder: tempfile::TempDir,
}

impl Reference {
    fn compile(jar: &Path, path: &Path) -> Result<Self, String> {
        let schema = Schema::read(path).map_err(|error| error.to_string())?;
        let folder = generate(jar, path)?;
        let package = folder.path().join("java").join(schema.package.replace('.', "/"));
        let sources = std::fs::read_dir(&package)
            .map_err(|error| format!("{}: {error}", package.display()))?
            .map(|entry| entry.expect("an entry").path());
        run(Command::new("javac")
            .args(SHORT_RUN.map(|option| format!("-J{option}")))
            .args(["-nowarn", "-cp"])
            .arg(jar)
            .arg("-d")
            .arg(folder.path().join("classes"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/Reference.java"))
            .args(sources))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { jar: jar.to_owned(), schema, name, folder })
    }

    /// Messages of its own schema stay the same.
    fn reads_its_own(&self) -> Result<(), String> {
        let cases = cases(&self.schema, &self.schema)?;
        assert!(self.schema.messages.is_empty() || !cases.is_empty(), "no message was made");
        self.agrees("its own messages", &cases)
    }

    /// Each of two versions reads what the other one writes.
    fn crosses(&self, other: &Self) -> Result<(), String> {
        for (reads, writes) in [(self, &other.schema), (other, &self.schema)] {
            let cases = cases(writes, &reads.schema)?;
            let what = format!("version {} reads {}", reads.schema.version, writes.version);
            reads.agrees(&what, &cases)?;
        }
        Ok(())
    }

    /// Crosses it with each older version of it in which something was missing.
    fn crosses_older(&self, path: &Path) -> Result<(), String> {
        let text = String::from_utf8_lossy(&std::fs::read(path).expect("a schema")).into_owned();
        let since = |part: &str| part.split('"').next().and_then(|since| since.parse::<u32>().ok());
        let mut news: Vec<u32> = text.split("sinceVersion=\"").skip(1).filter_map(since).collect();
        news.sort_unstable();
        news.dedup();
        let folder = tempfile::tempdir().expect("folder");
        // What it may include.
        for beside in std::fs::read_dir(path.parent().expect("a folder")).expect("files").flatten()
        {
            if beside.path().extension().is_some_and(|extension| extension == "xml") {
                std::fs::copy(beside.path(), folder.path().join(beside.file_name())).expect("room");
            }
        }
        for version in news.into_iter().filter_map(|since| since.checked_sub(1)) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let old = folder.path().join(format!("{name}-as-of-{version}.xml"));
            std::fs::write(&old, older(&text, version)).expect("file");
            self.crosses(&Self::compile(&self.jar, &old)?)?;
        }
        Ok(())
    }

    /// It makes the same bytes of all of them.
    fn agrees(&self, what: &str, cases: &[Case]) -> Result<(), String> {
        let mut file = Vec::new();
        for Case { message, bytes, expected } in cases {
            for part in [message.as_bytes(), bytes, expected] {
                file.extend(u32::try_from(part.len()).expect("short").to_le_bytes());
                file.extend(part);
            }
        }
        let messages = self.folder.path().join("messages.bin");
        std::fs::write(&messages, file).expect("file");
        let classes = self.folder.path().join("classes");
        let said = run(Command::new("java")
            .args(SHORT_RUN)
            .args(["--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED", "-cp"])
            .arg(format!("{}:{}", self.jar.display(), classes.display()))
            .args(["Reference", &self.schema.package, &self.schema.header.size.to_string()])
            .arg(&messages))?;
        println!("{}: {what}: {}", self.name, said.lines().last().unwrap_or_default());
        let all = format!("{} messages agree\n", cases.len());
        if said == all {
            return Ok(());
        }
        let differences: Vec<_> = said.lines().take(12).collect();
        Err(format!("{what}: not {all}{differences:#?}"))
    }
}

#[test]
fn the_reference_reads_our_messages_and_writes_the_same_bytes() {
    let Some(jar) = reference() else { return };
    let names =
        ["schemas/stream_1_0.xml", "sbe/example-extension-schema.xml", "schemas/cme-mdp3-v9.xml"];
    for path in names.into_iter().filter_map(support::shared) {
        Reference::compile(&jar, &path).and_then(|reference| reference.reads_its_own()).unwrap();
    }
}

#[test]
fn the_reference_places_values_and_constants_where_taut_does() {
    let Some(jar) = reference() else { return };
    for name in ["offsets.xml", "constants.xml", "charsets.xml"] {
        let reference = Reference::compile(&jar, &support::own(name));
        reference.and_then(|reference| reference.reads_its_own()).unwrap();
    }
}

#[test]
fn the_reference_keeps_texts_in_other_encodings() {
    let Some(jar) = reference() else { return };
    let reference = Reference::compile(&jar, &support::own("charsets.xml")).unwrap();
    let message = support::texts();
    let bytes = reference.schema.encode(&message).unwrap();
    let case = Case { message: message.message, expected: bytes.clone(), bytes };
    reference.agrees("its texts", &[case]).unwrap();
}

#[test]
fn versions_of_a_schema_read_each_other_as_at_the_reference() {
    let Some(jar) = reference() else { return };
    let pair = ["sbe/example-schema.xml", "sbe/example-extension-schema.xml"].map(support::shared);
    if let [Some(old), Some(new)] = &pair {
        let [old, new] = [old, new].map(|path| Reference::compile(&jar, path).unwrap());
        for (writes, reads) in [(&old, &new), (&new, &old)] {
            assert_eq!(cases(&writes.schema, &reads.schema).unwrap().len(), ROUNDS);
        }
        old.crosses(&new).unwrap();
    }
}

/// `cargo xtask sbe-corpus [FOLDER]`: the schemas beside the repository, taut's own, and those of
/// the folder that `TAUT_SBE_SCHEMAS` names, with everything below it. What only one of the two
/// takes is told; what both take must agree.
#[test]
#[ignore = "minutes: the reference's code for every schema and every version is compiled"]
fn the_reference_agrees_on_every_schema_and_its_older_versions() {
    let jar = reference().expect("the reference: Java, and Maven to fetch it with");
    let outside = support::SCHEMAS.iter().filter_map(|name| support::shared(name));
    let mut paths: Vec<_> = outside.chain([support::feed()]).collect();
    // Right schemas, all of them.
    let known = paths.len();
    if let Some(folder) = std::env::var_os("TAUT_SBE_SCHEMAS") {
        below(Path::new(&folder), &mut paths);
    }
    let (mut differences, mut refused) = (0, 0);
    for (at, path) in paths.iter().enumerate() {
        let verdict = match (Schema::read(path), generate(&jar, path)) {
            (Ok(_), Ok(_)) => match agree_on(&jar, path, &paths[at + 1..]) {
                Ok(()) => "agrees".to_owned(),
                Err(difference) => {
                    differences += 1;
                    format!("DIFFERS: {difference}")
                }
            },
            (Err(ours), Ok(_)) => {
                differences += usize::from(at < known);
                refused += 1;
                format!("only the reference takes it: {ours}")
            }
            (Ok(_), Err(reference)) => format!("only taut takes it: {reference}"),
            (Err(ours), Err(_)) => format!("refused by both: {ours}"),
        };
        println!("{}: {verdict}", path.display());
    }
    println!("{} schemas, of which the reference alone takes {refused}", paths.len());
    assert!(differences == 0, "{differences} of {} schemas differ: see above", paths.len());
}

/// Whether messages of a schema stay the same at the reference, and those of its versions: older
/// ones, and `others` that are files of their own.
fn agree_on(jar: &Path, path: &Path, others: &[PathBuf]) -> Result<(), String> {
    let reference = Reference::compile(jar, path)?;
    reference.reads_its_own()?;
    reference.crosses_older(path)?;
    let schema = &reference.schema;
    for other in others {
        let is_version = |other: &Schema| {
            schema.id == other.id
                && schema.package == other.package
                && schema.version != other.version
        };
        if Schema::read(other).is_ok_and(|other| is_version(&other)) {
            reference.crosses(&Reference::compile(jar, other)?)?;
        }
    }
    Ok(())
}

/// The schemas in a folder and below it, in the order of their names.
fn below(folder: &Path, paths: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            below(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "xml") {
            let bytes = std::fs::read(&path).unwrap_or_default();
            if String::from_utf8_lossy(&bytes).contains("messageSchema") {
                paths.push(path);
            }
        }
    }
}
