//! Writes the JSON Schema of reports: `cargo run -p goodness-report --features schema --example schema`.

use goodness_report::Report;
use goodness_report::model::SCHEMA;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

fn main() {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = serde_json::to_value(generator.into_root_schema_for::<Report>()).expect("a schema is JSON");
    schema["title"] = Value::from(SCHEMA);
    schema["properties"]["schema"] = json!({ "const": SCHEMA });
    println!("{}", serde_json::to_string_pretty(&schema).expect("plain values serialise"));
}
