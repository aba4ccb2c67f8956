//! What the peer knows of itself, of places and of lines, read from its messages.

use toolfs_contract::v1;
use toolfs_core::clock::Timestamp;
use toolfs_core::target::{FileKind, Target, TargetKey};
use toolfs_core::text::{LineEndings, TextSummary};
use toolfs_core::window::{LineBlock, LineWindow, StopReason, Window};
use toolfs_provider::capability::{Capabilities, Durability, Root};
use toolfs_provider::report::{Entry, LinesReport, Stat};
use toolfs_remote::{Broken, count, display, file_kind, line, required, version};

type Result<T> = std::result::Result<T, Broken>;

/// What the peer can do. A durability that this build does not know promises nothing that it could name.
pub(crate) fn capabilities(answer: v1::GetProviderCapabilitiesResponse) -> Result<Capabilities> {
    let durability = match v1::Durability::try_from(answer.durability) {
        Ok(v1::Durability::Unspecified) => return Err(Broken::new("durability", "is missing")),
        Ok(v1::Durability::Full) => Durability::Full,
        Ok(v1::Durability::Data) => Durability::Data,
        Ok(v1::Durability::None) | Err(_) => Durability::None,
    };
    let provider = required("provider", answer.provider)?;
    Broken::unless(!answer.roots.is_empty(), "roots", "is empty")?;
    Ok(Capabilities {
        provider: display("provider.name", provider.name)?,
        roots: answer.roots.into_iter().map(root).collect::<Result<_>>()?,
        durability,
        exchange: required("provider.verified_replacement", provider.verified_replacement)?,
        operation_ids: required("provider.operation_ids", provider.operation_ids)?,
        protected_patterns: answer
            .protected_patterns
            .into_iter()
            .map(|pattern| display("protected_patterns", pattern))
            .collect::<Result<_>>()?,
    })
}

fn root(root: v1::Root) -> Result<Root> {
    absolute("roots.raw_path", &root.raw_path)?;
    Ok(Root {
        raw_path: root.raw_path.into(),
        display_path: display("roots.display_path", root.display_path)?,
    })
}

fn absolute(field: &'static str, path: &[u8]) -> Result<()> {
    Broken::unless(path.starts_with(b"/") && !path.contains(&0), field, "is no absolute path")
}

/// Where a path lands.
pub(crate) fn target(answer: v1::ResolveResponse) -> Result<Target> {
    let target = required("target", answer.target)?;
    Broken::unless(!target.target_key.is_empty(), "target.target_key", "is missing")?;
    absolute("target.raw_path", &target.raw_path)?;
    let file_url = if target.file_url.is_empty() {
        target.file_url
    } else {
        display("target.file_url", target.file_url)?
    };
    Ok(Target {
        key: TargetKey::new(Vec::from(target.target_key)),
        raw_path: target.raw_path.into(),
        process_path: target.process_path.into(),
        display_path: display("target.display_path", target.display_path)?,
        file_url,
        protected_rule: (!target.protected_rule.is_empty()).then(|| line(&target.protected_rule)),
    })
}

/// What is at a target or a path. A version that nobody asked for is dropped.
pub(crate) fn stat(stat: Option<v1::FileStat>, want_version: bool) -> Result<Stat> {
    let stat = required("stat", stat)?;
    let kind = kind("stat.kind", stat.kind)?;
    let size_bytes = match (kind, stat.size) {
        (FileKind::Regular, size) => count("stat.size", size)?,
        (_, None) => 0,
        (_, size) => count("stat.size", size)?,
    };
    let mode = stat.mode.map(|mode| u32::try_from(mode).ok().filter(|mode| *mode <= 0o7777));
    let mode = mode.map(|mode| mode.ok_or(Broken::new("stat.mode", "is out of its range"))).transpose()?;
    Ok(Stat {
        kind,
        size_bytes,
        mode,
        modified: stat.modified.map(timestamp).transpose()?,
        version: if want_version { Some(version("stat.version", &stat.version)?) } else { None },
    })
}

fn kind(field: &'static str, kind: i32) -> Result<FileKind> {
    required(field, file_kind(kind))
}

fn timestamp(time: prost_types::Timestamp) -> Result<Timestamp> {
    let in_range = (0..1_000_000_000).contains(&time.nanos);
    Broken::unless(in_range, "stat.modified", "is no time")?;
    let millis =
        time.seconds.checked_mul(1_000).and_then(|ms| ms.checked_add(i64::from(time.nanos / 1_000_000)));
    Ok(Timestamp(millis.ok_or(Broken::new("stat.modified", "is no time"))?))
}

/// A window of lines: what was asked for and no more, with totals that fit it and each other.
pub(crate) fn lines(answer: v1::ReadLinesResponse, asked: LineWindow) -> Result<LinesReport> {
    let summary = summary(&answer)?;
    let stop = match answer.stop_reason() {
        v1::ReadStopReason::Unspecified => return Err(Broken::new("stop_reason", "is missing or not known")),
        v1::ReadStopReason::EndOfFile => StopReason::EndOfFile,
        v1::ReadStopReason::LineLimit => StopReason::LineLimit,
        v1::ReadStopReason::ByteCap => StopReason::ByteCap,
    };
    let version = version("version", &answer.version)?;
    let first_line = count("first_line", answer.first_line)?;
    Broken::unless(first_line == asked.first_line, "first_line", "is not the line that was asked for")?;

    let mut block = LineBlock::new(first_line);
    for line in answer.lines {
        push_line(&mut block, line, asked, &summary)?;
    }
    check_stop(&block, stop, asked, &summary)?;
    Ok(LinesReport { window: Window { block, stop }, summary, version })
}

fn summary(answer: &v1::ReadLinesResponse) -> Result<TextSummary> {
    let endings = match answer.line_endings() {
        v1::LineEndings::Unspecified => return Err(Broken::new("line_endings", "is missing or not known")),
        v1::LineEndings::Lf => LineEndings::Lf,
        v1::LineEndings::Crlf => LineEndings::Crlf,
        v1::LineEndings::Mixed => LineEndings::Mixed,
        v1::LineEndings::None => LineEndings::None,
    };
    let size_bytes = count("size", answer.size)?;
    let total_lines = count("total_lines", answer.total_lines)?;
    let ends_with_newline = required("ends_with_newline", answer.ends_with_newline)?;
    let bom = required("bom", answer.bom)?;
    TextSummary::told(size_bytes, total_lines, endings, ends_with_newline, bom)
        .ok_or(Broken::new("total_lines", "contradicts the size and the line endings that are told"))
}

fn push_line(
    block: &mut LineBlock,
    line: v1::RawLine,
    asked: LineWindow,
    summary: &TextSummary,
) -> Result<()> {
    let text = std::str::from_utf8(&line.text).map_err(|_| Broken::new("lines.text", "is not UTF-8"))?;
    let is_one_line = !text.bytes().any(|byte| byte == b'\n' || byte == 0);
    Broken::unless(is_one_line, "lines.text", "has a line end or a NUL")?;
    let crlf = required("lines.crlf", line.crlf)?;
    let can_be = match summary.line_endings() {
        LineEndings::Mixed | LineEndings::Crlf => true,
        LineEndings::None | LineEndings::Lf => !crlf,
    };
    Broken::unless(can_be, "lines.crlf", "contradicts the line endings that are told")?;

    let chars = text.chars().count() as u64;
    Broken::unless(chars <= asked.max_line_chars, "lines.text", "is longer than was asked for")?;
    let full_chars = if required("lines.truncated", line.truncated)? {
        let full_chars = count("lines.full_length", line.full_length)?;
        Broken::unless(full_chars > chars, "lines.full_length", "is not above the length of the cut text")?;
        Some(full_chars)
    } else {
        None
    };
    block.push(text, full_chars, crlf);
    let bytes = block.text_bytes() as u64;
    Broken::unless(bytes <= asked.max_bytes, "lines", "has more bytes than were asked for")?;
    Broken::unless(bytes <= summary.size_bytes, "size", "is below the size of the lines")
}

/// The lines, what ended them and the total must agree.
fn check_stop(block: &LineBlock, stop: StopReason, asked: LineWindow, summary: &TextSummary) -> Result<()> {
    let lines = block.line_count() as u64;
    Broken::unless(lines <= asked.max_lines, "lines", "has more lines than were asked for")?;
    let next_line = block.first_line().saturating_add(lines);
    let last_is_read = next_line > summary.total_lines;
    let agrees = match stop {
        StopReason::EndOfFile => {
            last_is_read && (lines == 0 || next_line == summary.total_lines.saturating_add(1))
        }
        // A peer may have a limit of its own below what was asked for.
        StopReason::LineLimit | StopReason::ByteCap => !last_is_read && lines > 0,
    };
    Broken::unless(agrees, "stop_reason", "contradicts the lines and their total")
}

/// One name of a directory.
pub(crate) fn entry(entry: v1::DirectoryEntry) -> Result<Entry> {
    let name = &entry.raw_name;
    let is_one_name =
        !matches!(name.as_ref(), b"" | b"." | b"..") && !name.contains(&b'/') && !name.contains(&0);
    Broken::unless(is_one_name, "entries.raw_name", "is no name of a file")?;
    Ok(Entry {
        kind: kind("entries.kind", entry.kind)?,
        raw_name: entry.raw_name.into(),
        display_name: display("entries.display_name", entry.display_name)?,
    })
}
