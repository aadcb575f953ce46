//! The help of each command shows how it is called.

use crate::common::{folder, goodness, text};

/// Commands that the help of the program lists, besides `help` itself.
fn listed() -> Vec<String> {
    let help = text(&goodness(folder().path(), &["--help"]).stdout);
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Names stand two columns in; what is further in goes on with a summary.
    let names = lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").map(String::from).collect()
}

/// Commands for this machine's kernel, of which a build without the feature `live` only says how they are built.
const LIVE: [&str; 8] = ["calibrate", "conform", "doctor", "elevate", "live", "play", "race", "record"];

/// True if this build has the command; another only says how the command is built.
fn is_built(command: &str) -> bool {
    match command {
        "sweep" => cfg!(feature = "tables"),
        _ => cfg!(feature = "live") || !LIVE.contains(&command),
    }
}

#[test]
fn the_help_of_each_command_has_examples_of_it() {
    let commands = listed();
    assert!(commands.len() >= 15, "{commands:?}");
    for command in commands.iter().filter(|name| is_built(name)) {
        let help = text(&goodness(folder().path(), &[command, "--help"]).stdout);
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{command} has no examples"));
        let mut examples = examples.lines().take_while(|line| !line.is_empty());
        let call = format!("goodness {command}");
        assert!(examples.any(|line| line.contains(&call)), "no example calls `{call}`: {help}");
    }
}

#[test]
fn help_in_full_describes_the_command_and_its_summary_does_not() {
    for (command, part) in
        [("compare", "INPUT is a recording"), ("verify", "is replayed under"), ("study", "Verdicts:")]
    {
        let help = |flag: &str| text(&goodness(folder().path(), &[command, flag]).stdout);
        assert!(help("--help").contains(part), "{}", help("--help"));
        let summary = help("-h");
        assert!(!summary.lines().next().is_some_and(str::is_empty) && !summary.contains(part), "{summary}");
    }
}
