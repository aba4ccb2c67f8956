//! A case of the corpus as `client/corpus/README.md` means it. What the form does not know is refused.

use serde::Deserialize;

use super::entry::{Entry, Left};
use super::form::{Named, Unrepeated};
use super::step::{Action, Step};

/// One file below `cases/`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) server: Vec<String>,
    #[serde(default)]
    pub(crate) files: Named<Entry>,
    pub(crate) steps: Vec<Step>,
    pub(crate) disk: Option<Named<Left>>,
}

impl Case {
    /// Whether the state must outlive the server.
    pub(crate) fn restarts(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.action, Action::Restart))
    }
}

/// Reads a case, or says what is wrong with its form.
pub(crate) fn parse(text: &str) -> Result<Case, String> {
    serde_json::from_str::<Unrepeated>(text).map_err(|error| error.to_string())?;
    let case: Case = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if case.title.chars().count() < 10 {
        return Err("`title` is too short to say what the case shows".to_owned());
    }
    if case.steps.is_empty() {
        return Err("there are no `steps`".to_owned());
    }
    Ok(case)
}
