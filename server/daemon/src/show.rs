//! `toolfs config show` and `toolfs config check`.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Map, Value as Json, json};

use crate::cli::{ConfigCommand, ConfigFormat};
use crate::config::Resolved;
use crate::env::Environment;
use crate::setting::chosen::{Chosen, of_group};
use crate::setting::file::usual_place;
use crate::setting::origin::Origin;
use crate::setting::value::{Value, redacted};
use crate::setting::{Group, Setting};
use crate::{exit, output};

/// Runs the command.
pub fn main(command: &ConfigCommand, environment: &Environment) -> ExitCode {
    let (serve, format) = match command {
        ConfigCommand::Show { format, serve } => (serve, Some(*format)),
        ConfigCommand::Check { serve } => (serve, None),
    };
    let resolved = Resolved::of(serve, environment);
    let printed = match format {
        Some(ConfigFormat::Text) => output::line(&text(&resolved.chosen, environment)),
        Some(ConfigFormat::Toml) => output::line(&toml(&resolved.chosen)),
        Some(ConfigFormat::Json) => output::line(&json(&resolved.chosen)),
        None if resolved.config.is_ok() => output::line("ok"),
        None => Ok(()),
    };
    if let Err(error) = printed {
        return ExitCode::from(error.complain());
    }
    match resolved.config {
        Ok(_) => ExitCode::from(exit::SUCCESS),
        Err(errors) => {
            for error in errors {
                output::complain(&error.to_string());
            }
            ExitCode::from(exit::USAGE)
        }
    }
}

/// A table for people.
fn text(chosen: &Chosen, environment: &Environment) -> String {
    let file = match (&chosen.file, usual_place(environment)) {
        (Some(file), _) => file.path.display().to_string(),
        (None, Some(place)) => format!("none ({} would be read)", place.display()),
        (None, None) => "none".to_owned(),
    };
    let rows: Vec<[String; 3]> = Setting::all()
        .map(|setting| {
            let value = match chosen.value(setting) {
                Some(value) => value.to_string(),
                None => format!("({})", setting.default_text()),
            };
            [setting.path(), value, chosen.origin(setting).to_string()]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count().min(48)).max().unwrap_or(0);
    let (keys, values) = (width(0), width(1));
    let mut text = format!("configuration file: {file}\n");
    for [key, value, origin] in &rows {
        let _ = write!(text, "\n{key:keys$}  {value:values$}  {origin}");
    }
    text
}

/// A configuration file that says the same.
fn toml(chosen: &Chosen) -> String {
    let mut text = String::new();
    for group in Group::ALL {
        if let Some(table) = group.table() {
            let _ = write!(text, "\n[{table}]\n");
        }
        for setting in of_group(group) {
            let key = setting.definition().key;
            let _ = match chosen.value(setting) {
                Some(value) => writeln!(text, "{key} = {} # {}", toml_value(value), chosen.origin(setting)),
                None => writeln!(text, "# {key}: {}", setting.default_text()),
            };
        }
    }
    text.trim_end().to_owned()
}

fn toml_value(value: &Value) -> toml::Value {
    match value {
        Value::Text(text) => toml::Value::String(redacted(text)),
        // A number that TOML cannot say is one that no limit can mean.
        Value::Whole(number) => toml::Value::Integer(i64::try_from(*number).unwrap_or(i64::MAX)),
        Value::Switch(switch) => toml::Value::Boolean(*switch),
        Value::List(texts) => {
            toml::Value::Array(texts.iter().map(|text| toml::Value::String(redacted(text))).collect())
        }
    }
}

/// For programs: an object for each setting, by its path.
fn json(chosen: &Chosen) -> String {
    let settings: Map<String, Json> = Setting::all()
        .map(|setting| {
            let value = match chosen.value(setting) {
                None => Json::Null,
                Some(Value::Text(text)) => redacted(text).into(),
                Some(Value::Whole(number)) => (*number).into(),
                Some(Value::Switch(switch)) => (*switch).into(),
                Some(Value::List(texts)) => texts.iter().map(|text| redacted(text)).collect(),
            };
            let origin = match chosen.origin(setting) {
                Origin::Flag(flag) => json!({"flag": format!("--{flag}")}),
                Origin::Variable(name) => json!({"variable": name}),
                Origin::File { path, line } => json!({"file": path.display().to_string(), "line": line}),
                Origin::Default => json!("default"),
            };
            (setting.path(), json!({"value": value, "origin": origin}))
        })
        .collect();
    let file = chosen.file.as_ref().map(|file| file.path.display().to_string());
    serde_json::to_string_pretty(&json!({"file": file, "settings": settings}))
        .expect("texts, numbers and booleans always serialize")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::chosen::Said;
    use crate::setting::file::FileSettings;

    fn chosen() -> Chosen {
        let text = |text: &str| Value::Text(text.to_owned());
        let flags = Said::from([
            (Setting::Roots, (Value::List(vec!["/a".into(), "it's \"b\"=/w".into()]), Origin::Flag("root"))),
            (Setting::State, (text("redis://me:secret@host/0"), Origin::Flag("state"))),
        ]);
        let environment = Environment::of(&[("TOOLFS_MAX_SESSIONS", "7"), ("TOOLFS_ALLOW_REMOTE", "true")]);
        Chosen::hear(&flags, &environment, None).0
    }

    #[test]
    fn no_secret_is_shown_and_each_setting_is() {
        let chosen = chosen();
        let texts = [text(&chosen, &Environment::default()), toml(&chosen), json(&chosen)];
        for text in texts {
            assert!(!text.contains("secret") && text.contains("redis://[redacted]@host/0"), "{text}");
            for setting in Setting::all() {
                assert!(text.contains(setting.definition().key), "{}: {text}", setting.path());
            }
        }
    }

    #[test]
    fn what_is_shown_as_toml_is_a_file_that_says_the_same() {
        let chosen = chosen();
        let (file, troubles) = FileSettings::parse("/c".into(), &toml(&chosen));
        assert_eq!(troubles, []);
        for setting in Setting::all().filter(|setting| *setting != Setting::State) {
            let again = file.said.get(&setting).map(|(value, _)| value);
            assert_eq!(again, chosen.value(setting), "{}", setting.path());
        }
    }

    #[test]
    fn origins_are_told() {
        let chosen = chosen();
        let text = text(&chosen, &Environment::of(&[("HOME", "/h")]));
        assert!(
            text.starts_with("configuration file: none (/h/.config/toolfs/config.toml would be read)\n"),
            "{text}"
        );
        let line = |key: &str| {
            let line = text.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("limits.max_sessions"), "limits.max_sessions 7 TOOLFS_MAX_SESSIONS");
        assert_eq!(line("allow_remote"), "allow_remote true TOOLFS_ALLOW_REMOTE");
        assert_eq!(line("state"), "state redis://[redacted]@host/0 --state");
        assert_eq!(line("listen"), "listen 127.0.0.1:50051 the default");
        assert_eq!(line("limits.max_file_bytes"), "limits.max_file_bytes (no limit) the default");
        let shown: Json = serde_json::from_str(&json(&chosen)).unwrap();
        assert_eq!(
            shown["settings"]["limits.max_sessions"],
            json!({"value": 7, "origin": {"variable": "TOOLFS_MAX_SESSIONS"}})
        );
        assert_eq!(shown["settings"]["policy"], json!({"value": "observation", "origin": "default"}));
        assert_eq!(shown["settings"]["limits.max_file_bytes"]["value"], Json::Null);
    }
}
