//! The reference's example message: its values, its bytes, and both of its schemas on both data.

mod support;

use std::process::Command;

use taut_sbe_gen::{Schema, Value};

/// Reads a car with the generated decoder, checks it, writes it again, and tries every buffer
/// that is too short.
const PROGRAM: &str = include_str!("programs/car.rs");

const FILES: [&str; 2] =
    ["sbe/car_example_baseline_data.sbe", "sbe/car_example_extension_data.sbe"];
const SCHEMAS: [&str; 2] = ["sbe/example-schema.xml", "sbe/example-extension-schema.xml"];

fn at<'v>(value: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().fold(value, |value, name| match (value, name.parse::<usize>()) {
        (Value::List(items), Ok(index)) => &items[index],
        _ => value.get(name).unwrap_or_else(|| panic!("{name}")),
    })
}

#[test]
fn both_schemas_read_both_samples_and_write_the_same_bytes() {
    for schema in SCHEMAS {
        let Some(path) = support::shared(schema) else { return };
        let schema = Schema::read(&path).unwrap_or_else(|error| panic!("{error}"));
        for (index, file) in FILES.iter().enumerate() {
            let Some(file) = support::shared(file) else { return };
            let bytes = std::fs::read(file).expect("file");
            let (car, rest) = schema.decode(&bytes).expect("a car");
            assert!(rest.is_empty());
            assert_eq!((car.message.as_str(), car.version), ("Car", 0));
            let text = |text: &str| Value::Text(text.to_owned());
            let first = i128::try_from(1 - index).expect("0 or 1");
            for (path, value) in [
                (&["serialNumber"][..], Value::Int(1234)),
                (&["modelYear"], Value::Int(2013)),
                (&["available"], text("T")),
                (&["code"], text("A")),
                (&["someNumbers", "0"], Value::Int(first)),
                (&["vehicleCode"], text("abcdef")),
                (&["discountedModel"], text("C")),
                (&["engine", "capacity"], Value::Int(2000)),
                (&["engine", "maxRpm"], Value::Int(9000)),
                (&["engine", "booster", "BoostType"], text("NITROUS")),
                (&["fuelFigures", "2", "mpg"], Value::Float(40.0)),
                (&["fuelFigures", "1", "usageDescription"], text("Combined Cycle")),
                (&["performanceFigures", "1", "octaneRating"], Value::Int(99)),
                (&["performanceFigures", "1", "acceleration", "2", "seconds"], Value::Float(11.8)),
                (&["activationCode"], text("abcdef")),
            ] {
                assert_eq!(*at(&car.fields, path), value, "{path:?}");
            }
            if schema.version == 1 {
                assert_eq!(*at(&car.fields, &["uuid"]), Value::Null);
            }
            assert_eq!(schema.encode(&car).expect("a car"), bytes);
        }
    }
}

#[test]
fn an_old_schema_reads_what_it_knows_of_a_newer_message() {
    let [Some(old), Some(new)] = SCHEMAS.map(support::shared) else { return };
    let Some(file) = support::shared(FILES[0]) else { return };
    let [old, new] = [old, new].map(|path| Schema::read(&path).expect("a schema"));
    let bytes = std::fs::read(file).expect("file");
    let (mut car, _) = new.decode(&bytes).expect("a car");
    car.version = 1;
    let Value::Record(fields) = &mut car.fields else { panic!("fields") };
    for (name, value) in fields {
        match name.as_str() {
            "uuid" => *value = Value::List(vec![Value::Int(7), Value::Int(8)]),
            "cupHolderCount" => *value = Value::Int(119),
            _ => {}
        }
    }
    let longer = new.encode(&car).expect("a car");
    assert_eq!(longer.len(), bytes.len() + 17);
    let (read, rest) = old.decode(&longer).expect("a car");
    assert!(rest.is_empty());
    assert_eq!(read.version, 1);
    let mut known = read.fields.clone();
    let (before, _) = old.decode(&bytes).expect("a car");
    assert_eq!(known, before.fields);
    // A newer reader sees what is new.
    known = new.decode(&longer).expect("a car").0.fields;
    assert_eq!(*at(&known, &["cupHolderCount"]), Value::Int(119));
}

#[test]
fn generated_code_reads_both_samples_and_writes_the_same_bytes() {
    for schema in SCHEMAS {
        let Some(path) = support::shared(schema) else { return };
        let schema = Schema::read(&path).unwrap_or_else(|error| panic!("{error}"));
        for options in support::both_runtimes() {
            let folder = tempfile::tempdir().expect("folder");
            let program = support::program(&schema, &options, PROGRAM, folder.path());
            for file in FILES {
                let Some(file) = support::shared(file) else { return };
                let output = Command::new(&program).arg(&file).output().expect("it runs");
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }
}
