//! The flags of the settings, made from their table.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches};

use crate::setting::chosen::Said;
use crate::setting::origin::Origin;
use crate::setting::value::{Kind, Value};
use crate::setting::{Definition, Group, Setting};

/// Every setting as flags say it, and the configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServeArgs {
    /// What flags say.
    pub said: Said,
    /// `--config`
    pub config: Option<PathBuf>,
}

/// The limits as flags say them, and the configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitArgs {
    /// What flags say.
    pub said: Said,
    /// `--config`
    pub config: Option<PathBuf>,
}

impl Args for ServeArgs {
    fn augment_args(command: Command) -> Command {
        let command = command.arg(config_arg());
        Setting::all().fold(command, |command, setting| command.args(setting_args(setting)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        ServeArgs::augment_args(command)
    }
}

impl FromArgMatches for ServeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ServeArgs, clap::Error> {
        Ok(ServeArgs { said: said(matches, Setting::all()), config: matches.get_one("config").cloned() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ServeArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for LimitArgs {
    fn augment_args(command: Command) -> Command {
        let args: Vec<Arg> = limits().flat_map(setting_args).chain([config_arg()]).collect();
        // The group makes it possible to refuse all of them beside another flag.
        let group = ArgGroup::new("LimitArgs").args(args.iter().map(Arg::get_id)).multiple(true);
        command.args(args).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        LimitArgs::augment_args(command)
    }
}

impl FromArgMatches for LimitArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<LimitArgs, clap::Error> {
        Ok(LimitArgs { said: said(matches, limits()), config: matches.get_one("config").cloned() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = LimitArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

fn limits() -> impl Iterator<Item = Setting> {
    crate::setting::chosen::of_group(Group::Limits)
}

fn config_arg() -> Arg {
    Arg::new("config").long("config").value_name("FILE").value_parser(clap::value_parser!(PathBuf)).help(
        "The configuration file, TOML [default: $XDG_CONFIG_HOME/toolfs/config.toml when it is there] [env: \
         TOOLFS_CONFIG]",
    )
}

fn setting_args(setting: Setting) -> Vec<Arg> {
    let Definition { group, flag, empty_flag, kind, value_name, .. } = setting.definition();
    let arg =
        Arg::new(flag).long(flag).value_name(value_name).help(help(setting)).help_heading(group.heading());
    let arg = match kind {
        Kind::Choice(choices) => arg.value_parser(PossibleValuesParser::new(choices).map(Value::Text)),
        Kind::Text | Kind::Whole { .. } | Kind::Switch => arg.value_parser(move |text: &str| {
            kind.parse(text).ok_or_else(|| format!("must be {}", kind.expected()))
        }),
        // One of them, as it is: separators are for the variable.
        Kind::List { .. } => {
            arg.action(ArgAction::Append).value_parser(|text: &str| Kind::Text.parse(text).ok_or(""))
        }
    };
    // A switch can be taken back where the file has set it.
    let arg = match kind {
        Kind::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
        Kind::Text | Kind::Choice(_) | Kind::Whole { .. } | Kind::List { .. } => arg,
    };
    let empty = empty_flag.map(|(empty, doc)| {
        Arg::new(empty)
            .long(empty)
            .action(ArgAction::SetTrue)
            .conflicts_with(flag)
            .help(doc)
            .help_heading(group.heading())
    });
    std::iter::once(arg).chain(empty).collect()
}

/// The words of the table, with what the help of every flag tells.
fn help(setting: Setting) -> String {
    let Definition { variable, wider_variable, kind, doc, .. } = setting.definition();
    let repeatable = match kind {
        Kind::List { .. } => ". Repeatable",
        Kind::Text | Kind::Choice(_) | Kind::Whole { .. } | Kind::Switch => "",
    };
    let separated = match kind {
        Kind::List { separator } => format!(", separated by `{separator}`"),
        Kind::Text | Kind::Choice(_) | Kind::Whole { .. } | Kind::Switch => String::new(),
    };
    let variables = match wider_variable {
        Some(wider) => format!("{wider}, {variable}"),
        None => variable.to_owned(),
    };
    let default = setting.default_text();
    format!("{doc}{repeatable} [default: {default}] [env: {variables}{separated}]")
}

fn said(matches: &ArgMatches, settings: impl Iterator<Item = Setting>) -> Said {
    let mut said = Said::new();
    for setting in settings {
        let Definition { flag, empty_flag, kind, .. } = setting.definition();
        let value = match kind {
            Kind::List { .. } => matches.get_many::<Value>(flag).map(|values| {
                let texts = values.filter_map(|value| match value {
                    Value::Text(text) => Some(text.clone()),
                    Value::Whole(_) | Value::Switch(_) | Value::List(_) => None,
                });
                Value::List(texts.collect())
            }),
            Kind::Text | Kind::Choice(_) | Kind::Whole { .. } | Kind::Switch => {
                matches.get_one(flag).cloned()
            }
        };
        if let Some(value) = value {
            said.insert(setting, (value, Origin::Flag(flag)));
        }
        if let Some((empty, _)) = empty_flag.filter(|(empty, _)| matches.get_flag(empty)) {
            said.insert(setting, (Value::List(Vec::new()), Origin::Flag(empty)));
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn serve(arguments: &[&str]) -> Result<Said, String> {
        let cli =
            Cli::try_parse_from(["toolfs", "serve"].iter().chain(arguments)).map_err(|e| e.to_string())?;
        match cli.command {
            Command::Serve(args) => Ok(args.said),
            other => panic!("{other:?}"),
        }
    }

    fn value(arguments: &[&str], setting: Setting) -> Option<String> {
        serve(arguments).unwrap().get(&setting).map(|(value, origin)| format!("{value} by {origin}"))
    }

    #[test]
    fn flags_say_settings() {
        assert_eq!(value(&["--root", "a", "--root=b"], Setting::Roots).unwrap(), "a b by --root");
        assert_eq!(value(&["--root", "a:b"], Setting::Roots).unwrap(), "a:b by --root");
        assert_eq!(value(&["--allow-remote"], Setting::AllowRemote).unwrap(), "true by --allow-remote");
        assert_eq!(
            value(&["--allow-remote=false"], Setting::AllowRemote).unwrap(),
            "false by --allow-remote"
        );
        assert_eq!(value(&["--protect-nothing"], Setting::Protect).unwrap(), "nothing by --protect-nothing");
        assert_eq!(value(&["--log", "debug"], Setting::LogFilter).unwrap(), "debug by --log");
        assert!(serve(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_flag_of_another_kind_is_told_with_what_it_must_be() {
        for (arguments, says) in [
            (&["--drain-limit-s", "soon"][..], "must be a whole number, at least 0"),
            (&["--max-sessions", "0"], "must be a whole number, at least 1"),
            (&["--durability", "ful"], "full, data, none"),
            (&["--allow-remote=maybe"], "must be true or false"),
            (&["--protect", "x", "--protect-nothing"], "cannot be used with"),
        ] {
            let error = serve(arguments).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
