//! The dependency table of `server/ARCHITECTURE.md`, compared with what the manifests say.
//!
//! Each crate may import some of ours, and some libraries are kept out of some layers. A breach fails with the
//! sentence of the table that it breaks. Development dependencies are free.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// One row of the table.
struct Rule {
    package: &'static str,
    /// Our crates, and tokio, tonic and prost, that it may import.
    may_import: &'static [&'static str],
    /// Libraries that must not even be further down in its tree.
    never_in_tree: &'static [&'static str],
    sentence: &'static str,
}

/// The libraries that the middle column of the table is complete for, beside our own crates.
const WATCHED: [&str; 3] = ["tokio", "tonic", "prost"];

/// Crates that exist on Linux only, or reach into its system calls: core, contract and client stay portable.
const LINUX_ONLY: [&str; 5] = ["rustix", "inotify", "io-uring", "procfs", "toolfs-provider-local"];

const TABLE: &[Rule] = &[
    Rule {
        package: "toolfs-contract",
        may_import: &["prost", "tonic"],
        never_in_tree: &[],
        sentence: "the contract imports no crate of ours",
    },
    Rule {
        package: "toolfs-core",
        may_import: &[],
        never_in_tree: &["tokio", "tonic", "prost", "tracing-subscriber"],
        sentence: "core sees values only: no runtime, no wire types, no files, no clock",
    },
    Rule {
        package: "toolfs-provider",
        may_import: &["toolfs-core"],
        never_in_tree: &["tokio", "tonic", "prost"],
        sentence: "the provider seam imports core, and no implementation but memory",
    },
    Rule {
        package: "toolfs-provider-local",
        may_import: &["toolfs-core", "toolfs-provider", "tokio"],
        never_in_tree: &["tonic", "prost"],
        sentence: "a provider imports provider, core, tokio and its driver: no tools, no policy, no grpc, no other provider",
    },
    Rule {
        package: "toolfs-remote",
        may_import: &["toolfs-contract", "toolfs-core", "toolfs-client", "tonic"],
        never_in_tree: &["toolfs-tools", "toolfs-grpc", "toolfs-provider", "toolfs-policy"],
        sentence: "what the *-remote share imports contract, core and the client: no trait, no tools, no grpc",
    },
    Rule {
        package: "toolfs-provider-remote",
        may_import: &[
            "toolfs-contract",
            "toolfs-core",
            "toolfs-provider",
            "toolfs-client",
            "toolfs-remote",
            "tokio",
            "tonic",
            "prost",
        ],
        never_in_tree: &["toolfs-tools", "toolfs-grpc", "toolfs-provider-local"],
        sentence: "a *-remote imports contract, core, remote, the client and the trait it implements: no tools, no grpc",
    },
    Rule {
        package: "toolfs-policy-remote",
        may_import: &[
            "toolfs-contract",
            "toolfs-core",
            "toolfs-policy",
            "toolfs-client",
            "toolfs-remote",
            "tokio",
            "tonic",
            "prost",
        ],
        never_in_tree: &["toolfs-tools", "toolfs-grpc", "toolfs-provider"],
        sentence: "a *-remote imports contract, core, remote, the client and the trait it implements: no tools, no grpc",
    },
    Rule {
        package: "toolfs-state-embedded",
        may_import: &["toolfs-core", "toolfs-policy", "toolfs-tools", "tokio"],
        never_in_tree: &["tonic", "prost", "toolfs-provider-local", "toolfs-grpc"],
        sentence: "a state-* imports core and the store traits of policy and tools: no provider-*, no grpc, no other state-*",
    },
    Rule {
        package: "toolfs-policy",
        may_import: &["toolfs-core"],
        never_in_tree: &["tonic", "prost", "toolfs-provider"],
        sentence: "the policy gate imports core: it does no I/O and knows no provider",
    },
    Rule {
        package: "toolfs-tools",
        may_import: &["toolfs-core", "toolfs-provider", "toolfs-policy", "tokio"],
        never_in_tree: &["tonic", "prost"],
        sentence: "tools see traits only: no provider-*, no wire types",
    },
    Rule {
        package: "toolfs-grpc",
        may_import: &[
            "toolfs-contract",
            "toolfs-tools",
            "toolfs-core",
            "toolfs-provider",
            "toolfs-policy",
            "tokio",
            "tonic",
            "prost",
        ],
        never_in_tree: &["toolfs-provider-local"],
        sentence: "grpc serves traits: no provider-*, no state-*, no files, no environment",
    },
    Rule {
        package: "toolfs-client",
        may_import: &["toolfs-contract", "tokio", "tonic", "prost"],
        never_in_tree: &["toolfs-core", "toolfs-tools", "toolfs-grpc"],
        sentence: "the client imports the contract and nothing under server/",
    },
    Rule {
        package: "toolfs-server",
        may_import: &[
            "toolfs-contract",
            "toolfs-core",
            "toolfs-provider",
            "toolfs-provider-local",
            "toolfs-remote",
            "toolfs-provider-remote",
            "toolfs-policy",
            "toolfs-policy-remote",
            "toolfs-state-embedded",
            "toolfs-tools",
            "toolfs-grpc",
            "toolfs-client",
            "tokio",
            "tonic",
            "prost",
        ],
        never_in_tree: &[],
        sentence: "the daemon may import every crate, and nothing imports the daemon",
    },
];

/// Packages that must build where Linux is not.
const PORTABLE: [&str; 3] = ["toolfs-contract", "toolfs-core", "toolfs-client"];

/// The part of `cargo metadata` that the rules look at: normal dependencies by package name.
#[derive(Clone, Debug, Default)]
struct Graph {
    members: BTreeSet<String>,
    normal: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn parse(metadata: &Value) -> Graph {
        let packages = metadata["packages"].as_array().expect("cargo metadata lists packages");
        let name_of: BTreeMap<&str, &str> =
            packages.iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
        let members = metadata["workspace_members"]
            .as_array()
            .expect("cargo metadata lists members")
            .iter()
            .map(|id| name_of[text(id)].to_owned())
            .collect();

        let mut normal: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in metadata["resolve"]["nodes"].as_array().expect("cargo metadata resolves") {
            let targets = normal.entry(name_of[text(&node["id"])].to_owned()).or_default();
            for dependency in node["deps"].as_array().expect("a node has dependencies") {
                let kinds = dependency["dep_kinds"].as_array().expect("a dependency has kinds");
                if kinds.iter().any(|kind| kind["kind"].is_null()) {
                    targets.insert(name_of[text(&dependency["pkg"])].to_owned());
                }
            }
        }
        Graph { members, normal }
    }

    fn of_this_workspace() -> Graph {
        let output = Command::new(env!("CARGO"))
            .args([
                "metadata",
                "--format-version",
                "1",
                "--offline",
                "--filter-platform",
                "x86_64-unknown-linux-gnu",
            ])
            .arg("--manifest-path")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
            .output()
            .expect("cargo can be started");
        assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
        Graph::parse(&serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON"))
    }

    /// Everything below a package, through normal dependencies.
    fn tree(&self, package: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut open = vec![package.to_owned()];
        while let Some(name) = open.pop() {
            for next in self.normal.get(&name).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    }

    /// Every breach of the table, as a sentence.
    fn breaches(&self) -> Vec<String> {
        let mut breaches = Vec::new();
        for member in &self.members {
            let Some(rule) = TABLE.iter().find(|rule| rule.package == member) else {
                breaches.push(format!("{member} has no row in the dependency table: add one"));
                continue;
            };
            let watched = |name: &&String| self.members.contains(*name) || WATCHED.contains(&name.as_str());
            for import in self.normal.get(member).into_iter().flatten().filter(watched) {
                if !rule.may_import.contains(&import.as_str()) {
                    breaches.push(format!("{member} imports {import}: {}", rule.sentence));
                }
            }
            let tree = self.tree(member);
            for banned in rule.never_in_tree.iter().filter(|banned| tree.contains(**banned)) {
                breaches.push(format!("{member} has {banned} in its tree: {}", rule.sentence));
            }
            if PORTABLE.contains(&member.as_str()) {
                for banned in LINUX_ONLY.iter().filter(|banned| tree.contains(**banned)) {
                    breaches
                        .push(format!("{member} has {banned} in its tree: it must build where Linux is not"));
                }
            }
        }
        breaches
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo metadata has text here")
}

#[test]
fn every_crate_imports_only_what_its_layer_may() {
    let breaches = Graph::of_this_workspace().breaches();
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn a_planted_import_is_named_with_its_sentence() {
    let plant = |package: &str, import: &str| {
        let mut graph = Graph::of_this_workspace();
        graph.normal.get_mut(package).expect("the package exists").insert(import.to_owned());
        graph.breaches()
    };
    for rule in TABLE {
        for import in TABLE.iter().map(|other| other.package).chain(WATCHED) {
            if import == rule.package || rule.may_import.contains(&import) {
                continue;
            }
            let breaches = plant(rule.package, import);
            let expected = format!("{} imports {import}: {}", rule.package, rule.sentence);
            assert!(breaches.contains(&expected), "{expected} is not among {breaches:?}");
        }
    }
    assert!(
        plant("toolfs-client", "rustix")
            .contains(&"toolfs-client has rustix in its tree: it must build where Linux is not".to_owned())
    );
}

#[test]
fn a_crate_without_a_row_is_refused() {
    let mut graph = Graph::of_this_workspace();
    graph.members.insert("toolfs-newcomer".into());
    assert_eq!(graph.breaches(), ["toolfs-newcomer has no row in the dependency table: add one"]);
}

/// `tests/main.rs` and the manifests cannot tell which functions a crate calls; clippy can, and this is its list.
#[test]
fn clippy_knows_the_functions_that_layers_must_not_call() {
    let list = include_str!("../clippy.toml");
    for path in [
        "std::fs::File::open",
        "tokio::fs::write",
        "std::env::var",
        "std::time::SystemTime::now",
        "tokio::spawn",
    ] {
        assert!(list.contains(&format!("\"{path}\"")), "clippy.toml lacks {path}");
    }
}
