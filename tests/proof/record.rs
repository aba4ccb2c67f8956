//! What a run leaves behind: one line of JSON in `target/proof.jsonl`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::control::Outcome;
use crate::sweep::Found;

/// A run of one proof with its controls.
pub(crate) struct Record {
    pub(crate) name: &'static str,
    pub(crate) seed: u64,
    pub(crate) found: Found,
    pub(crate) seconds: f64,
    pub(crate) controls: Vec<Outcome>,
}

impl Record {
    /// Whether nothing was violated, and every control would have found its fault.
    pub(crate) fn holds(&self) -> bool {
        self.found.violation_count == 0 && self.controls.iter().all(|outcome| outcome.found)
    }

    pub(crate) fn append(&self) {
        let controls = self
            .controls
            .iter()
            .map(|outcome| json!({ "fault": outcome.control.as_str(), "found": outcome.found }));
        let facts: serde_json::Map<String, serde_json::Value> =
            self.found.facts.iter().map(|(fact, count)| (fact.clone(), json!(count))).collect();
        let line = json!({
            "proof": self.name,
            "seed": self.seed,
            "cases": self.found.cases,
            "steps": self.found.steps,
            "seconds": self.seconds,
            "violations": self.found.violation_count,
            "facts": facts,
            "skipped": self.found.skipped,
            "controls": controls.collect::<Vec<_>>(),
            "holds": self.holds(),
        });
        let directory = target_directory();
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("proof.jsonl");
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

/// Where cargo builds, and proofs leave what lasts.
pub(crate) fn target_directory() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR").filter(|directory| !directory.is_empty()) {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("target"),
    }
}
