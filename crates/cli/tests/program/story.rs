//! `docs/story.md`: its commands run, and print what the page shows. `BLESS=1` writes what they print into the page.

use crate::common::text;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The output of a command of the page.
fn printed(command: &str) -> String {
    let program = env!("CARGO_BIN_EXE_goodness");
    let line = command.replacen("goodness ", &format!("'{program}' "), 1);
    let output = Command::new("sh").args(["-c", &line]).current_dir(root()).env("NO_COLOR", "1").output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{command}: {}", text(&output.stderr));
    let lines = text(&output.stdout);
    lines.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_matches('\n').to_string()
}

/// The page with what each tested command prints in the block behind it; and the number of those commands.
fn renewed(page: &str) -> (String, usize) {
    const SHOWN: &str = "```text\n";
    let (mut out, mut rest, mut count) = (String::new(), page, 0);
    while let Some((before, after)) = rest.split_once("# tested\n```\n") {
        let command = before.rsplit("```sh\n").next().unwrap_or_default().trim();
        let (between, block) = after.split_once(SHOWN).expect("what a tested command prints is shown behind it");
        let (_, behind) = block.split_once("```").expect("a block that ends");
        out += &format!("{before}# tested\n```\n{between}{SHOWN}{}\n", printed(command));
        rest = &behind[0..];
        out += "```";
        count += 1;
    }
    (out + rest, count)
}

#[test]
fn the_commands_of_the_story_print_what_it_shows() {
    let path = root().join("docs/story.md");
    let page = std::fs::read_to_string(&path).expect("the story");
    let (renewed, count) = renewed(&page);
    assert!(count >= 4, "only {count} commands of the story are tested");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &renewed).expect("the story can be written");
    }
    let now = std::fs::read_to_string(&path).expect("the story");
    assert!(now == renewed, "docs/story.md is stale: BLESS=1 cargo test -p goodness-cli --test program story");
}
