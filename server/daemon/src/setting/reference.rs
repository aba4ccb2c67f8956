//! The reference page of the settings, made from their table.

use std::fmt::Write as _;

use super::chosen::of_group;
use super::value::Kind;
use super::{Definition, Group, Setting};

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for group in Group::ALL {
        let heading = match group.table() {
            None => "At the top of the file".to_owned(),
            Some(table) => format!("`[{table}]`"),
        };
        let _ = write!(
            page,
            "\n## {heading}\n\n| key | flag | variable | value | default | |\n| --- | --- | --- | --- | --- | --- |\n"
        );
        for setting in of_group(group) {
            page.push_str(&row(setting));
        }
    }
    page.push_str("\n## Other variables\n\n| variable | |\n| --- | --- |\n");
    for (name, doc) in crate::env::OTHER_VARIABLES {
        let _ = writeln!(page, "| `{name}` | {doc} |");
    }
    page
}

const INTRODUCTION: &str = "\
# Settings of `toolfs serve`

Flags beat variables, variables beat the configuration file, the file beats defaults.
`toolfs config show` prints each setting with its value and where that came from, `toolfs config check` finds every mistake.
An unknown key, flag or variable that begins with `TOOLFS_` is an error that names the one that was meant perhaps; an empty variable says nothing.

The file is the one that `--config` or `TOOLFS_CONFIG` names, else `$XDG_CONFIG_HOME/toolfs/config.toml` (`~/.config/toolfs/config.toml`) when there is one.
It is TOML:

```toml
roots = [\"/srv/project=/workspace\"]
listen = [\"127.0.0.1:50051\", \"unix:/run/toolfs/toolfs.sock\"]

[limits]
max_sessions = 1000

[log]
format = \"json\"
```

Relative paths start where the command was started, whoever says them.
This page is made from the table in `src/setting.rs`.
";

fn row(setting: Setting) -> String {
    let Definition { key, flag, empty_flag, variable, wider_variable, kind, value_name, doc, .. } =
        setting.definition();
    let value = match kind {
        Kind::Text => format!("`{value_name}`"),
        Kind::Choice(choices) => {
            choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Whole { .. } => value_name.to_lowercase(),
        Kind::Switch => "`true`, `false`".to_owned(),
        Kind::List { separator } => {
            format!("`{value_name}`, several; in the variable separated by `{separator}`")
        }
    };
    let flags = match empty_flag {
        Some((empty, _)) => format!("`--{flag}`, `--{empty}`"),
        None => format!("`--{flag}`"),
    };
    let variables = match wider_variable {
        Some(wider) => format!("`{wider}`, else `{variable}`"),
        None => format!("`{variable}`"),
    };
    // A bar would end the cell.
    let value = value.replace('|', "\\|");
    format!("| `{key}` | {flags} | {variables} | {value} | {} | {doc} |\n", setting.default_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `UPDATE_EXPECT=1 cargo test -p toolfs-server` writes the page anew.
    #[test]
    fn the_reference_page_is_that_of_the_table() {
        expect_test::expect_file!["../../SETTINGS.md"].assert_eq(&page());
    }

    #[test]
    fn no_setting_and_no_variable_is_missing_from_the_page() {
        let page = page();
        for (name, _) in crate::env::known() {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
        for setting in Setting::all() {
            assert!(page.contains(&format!(
                "| `{}` | `--{}`",
                setting.definition().key,
                setting.definition().flag
            )));
        }
    }
}
