//! What a step expects, against what came back.

use serde_json::Value;

use super::agent::{Answer, Status};
use super::matcher::{self, Bindings};
use super::step::{self, Content, Expectation};

/// Tells each difference. Without an expectation, a step must succeed.
pub(crate) fn differences(expect: &Expectation, answer: &Answer, bindings: &mut Bindings) -> Vec<String> {
    let mut differences = Vec::new();
    match (&expect.status, &answer.status) {
        (None, None) => {}
        (None, Some(status)) => return vec![unexpected_status(status)],
        (Some(expected), None) => {
            let found = answer.error.as_ref().map_or("a success".to_owned(), Value::to_string);
            return vec![format!("expected the status {}, found {found}", expected.code)];
        }
        (Some(expected), Some(found)) => compare_status(expected, found, bindings, &mut differences),
    }
    match (&expect.error, &answer.error) {
        (None, None) => {}
        (None, Some(error)) => return vec![format!("expected a success, found the error {error}")],
        (Some(expected), None) => return vec![format!("expected the error {expected}, found a success")],
        (Some(expected), Some(found)) => {
            matcher::compare("error", expected, Some(found), bindings, &mut differences);
        }
    }
    match &expect.outcome {
        Some(expected) => {
            matcher::compare("outcome", expected, answer.outcome.as_ref(), bindings, &mut differences);
        }
        None => {
            let beside = answer.outcome.as_ref().filter(|_| answer.error.is_some());
            differences.extend(beside.map(|outcome| format!("outcome: expected none, found {outcome}")));
        }
    }
    if let Some(expected) = &expect.content {
        compare_content(expected, answer.content.as_deref().unwrap_or_default(), &mut differences);
    }
    if let Some(expected) = &expect.session {
        matcher::compare("session", expected, answer.session.as_ref(), bindings, &mut differences);
    }
    if let Some(expected) = &expect.tool_call_id {
        let found = answer.tool_call_id.as_deref().unwrap_or_default();
        if expected != found {
            differences.push(format!("tool_call_id: expected {expected:?}, found {found:?}"));
        }
    }
    if let Some(expected) = expect.dry_run.filter(|_| expect.dry_run != answer.dry_run) {
        differences.push(format!("dry_run: expected {expected}, found {:?}", answer.dry_run));
    }
    differences
}

fn unexpected_status(status: &Status) -> String {
    let reason = status.reason.as_deref().unwrap_or("no reason");
    format!("expected a success, found the status {} ({reason}): {}", status.code, status.message)
}

fn compare_status(
    expected: &step::Status,
    found: &Status,
    bindings: &mut Bindings,
    differences: &mut Vec<String>,
) {
    if expected.code != found.code {
        differences.push(format!("status.code: expected {}, found {}", expected.code, found.code));
    }
    if expected.reason.is_some() && expected.reason != found.reason {
        differences.push(format!("status.reason: expected {:?}, found {:?}", expected.reason, found.reason));
    }
    if let Some(expected) = &expected.error {
        matcher::compare("status.error", expected, found.error.as_ref(), bindings, differences);
    }
}

fn compare_content(expected: &Content, found: &str, differences: &mut Vec<String>) {
    match expected {
        Content::Whole(text) => {
            let expected = text.get();
            if expected != found {
                let at = expected.chars().zip(found.chars()).take_while(|(one, other)| one == other).count();
                let from = at.saturating_sub(40);
                let shown = |text: &str| text.chars().skip(from).take(160).collect::<String>();
                differences.push(format!(
                    "content: from character {from} on: found {:?}, expected {:?}",
                    shown(found),
                    shown(&expected)
                ));
            }
        }
        Content::Pieces(pieces) => {
            let missing = pieces.contains.iter().filter(|piece| !found.contains(piece.as_str()));
            let shown: String = found.chars().take(400).collect();
            differences.extend(missing.map(|piece| format!("content: {piece:?} is not in {shown:?}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(expect: Value, answer: &Answer) -> Vec<String> {
        let expect = serde_json::from_value(expect).unwrap();
        differences(&expect, answer, &mut Bindings::default())
    }

    #[track_caller]
    fn differs(expect: Value, answer: &Answer, part: &str) {
        let told = told(expect, answer);
        assert!(told.len() == 1 && told[0].contains(part), "{told:?}");
    }

    fn success() -> Answer {
        Answer {
            content: Some("1: one".to_owned()),
            outcome: Some(json!({"read": {"total_lines": "1"}})),
            tool_call_id: Some("toolu_1".to_owned()),
            dry_run: Some(false),
            ..Answer::default()
        }
    }

    fn failure() -> Answer {
        Answer { error: Some(json!({"code": "FS_NOT_FOUND"})), ..Answer::default() }
    }

    fn status() -> Answer {
        let status = Status {
            code: "NOT_FOUND".to_owned(),
            reason: Some("SESSION_NOT_FOUND".to_owned()),
            error: None,
            message: "no such session".to_owned(),
        };
        Answer { status: Some(status), ..Answer::default() }
    }

    #[test]
    fn what_is_expected_does_not_differ() {
        let expect = json!({
            "content": "1: one", "outcome": {"read": {"total_lines": 1}}, "tool_call_id": "toolu_1", "dry_run": false
        });
        assert_eq!(told(expect, &success()), Vec::<String>::new());
        assert_eq!(told(json!({}), &success()), Vec::<String>::new());
        assert_eq!(told(json!({"error": {"code": "FS_NOT_FOUND"}}), &failure()), Vec::<String>::new());
        let expect = json!({"status": {"code": "NOT_FOUND", "reason": "SESSION_NOT_FOUND"}});
        assert_eq!(told(expect, &status()), Vec::<String>::new());
    }

    #[test]
    fn an_unexpected_success_differs() {
        differs(json!({"error": {"code": "FS_NOT_FOUND"}}), &success(), "found a success");
        differs(json!({"status": {"code": "NOT_FOUND"}}), &success(), "found a success");
    }

    #[test]
    fn an_unexpected_error_differs() {
        differs(json!({}), &failure(), "expected a success, found the error");
        differs(json!({}), &status(), "NOT_FOUND (SESSION_NOT_FOUND): no such session");
        differs(json!({"status": {"code": "NOT_FOUND"}}), &failure(), "expected the status NOT_FOUND");
        differs(json!({"error": {"code": "FS_NOT_FOUND"}}), &status(), "found the status NOT_FOUND");
        differs(json!({"outcome": {"read": {"path": "x"}}}), &failure(), "found the error");
    }

    #[test]
    fn another_error_differs() {
        differs(
            json!({"error": {"code": "FS_NOT_TEXT"}}),
            &failure(),
            r#"error.code: expected "FS_NOT_TEXT""#,
        );
        differs(json!({"status": {"code": "UNAVAILABLE"}}), &status(), "status.code: expected UNAVAILABLE");
        let reason = json!({"status": {"code": "NOT_FOUND", "reason": "SESSION_LIMIT"}});
        differs(reason, &status(), "SESSION_LIMIT");
        let error = json!({"status": {"code": "NOT_FOUND", "error": {"code": "FS_NOT_FOUND"}}});
        differs(error, &status(), "status.error: expected");
    }

    #[test]
    fn an_outcome_beside_an_error_must_be_expected() {
        let both = Answer { outcome: success().outcome, ..failure() };
        differs(json!({"error": {"code": "FS_NOT_FOUND"}}), &both, "outcome: expected none");
        let expect =
            json!({"error": {"code": "FS_NOT_FOUND"}, "outcome": {"read": {"total_lines": {"$any": true}}}});
        assert_eq!(told(expect, &both), Vec::<String>::new());
    }

    #[test]
    fn other_content_differs() {
        differs(json!({"content": "1: One"}), &success(), "from character 0 on");
        differs(json!({"content": "1: one\n"}), &success(), "content:");
        differs(json!({"content": {"contains": ["one", "two"]}}), &success(), r#""two" is not in"#);
    }

    #[test]
    fn another_outcome_or_echo_differs() {
        differs(json!({"outcome": {"read": {"total_lines": 2}}}), &success(), "outcome.read.total_lines");
        differs(json!({"outcome": {"edit": {"version": {"$any": true}}}}), &success(), "outcome.edit");
        differs(json!({"tool_call_id": "toolu_2"}), &success(), "toolu_2");
        differs(json!({"dry_run": true}), &success(), "dry_run");
    }
}
