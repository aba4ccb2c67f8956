//! What comes back.

use toolfs_contract::v1::{self, content_block::Block, execute_response::Outcome};

use crate::error::{Error, ToolError};

/// A success: what the model reads, and the outcome for programs.
#[derive(Clone, Debug)]
pub struct Reply<T> {
    /// What the call did or saw.
    pub outcome: T,
    /// What the model reads.
    pub content: Vec<v1::ContentBlock>,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// The name of the logical call.
    pub request_id: String,
    /// The model's own id of the call, as the server echoed it.
    pub tool_call_id: String,
}

impl<T> Reply<T> {
    /// The text that a model reads.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }
}

/// The answer to a call as a model made it: a refusal is content too.
#[derive(Clone, Debug)]
pub struct ModelReply {
    /// What the model reads.
    pub content: Vec<v1::ContentBlock>,
    /// Whether the tool refused or failed.
    pub is_error: bool,
    /// The error for programs.
    pub error: Option<ToolError>,
    /// The outcome for programs.
    pub outcome: Option<Outcome>,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// The model's own id of the call, as the server echoed it.
    pub tool_call_id: String,
}

impl ModelReply {
    /// The text that a model reads.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }

    pub(crate) fn decode(response: v1::ExecuteResponse) -> ModelReply {
        let text = text_of(&response.content);
        let error = response.error.map(|error| ToolError::new(error, text, response.outcome.clone()));
        ModelReply {
            is_error: error.is_some(),
            error,
            content: response.content,
            outcome: response.outcome,
            dry_run: response.dry_run.unwrap_or(false),
            tool_call_id: response.tool_call_id,
        }
    }
}

/// Takes a response apart; `pick` chooses the outcome that the call must have.
pub(crate) fn decode<T>(
    response: v1::ExecuteResponse,
    pick: impl FnOnce(Outcome) -> Option<T>,
) -> Result<Reply<T>, Error> {
    if let Some(error) = response.error {
        let text = text_of(&response.content);
        return Err(Error::Tool(Box::new(ToolError::new(error, text, response.outcome))));
    }
    let outcome = response
        .outcome
        .and_then(pick)
        .ok_or_else(|| Error::Protocol("neither an error nor the outcome of this tool".into()))?;
    Ok(Reply {
        outcome,
        content: response.content,
        dry_run: response.dry_run.unwrap_or(false),
        request_id: response.request_id,
        tool_call_id: response.tool_call_id,
    })
}

fn text_of(content: &[v1::ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match &block.block {
        Some(Block::Text(text)) => Some(text.as_str()),
        Some(Block::Image(_)) | None => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
