//! Pages of documentation: their commands that are marked run, and print what the page shows. `BLESS=1` writes what
//! they print into the page.

use crate::common::{folder, text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The pages, with the number of their marked commands.
const PAGES: [(&str, usize); 4] =
    [("docs/story.md", 5), ("docs/first-steps.md", 1), ("docs/tune.md", 1), ("docs/diff.md", 1)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The output of a command of a page in a folder of its own, in which the recordings and the examples are.
fn printed(command: &str) -> String {
    let here = folder();
    for name in ["recordings", "examples"] {
        std::os::unix::fs::symlink(root().join(name), here.path().join(name)).expect("an empty folder");
    }
    let program = format!("'{}' ", env!("CARGO_BIN_EXE_goodness"));
    let line = command.replacen("cargo run --release -- ", "goodness ", 1).replacen("goodness ", &program, 1);
    let output = Command::new("sh").args(["-c", &line]).current_dir(here.path()).env("NO_COLOR", "1").output();
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
fn the_marked_commands_of_the_pages_print_what_they_show() {
    for (name, expected) in PAGES {
        let path = root().join(name);
        let page = std::fs::read_to_string(&path).expect("a page");
        let (renewed, count) = renewed(&page);
        assert_eq!(count, expected, "marked commands of {name}");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &renewed).expect("the page can be written");
        }
        let now = std::fs::read_to_string(&path).expect("a page");
        assert!(now == renewed, "{name} is stale: BLESS=1 cargo test -p goodness-cli --test program story");
    }
}
