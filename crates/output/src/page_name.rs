//! The file of a page that the user did not name: `goodness-compare-INPUT.html`.

use std::io::Read;
use std::path::{Path, PathBuf};

/// Most characters of a page's name that come from the input.
const NAME_MAX: usize = 60;
/// Bytes at the start of a page that hold the command that made it.
const HEAD: u64 = 16_384;

/// A name for the page that `goodness COMMAND` makes of `about`. A file without `mark`, by which pages of one command
/// line are known, is left alone: the name gets a number.
#[must_use]
pub fn unclaimed(command: &str, about: &str, mark: &str) -> PathBuf {
    let stem = format!("goodness-{command}-{}", stem(about));
    let names = (1..).map(|number| match number {
        1 => PathBuf::from(format!("{stem}.html")),
        _ => PathBuf::from(format!("{stem}-{number}.html")),
    });
    names.into_iter().find(|path| !path.exists() || has_mark(path, mark)).expect("numbers do not end")
}

/// The part of an input's name that goes into a file's name: `traces/my.ftrace.gz` is `my`.
fn stem(about: &str) -> String {
    let name = about.rsplit('/').find(|part| !part.is_empty()).unwrap_or("input");
    let name = if Path::new(about).exists() { name.split('.').find(|it| !it.is_empty()).unwrap_or(name) } else { name };
    let clean = |c: char| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    name.chars().take(NAME_MAX).map(clean).collect()
}

fn has_mark(path: &Path, mark: &str) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_page_is_a_plain_one_of_its_input() {
        let said = ["apache-ab-c32-1cpu", "mixed:duration=1s", "../a b/c;d", ""].map(stem);
        assert_eq!(said, ["apache-ab-c32-1cpu", "mixed-duration-1s", "c-d", "input"]);
        assert_eq!(stem(concat!(env!("CARGO_MANIFEST_DIR"), "/src/page_name.rs")), "page_name");
    }
}
