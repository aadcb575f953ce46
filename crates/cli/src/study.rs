//! `goodness study`: reproduces published results.

use crate::failure::{Failure, exit};
use crate::tables::Tables;
use crate::verbosity::Verbosity;
use crate::words::quoted;
use crate::{output, progress, stop};
use clap::Args;
use goodness::{RUNS_MAX, catalogue};
use goodness_core::spelling::nearest;
use goodness_report::json;
use goodness_study::{Conducted, Conducting, CustomStudy, Document, Lab, Published, STUDIES, Study};
use std::path::{Path, PathBuf};

/// Reproduce published results, side by side with their numbers.
///
/// Without a name, or with `list`, lists the studies. `all` runs all of them; a path runs a study of your own
/// (docs/studies/own.md). Verdicts: `reproduced` (within the tolerance shown), `direction` (same direction, other
/// size), `not reproduced`, `unpublished`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness study list                           the studies there are
  goodness study travis-1998                    one, with its page
  goodness study all --quick                    all, without the sensitivity analysis
  goodness study examples/06-a-textbook-table   one of your own

Exit codes: 0 conducted, 1 failure, 2 bad input, 4 a checker was violated.")]
pub struct Conduct {
    /// Name of a study, `list` or `all`; or the path of a TOML file, or of a folder with a published.toml.
    #[arg(default_value = "list")]
    name: String,
    /// Replications of each run. By default the study's own number.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=i64::from(RUNS_MAX)))]
    runs: Option<u32>,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Skip the sensitivity analysis, which takes most of the run time.
    #[arg(long)]
    quick: bool,
    /// Also measure what depends on this machine's clock and differs from run to run (overheads of panasyuk-2009).
    #[arg(long)]
    timing: bool,
    /// Write the rows as JSON (schema goodness.study/1; an array for `all`); without FILE, or with `-`, to standard
    /// output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write a self-contained page; for `all`, a folder of them. Default: goodness-study-NAME.html.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    verbosity: Verbosity,
}

impl Conduct {
    /// Runs the studies and prints the results.
    ///
    /// # Errors
    /// An unknown study, a file that cannot be written, a violated checker.
    pub fn run(&self) -> Result<u8, Failure> {
        if self.name == "list" {
            self.list();
            return Ok(exit::OK);
        }
        match (self.name.as_str(), goodness_study::find(&self.name)) {
            ("all", _) => self.conduct_all(STUDIES),
            (_, Some(study)) => self.conduct_all(&[*study]),
            (path, None) if Path::new(path).exists() || path.ends_with(".toml") => self.conduct_custom(path),
            (name, None) => Err(unknown(name)),
        }
    }

    fn conduct_all(&self, studies: &[Study]) -> Result<u8, Failure> {
        let read = |study: &Study| Published::read(study.name, study.published).map_err(Failure::other);
        let published = studies.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        self.conduct_each(studies, &published)
    }

    /// Conducts the study in the file or the folder `path`.
    fn conduct_custom(&self, path: &str) -> Result<u8, Failure> {
        let custom = CustomStudy::open(path).map_err(Failure::usage)?;
        let conduct = |lab: &Lab| custom.conduct(lab);
        let study = custom.study(&conduct);
        self.conduct_each(&[study], std::slice::from_ref(&custom.published))
    }

    /// Runs `studies`, each with its published numbers.
    fn conduct_each(&self, studies: &[Study], published: &[Published]) -> Result<u8, Failure> {
        self.verbosity.begin();
        let to_stdout = output::is_stdout(&self.json);
        output::check_tables(std::slice::from_ref(&self.name), &self.tables)?;
        self.check_files(studies, to_stdout)?;
        stop::heed()?;
        let mut conducted = Vec::new();
        for (study, published) in studies.iter().zip(published) {
            let one = self.conduct(study, published)?;
            if !to_stdout {
                say!("{}", one.text(self.verbosity.extent_of_each(studies.len()), output::columns()).trim_end());
            }
            conducted.push(one);
        }
        self.deliver(&conducted, to_stdout)?;
        Ok(exit::OK)
    }

    /// Refuses files that could not be written, before any work is done.
    fn check_files(&self, studies: &[Study], to_stdout: bool) -> Result<(), Failure> {
        output::check(&self.name, &[(&self.json, "--json")])?;
        if !self.makes_pages(to_stdout) {
            return Ok(());
        }
        studies.iter().try_for_each(|study| output::check_file(&self.page_path(study)))
    }

    fn conduct<'a>(&self, study: &'a Study<'a>, published: &Published) -> Result<Conducted<'a>, Failure> {
        let bar = progress::counter(study.name.to_string());
        let conducted = self.how().conduct(study, published, &|done| {
            bar.set_position(done);
            stop::flow()
        });
        bar.finish_and_clear();
        conducted.map_err(|why| match stop::is_wished() {
            true => Failure::other(format!("stopped before {} had ended", study.name)),
            false => Failure::violated(format!("{why}. Reproduce: {}", self.command(study))),
        })
    }

    fn how(&self) -> Conducting {
        Conducting { runs: self.runs, seed: self.seed, quick: self.quick, timing: self.timing }
    }

    /// The command that does it again.
    fn command(&self, study: &Study) -> String {
        let runs = self.how().runs_of(study);
        let options = [(self.quick, " --quick"), (self.timing, " --timing")];
        let options: String = options.iter().filter_map(|(is_set, text)| is_set.then_some(*text)).collect();
        let name = if self.name == "all" { study.name.into() } else { quoted(&self.name) };
        format!("goodness study {name} --runs {runs} --seed {}{options}", self.seed)
    }

    fn list(&self) {
        if self.json.is_some() {
            return output::say_json(&goodness_study::catalogue());
        }
        let table = catalogue::table(&goodness_study::catalogue(), output::columns());
        say!("{table}\n\nConduct one: goodness study NAME");
    }

    fn deliver(&self, conducted: &[Conducted], to_stdout: bool) -> Result<(), Failure> {
        let documents: Vec<Document> = conducted.iter().map(Conducted::document).collect();
        let text = match documents.as_slice() {
            [only] if self.name != "all" => json::text(only),
            all => json::text(&all),
        };
        if to_stdout {
            say!("{}", text.trim_end());
        } else if let Some(path) = &self.json {
            output::write(Some(path), || text)?;
            self.say_written(&[path]);
        }
        let written = self.tables.write(|| std::iter::once(goodness_study::table(conducted)))?;
        if !to_stdout {
            self.say_written(&written);
        }
        if !self.makes_pages(to_stdout) {
            return Ok(());
        }
        for one in conducted {
            let path = self.page_path(one.study());
            output::write(Some(&path), || one.page(&self.command(one.study())))?;
            if !to_stdout {
                self.say_written(&[&path]);
            }
        }
        Ok(())
    }

    /// True if pages are written: where asked, and beside text that is not to be short.
    fn makes_pages(&self, to_stdout: bool) -> bool {
        self.html.is_some() || !to_stdout && !self.verbosity.quiet
    }

    fn say_written(&self, paths: &[&Path]) {
        if !self.verbosity.quiet {
            output::say_written(paths);
        }
    }

    fn page_path(&self, study: &Study) -> PathBuf {
        match &self.html {
            Some(path) if self.name == "all" => path.join(format!("goodness-study-{}.html", study.name)),
            Some(path) => path.clone(),
            None => output::page("study", study.name, &self.command(study)),
        }
    }
}

fn unknown(name: &str) -> Failure {
    let names = STUDIES.iter().map(|study| study.name).chain(["list", "all"]);
    let near = nearest(name, names).unwrap_or_default();
    let remedy = "See `goodness study list`, or name a file or folder that exists.";
    Failure::usage(format!("there is no study \"{name}\"; the nearest is \"{near}\". {remedy}"))
}
