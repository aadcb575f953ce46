//! The facts that a paper needs to cite a result.

use crate::model::Report;

/// Version, command, input with its hash, and an entry for BibTeX.
#[must_use]
pub fn text(report: &Report) -> String {
    let build = &report.goodness;
    let commit = build.commit.as_deref().map_or(String::new(), |commit| format!(", commit {commit}"));
    let input = &report.input;
    let hash = input.sha256.as_deref().map_or(String::new(), |hash| format!(", SHA-256 {hash}"));
    let command = report.details.command.as_deref().unwrap_or("unknown");
    let version = &build.version;
    format!(
        "To cite this result:\n\
         \x20 program  goodness {version}{commit}\n\
         \x20 command  {command}\n\
         \x20 input    {}{hash}\n\
         \x20 sample   {} runs of each, seed {}\n\n\
         @software{{goodness,\n  \
           author = {{{{The goodness authors}}}},\n  \
           title = {{goodness: compare schedulers, by simulation and on real kernels}},\n  \
           version = {{{version}}},\n  \
           note = {{Result of: {command}}}\n}}",
        input.name, report.runs_per_policy, report.seed
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Details, Input};

    #[test]
    fn a_citation_names_version_command_and_the_hash_of_the_input() {
        let input = Input { name: "my.ftrace".into(), sha256: Some("abc123".into()), ..Input::default() };
        let details = Details { command: Some("goodness compare my.ftrace".into()), ..Details::default() };
        let text = text(&Report { input, details, seed: 7, ..Report::default() });
        for part in
            [env!("CARGO_PKG_VERSION"), "goodness compare my.ftrace\n", "SHA-256 abc123", "seed 7", "@software{"]
        {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
    }
}
