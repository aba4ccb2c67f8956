//! The line that tells that a server is ready, and the commands to try next.

use std::fmt::Write as _;

use crate::address::Address;

/// Where a server listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listening {
    /// For agents.
    pub tools: Vec<Address>,
    /// For other servers that use its provider.
    pub seam: Option<Address>,
    /// For other servers that use its gate.
    pub gate: Option<Address>,
}

/// What the ready line tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Where the server listens.
    pub listening: Listening,
    /// The roots as agents see them.
    pub roots: Vec<String>,
    /// The policy's name.
    pub policy: String,
    /// The provider's name.
    pub provider: String,
    /// Where state is kept.
    pub state: String,
    /// A file that can be read, absolute, if one was found in the first root.
    pub sample: Option<String>,
}

impl Ready {
    /// The ready line, and one line for each way to make a first call.
    pub fn text(&self) -> String {
        let listen: Vec<String> = self.listening.tools.iter().map(Address::to_string).collect();
        let mut text = format!(
            "toolfs ready: listening on {}, serving {} (provider {}, policy {}, state {})",
            listen.join(" and "),
            self.roots.join(" and "),
            self.provider,
            self.policy,
            self.state
        );
        for (face, address) in [("seam", &self.listening.seam), ("gate", &self.listening.gate)] {
            if let Some(address) = address {
                let _ = write!(text, "; {face} on {address}");
            }
        }
        let (request, method) = match &self.sample {
            Some(path) => {
                let call = serde_json::json!({"read": {"file_path": path, "limit": 20}});
                (call.to_string(), "toolfs.v1.ToolService/Execute")
            }
            None => ("{}".to_owned(), "toolfs.v1.ToolService/ListTools"),
        };
        let request = shell_quoted(&request);
        if let Some(address) = self.listening.tools.first() {
            let (grpcurl, buf) = match address {
                Address::Tcp(address) => (
                    format!("grpcurl -plaintext -d {request} {address} {method}"),
                    format!(
                        "buf curl --protocol grpc --http2-prior-knowledge -d {request} http://{address}/{method}"
                    ),
                ),
                Address::Unix(path) => {
                    let socket = shell_quoted(&path.display().to_string());
                    // A scheme instead of `-unix`, which takes a bare path for a host in some releases of grpcurl.
                    let target = shell_quoted(&format!("unix:{}", path.display()));
                    (
                        format!("grpcurl -plaintext -d {request} {target} {method}"),
                        format!(
                            "buf curl --protocol grpc --http2-prior-knowledge --unix-socket {socket} -d {request} \
                             http://localhost/{method}"
                        ),
                    )
                }
            };
            let _ = write!(text, "\n  try: {grpcurl}\n  or:  {buf}");
        }
        text
    }
}

/// A word that a POSIX shell takes as it is.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(listen: &str, sample: Option<&str>) -> String {
        Ready {
            listening: Listening {
                tools: vec![Address::parse(listen).unwrap()],
                seam: Some(Address::parse("127.0.0.1:7").unwrap()),
                gate: None,
            },
            roots: vec!["/workspace".into()],
            policy: "observation".into(),
            provider: "local".into(),
            state: "/state".into(),
            sample: sample.map(str::to_owned),
        }
        .text()
    }

    #[test]
    fn the_first_call_reads_a_file_that_is_there() {
        let text = ready("127.0.0.1:50051", Some("/workspace/it's.md"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "toolfs ready: listening on 127.0.0.1:50051, serving /workspace (provider local, policy observation, state \
             /state); seam on 127.0.0.1:7"
        );
        assert_eq!(
            lines[1],
            r#"  try: grpcurl -plaintext -d '{"read":{"file_path":"/workspace/it'\''s.md","limit":20}}' 127.0.0.1:50051 toolfs.v1.ToolService/Execute"#
        );
        assert!(lines[2].ends_with("http://127.0.0.1:50051/toolfs.v1.ToolService/Execute"));
    }

    #[test]
    fn an_empty_root_still_has_a_first_call() {
        let text = ready("unix:/run/t.sock", None);
        assert!(
            text.contains("grpcurl -plaintext -d '{}' 'unix:/run/t.sock' toolfs.v1.ToolService/ListTools")
        );
        assert!(text.contains(
            "--unix-socket '/run/t.sock' -d '{}' http://localhost/toolfs.v1.ToolService/ListTools"
        ));
    }
}
