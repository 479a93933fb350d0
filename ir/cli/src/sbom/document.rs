//! The bill of materials in the format of CycloneDX 1.6.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::models::{Model, Models};
use super::packages::{Graph, License, Package};

/// A program with its packages and models.
pub struct Document<'a> {
    pub graph: &'a Graph,
    pub models: &'a Models,
    /// Time in UTC, if the document should have one.
    pub timestamp: Option<&'a str>,
}

impl Document<'_> {
    pub fn json(&self) -> Json {
        let packages = &self.graph.packages;
        let mut components: BTreeMap<&str, Json> = BTreeMap::new();
        for (_, package) in packages.iter().filter(|(id, _)| **id != self.graph.root) {
            components.insert(&package.reference, crate_component(package, "library"));
        }
        let models = self.models.iter().map(model_component);
        let components: Vec<Json> = components.into_values().chain(models).collect();
        let mut metadata = json!({
            "tools": {
                "components": [{
                    "type": "application",
                    "name": "cargo-onnx-embed",
                    "version": env!("CARGO_PKG_VERSION"),
                }],
            },
        });
        if let Some(root) = packages.get(&self.graph.root) {
            metadata["component"] = crate_component(root, "application");
        }
        if let Some(timestamp) = self.timestamp {
            metadata["timestamp"] = json!(timestamp);
        }
        json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": metadata,
            "components": components,
            "dependencies": self.dependencies(),
        })
    }

    /// Returns what each component depends on.
    fn dependencies(&self) -> Vec<Json> {
        let packages = &self.graph.packages;
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (id, package) in packages {
            let used = package.dependencies.iter().filter_map(|id| packages.get(id));
            let used = used.map(|package| package.reference.clone());
            let models = self.models.iter().filter(|model| model.users.contains(id));
            all.insert(package.reference.clone(), used.chain(models.map(Model::reference)).collect());
        }
        self.models.iter().for_each(|model| _ = all.insert(model.reference(), BTreeSet::new()));
        all.into_iter().map(|(name, used)| json!({ "ref": name, "dependsOn": used })).collect()
    }
}

fn crate_component(package: &Package, kind: &str) -> Json {
    let mut component = json!({
        "type": kind,
        "bom-ref": package.reference,
        "name": package.name,
        "version": package.version,
        // Packages that only run during the build are not part of the program.
        "scope": if package.is_linked { "required" } else { "excluded" },
    });
    if let Some(url) = &package.url {
        component["purl"] = json!(url);
    }
    match &package.license {
        Some(License::Expression(text)) => component["licenses"] = json!([{ "expression": text }]),
        Some(License::File(name)) => component["licenses"] = json!([license(&format!("file {name}"))]),
        None => {}
    }
    if let Some(checksum) = &package.checksum {
        component["hashes"] = hashes(checksum);
    }
    component
}

fn model_component(model: &Model) -> Json {
    let (facts, about) = (&model.contents.facts, &model.contents.about);
    let name = model.path.rsplit('/').next().unwrap_or(&model.path);
    let mut component = json!({
        "type": "machine-learning-model",
        "bom-ref": model.reference(),
        "name": name,
        "scope": "required",
        "hashes": hashes(&model.hash),
    });
    if about.version != 0 {
        component["version"] = json!(about.version.to_string());
    }
    if !about.domain.is_empty() {
        component["group"] = json!(about.domain);
    }
    if !about.doc.is_empty() {
        component["description"] = json!(about.doc);
    }
    let licenses: Vec<Json> = model.licenses().map(license).collect();
    if !licenses.is_empty() {
        component["licenses"] = json!(licenses);
    }
    let authors: Vec<Json> = model.authors().map(|name| json!({ "name": name })).collect();
    if !authors.is_empty() {
        component["authors"] = json!(authors);
    }
    let opsets = facts.opsets.iter().map(|(domain, version)| {
        let domain = if domain.is_empty() { "ai.onnx" } else { domain };
        (format!("onnx:opset:{domain}"), version.to_string())
    });
    let mut properties: Vec<(String, String)> = opsets.collect();
    properties.push(("onnx:file".to_owned(), model.path.clone()));
    properties.push(("onnx:ir_version".to_owned(), facts.ir_version.to_string()));
    properties.push(("onnx:size".to_owned(), model.size.to_string()));
    if !facts.producer.is_empty() {
        properties.push(("onnx:producer".to_owned(), facts.producer.clone()));
    }
    if !about.graph.is_empty() {
        properties.push(("onnx:graph".to_owned(), about.graph.clone()));
    }
    component["properties"] = listed(properties);
    let external = model.external.iter().map(|file| {
        json!({
            "type": "data",
            "bom-ref": format!("{}#{}", model.reference(), file.name),
            "name": file.name,
            "hashes": hashes(&file.hash),
            "properties": listed(vec![("onnx:size".to_owned(), file.size.to_string())]),
        })
    });
    let external: Vec<Json> = external.collect();
    if !external.is_empty() {
        component["components"] = json!(external);
    }
    component
}

/// Returns a license by the name that the file declares.
fn license(name: &str) -> Json {
    json!({ "license": { "name": name, "acknowledgement": "declared" } })
}

fn hashes(sha256: &str) -> Json {
    json!([{ "alg": "SHA-256", "content": sha256 }])
}

fn listed(mut properties: Vec<(String, String)>) -> Json {
    properties.sort();
    properties.into_iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}
