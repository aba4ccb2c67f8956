//! `Debug` for the messages that hold a session's secret or the content of files.
//!
//! What is hidden shows as its size. The build script lists the same messages: one that is missing here does not
//! compile there, and a field that is new in one of them does not compile here until somebody decides about it.

use std::fmt::{Debug, Formatter, Result};

use prost::bytes::Bytes;

use crate::v1::{self, *};

/// A value whose size may be shown and nothing else.
struct Hidden<'a, T: ?Sized>(&'a T);

/// How much is hidden: `None` for an absent value.
trait Size {
    fn size_bytes(&self) -> Option<usize>;
}

impl Size for String {
    fn size_bytes(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl Size for Bytes {
    fn size_bytes(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl Size for Option<String> {
    fn size_bytes(&self) -> Option<usize> {
        self.as_ref().map(String::len)
    }
}

impl Size for Vec<String> {
    fn size_bytes(&self) -> Option<usize> {
        Some(self.iter().map(String::len).sum())
    }
}

impl<T: Size + ?Sized> Debug for Hidden<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0.size_bytes() {
            Some(size) => write!(f, "<hidden, {size} bytes>"),
            None => f.write_str("<absent>"),
        }
    }
}

/// Prints a message: the fields before the bar as they are, those after it as their size.
macro_rules! message {
    ($name:ident { $($shown:ident),* | $($hidden:ident),* }) => {
        impl Debug for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                let $name { $($shown,)* $($hidden),* } = self;
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($shown), $shown))*
                    $(.field(stringify!($hidden), &Hidden($hidden)))*
                    .finish()
            }
        }
    };
}

/// Prints a oneof: the arms before the bar as they are, those after it as their size.
macro_rules! oneof {
    ($module:ident::$name:ident { $($shown:ident),* | $($hidden:ident),* }) => {
        impl Debug for v1::$module::$name {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                match self {
                    $(Self::$shown(value) => f.debug_tuple(stringify!($shown)).field(value).finish(),)*
                    $(Self::$hidden(value) => f.debug_tuple(stringify!($hidden)).field(&Hidden(value)).finish(),)*
                }
            }
        }
    };
}

message!(ExecuteRequest { request_id, tool_call_id, dry_run, view, call | session_id });
oneof!(execute_request::Call { Read, Write, Edit, Json | });
message!(WriteCall { file_path | content });
message!(EditCall { file_path, replace_all | old_string, new_string });
message!(JsonCall { name | arguments_json });

message!(ContentBlock { block | });
oneof!(content_block::Block { Image | Text });
message!(ImageBlock { mime_type | data });
message!(ReadLine { number, truncated, full_length | text });
message!(Diff { hunks, omitted, omission_reason | text });
message!(DiffLine { kind, newline_missing | text });
message!(NearMiss { start_line, end_line, reasons, reason_text | lines });

message!(OpenSessionResponse { session | session_id });
message!(GetSessionRequest { key | });
oneof!(get_session_request::Key { Name | SessionId });
message!(CloseSessionRequest { key | });
oneof!(close_session_request::Key { Name | SessionId });
message!(ForgetObservationsRequest { key, scope | });
oneof!(forget_observations_request::Key { Name | SessionId });
oneof!(forget_observations_request::Scope { Paths, All | });
message!(WatchRequest { resume_token, scope | });
oneof!(watch_request::Scope { | SessionId });

message!(RawLine { crlf, truncated, full_length | text });
message!(ReadTextResponse { part | });
oneof!(read_text_response::Part { Header, Trailer | Chunk });
message!(ReadBytesResponse { part | });
oneof!(read_bytes_response::Part { Header, Trailer | Chunk });
message!(WriteTextRequest { part | });
oneof!(write_text_request::Part { Header, Trailer | Chunk });
message!(EditTextRequest { target_key, guard, replace_all, operation_id, want_diff | old_string, new_string });
message!(PlanWriteRequest { part | });
oneof!(plan_write_request::Part { Header, Trailer | Chunk });
message!(PlanEditRequest { target_key, guard, replace_all, want_diff | old_string, new_string });
