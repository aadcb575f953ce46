//! A finished recording, as text for a terminal.

use super::Recorded;
use goodness_sys::Exit;
use std::fmt;

/// Most unreadable facts shown; under lockdown there is a page of them.
const UNREADABLE_SHOWN: usize = 3;

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.duration.as_secs_f64();
        writeln!(f, "{}: {} events in {seconds:.2} s, {} bytes", self.path.display(), self.events, self.bytes)?;
        match self.lost_events() {
            0 => f.write_str("no event was lost")?,
            lost => write!(f, "{lost} events were lost; the replay will say what that costs")?,
        }
        match self.exit {
            Some(Exit::Code(0)) | None => {}
            Some(Exit::Code(code)) => write!(f, "\nthe command ended with status {code}")?,
            Some(Exit::Signal(signal)) => write!(f, "\nthe command was killed by signal {signal}")?,
        }
        for sentence in self.unreadable.iter().take(UNREADABLE_SHOWN) {
            write!(f, "\nnot recorded: {sentence}")?;
        }
        match self.unreadable.len().saturating_sub(UNREADABLE_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\nnot recorded: {more} more, which the file's header names"),
        }
    }
}
