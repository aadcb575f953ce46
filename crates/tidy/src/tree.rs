//! The text files of a repository.

use crate::code;
use std::fmt;
use std::path::{Path, PathBuf};

/// Folders that hold no sources; the last two are left by fuzzing.
const SKIPPED_FOLDERS: [&str; 6] = ["target", ".git", "node_modules", "__pycache__", "corpus", "artifacts"];
/// Extensions of text files; files without extension are checked, too.
const TEXT: [&str; 15] =
    ["rs", "md", "txt", "toml", "py", "sh", "js", "mjs", "ts", "html", "css", "c", "h", "yml", "lock"];
/// Larger files are fixtures.
const LARGEST: u64 = 1 << 20;

/// A text file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
    /// For Rust, the text with comments and literals blanked out; else empty.
    pub code: String,
}

impl Source {
    /// The file at `path` holding `text`.
    #[must_use]
    pub fn new(path: &str, text: &str) -> Source {
        let code = if path.ends_with(".rs") { code::only(text) } else { String::new() };
        Source { path: path.into(), text: text.into(), code }
    }

    /// True for Rust files.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The file's name without extension.
    #[must_use]
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split_once('.').map_or(name, |(stem, _)| stem)
    }

    /// Something wrong at byte `at` of the text or the code.
    #[must_use]
    pub fn finding(&self, at: usize, sentence: String) -> Finding {
        let line = 1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|b| **b == b'\n').count();
        Finding { path: self.path.clone(), line, sentence }
    }
}

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// The defect, and the remedy.
    pub sentence: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.sentence)
    }
}

/// All text files of a repository.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The files, by path.
    pub files: Vec<Source>,
    /// The paths of all files, text or not, sorted.
    pub paths: Vec<String>,
}

impl Tree {
    /// Reads the repository at `root`.
    ///
    /// # Errors
    /// A folder or a file that cannot be read.
    pub fn read(root: &Path) -> std::io::Result<Tree> {
        let (mut files, mut paths) = (Vec::new(), Vec::new());
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if kind.is_dir() && !SKIPPED_FOLDERS.contains(&name.as_str()) {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    paths.push(path_in(root, &entry.path()));
                    if is_text(&name) && entry.metadata()?.len() <= LARGEST {
                        files.extend(read_file(root, &entry.path())?);
                    }
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        paths.sort();
        Ok(Tree { files, paths })
    }

    /// A tree of these files, for tests of rules.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        Tree {
            files: files.iter().map(|(path, text)| Source::new(path, text)).collect(),
            paths: files.iter().map(|(path, _)| path.to_string()).collect(),
        }
    }

    /// The file at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Source> {
        self.files.iter().find(|f| f.path == path)
    }

    /// All Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|f| f.is_rust())
    }

    /// The files of this crate: they spell out what they forbid.
    #[must_use]
    pub fn is_own(source: &Source) -> bool {
        source.path.starts_with("crates/tidy/")
    }
}

fn is_text(name: &str) -> bool {
    name.rsplit_once('.').is_none_or(|(_, extension)| TEXT.contains(&extension))
}

/// The file, unless it is not text after all.
fn read_file(root: &Path, path: &PathBuf) -> std::io::Result<Option<Source>> {
    let Ok(text) = String::from_utf8(std::fs::read(path)?) else { return Ok(None) };
    Ok(Some(Source::new(&path_in(root, path), &text)))
}

/// The path from `root`, with `/`.
fn path_in(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}
