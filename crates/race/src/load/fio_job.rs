//! Makes a user's fio job file safe: the race decides the target of the I/O.
//!
//! Rejects everything that could redirect it: values with a path or a variable, commands before and after a job, and
//! I/O engines that bypass this machine's block layer.

use crate::load_error::LoadError;

/// Keys that lead I/O elsewhere or run programs.
const REFUSED: [&str; 9] = [
    "directory",
    "exec_postrun",
    "exec_prerun",
    "filename",
    "hostname",
    "include",
    "mountpoint",
    "opendir",
    "replay_redirect",
];
/// I/O engines that stay on this machine.
const ENGINES: [&str; 10] =
    ["io_uring", "libaio", "mmap", "null", "posixaio", "psync", "pvsync", "pvsync2", "sync", "vsync"];
/// Larger job files are none.
const LONGEST: usize = 1 << 20;

/// The job file `text`, called `file`, with `place` (such as `directory=…`) prepended.
///
/// # Errors
/// The first line that could redirect the I/O, with a remedy.
pub(super) fn placed(file: &str, text: &str, place: &str) -> Result<String, LoadError> {
    if text.len() > LONGEST {
        return Err(LoadError(format!("{file} is longer than a job file of fio can be ({LONGEST} bytes)")));
    }
    for (index, line) in text.lines().enumerate() {
        check(line.trim()).map_err(|why| LoadError(format!("{file}, line {}: {why}", index + 1)))?;
    }
    Ok(format!("[global]\n{place}\n\n{text}\n"))
}

fn check(line: &str) -> Result<(), String> {
    if line.is_empty() || line.starts_with(['#', ';', '[']) {
        return Ok(());
    }
    let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
    let word = key.split_whitespace().next().unwrap_or(key);
    if REFUSED.contains(&word) {
        return Err(format!("\"{word}\" is for the race to decide, which keeps I/O off your files; leave it out"));
    }
    if value.contains(['/', '$', '`']) || key.contains(['/', '$', '`']) {
        return Err(format!("\"{line}\" names a path or a variable; the race keeps I/O off your files; leave it out"));
    }
    if key == "ioengine" && !ENGINES.contains(&value) {
        return Err(format!("ioengine = {value} is not one of {}", ENGINES.join(", ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_says_where_its_io_goes_is_refused_with_its_line() {
        for bad in [
            "filename=/dev/sda",
            "filename = x",
            "directory=/home",
            "include other.fio",
            "exec_prerun=rm -rf x",
            "write_iolog=/etc/passwd",
            "size=$SIZE",
            "ioengine=rbd",
            "ioengine=external:x.so",
        ] {
            let why = placed("a.fio", &format!("[job]\nrw=read\n{bad}\n"), "directory=x").unwrap_err().0;
            assert!(why.starts_with("a.fio, line 3: "), "{why}");
        }
    }

    #[test]
    fn the_race_s_place_comes_before_everything() {
        let made = placed("a.fio", "; mine\n[global]\nbs=4k\n[job]\nrw=read\nioengine=libaio", "directory=x").unwrap();
        assert!(made.starts_with("[global]\ndirectory=x\n"));
        assert!(made.contains("[job]\nrw=read\nioengine=libaio"));
    }
}
