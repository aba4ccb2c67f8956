//! What is asked, as messages.

use bytes::Bytes;
use toolfs_contract::v1;
use toolfs_core::target::TargetKey;
use toolfs_core::window::LineWindow;
use toolfs_provider::request::{ByteRange, EditTextRequest, OperationId, ResolveRequest, WriteTextRequest};
use toolfs_remote::{edit_guard_message, write_guard_message};

/// A number as it travels. One beyond the end of `i64` is beyond every file.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A key as it travels.
pub(crate) fn key(target: &TargetKey) -> Bytes {
    Bytes::copy_from_slice(target.as_bytes())
}

pub(crate) fn resolve(request: &ResolveRequest) -> v1::ResolveRequest {
    use v1::resolve_request::{Directory, Location};
    v1::ResolveRequest {
        directory: request.cwd.clone().map(|cwd| Directory::RawCwd(cwd.into())),
        location: Some(Location::RawPath(request.path.clone().into())),
    }
}

pub(crate) fn lstat(request: &ResolveRequest) -> v1::LstatRequest {
    use v1::lstat_request::{Directory, Location};
    v1::LstatRequest {
        directory: request.cwd.clone().map(|cwd| Directory::RawCwd(cwd.into())),
        location: Some(Location::RawPath(request.path.clone().into())),
    }
}

pub(crate) fn read_lines(target: &TargetKey, window: LineWindow) -> v1::ReadLinesRequest {
    v1::ReadLinesRequest {
        target_key: key(target),
        first_line: Some(number(window.first_line)),
        max_lines: Some(number(window.max_lines)),
        max_bytes: Some(number(window.max_bytes)),
        max_line_chars: Some(number(window.max_line_chars)),
    }
}

pub(crate) fn read_bytes(target: &TargetKey, range: ByteRange) -> v1::ReadBytesRequest {
    v1::ReadBytesRequest {
        target_key: key(target),
        offset: Some(number(range.offset)),
        length: range.length.map(number),
    }
}

pub(crate) fn write_header(request: &WriteTextRequest) -> v1::WriteTextHeader {
    v1::WriteTextHeader {
        target_key: Some(key(&request.target)),
        guard: Some(write_guard_message(&request.guard)),
        size: Some(number(request.content.len() as u64)),
        operation_id: operation_id(request.operation_id.as_ref()),
        want_diff: Some(request.want_diff),
    }
}

pub(crate) fn plan_write_header(request: &WriteTextRequest) -> v1::PlanWriteHeader {
    v1::PlanWriteHeader {
        target_key: Some(key(&request.target)),
        guard: Some(write_guard_message(&request.guard)),
        size: Some(number(request.content.len() as u64)),
        want_diff: Some(request.want_diff),
    }
}

pub(crate) fn edit(request: &EditTextRequest) -> v1::EditTextRequest {
    v1::EditTextRequest {
        target_key: Some(key(&request.target)),
        guard: Some(edit_guard_message(&request.guard)),
        old_string: Some(request.edit.old_string().to_owned()),
        new_string: Some(request.edit.new_string().to_owned()),
        replace_all: Some(request.edit.replace_all()),
        operation_id: operation_id(request.operation_id.as_ref()),
        want_diff: Some(request.want_diff),
    }
}

pub(crate) fn plan_edit(request: &EditTextRequest) -> v1::PlanEditRequest {
    v1::PlanEditRequest {
        target_key: Some(key(&request.target)),
        guard: Some(edit_guard_message(&request.guard)),
        old_string: Some(request.edit.old_string().to_owned()),
        new_string: Some(request.edit.new_string().to_owned()),
        replace_all: Some(request.edit.replace_all()),
        want_diff: Some(request.want_diff),
    }
}

fn operation_id(id: Option<&OperationId>) -> Option<String> {
    id.map(|id| id.as_str().to_owned())
}
