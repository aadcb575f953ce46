//! A minimal HTTP/1.1 client: one request, and the end of its reply.

/// Longest accepted reply head.
const HEAD_MAX: usize = 16 * 1024;

/// The request for `path`.
pub(super) fn request(host: &str, path: &str, keep_alive: bool) -> Vec<u8> {
    let connection = if keep_alive { "keep-alive" } else { "close" };
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: {connection}\r\n\r\n").into_bytes()
}

/// State of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Incomplete.
    Partial,
    /// It is complete; whether the server keeps the connection.
    Complete { keeps: bool },
    /// Not acceptable: not HTTP, not `200`, or of unknown length.
    Bad,
}

/// A reply being received.
#[derive(Debug, Default)]
pub(super) struct Answer {
    head: Vec<u8>,
    /// Once the head is complete: remaining bytes of the body, and whether the server keeps the connection.
    body: Option<(u64, bool)>,
}

impl Answer {
    /// Resets for the next reply.
    pub(super) fn clear(&mut self) {
        self.head.clear();
        self.body = None;
    }

    /// True if nothing has arrived yet.
    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Parses the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Progress {
        let Some((left, keeps)) = self.body else { return self.take_head(bytes) };
        self.take_body(bytes.len() as u64, left, keeps)
    }

    fn take_head(&mut self, bytes: &[u8]) -> Progress {
        let searched = self.head.len().saturating_sub(3);
        self.head.extend_from_slice(bytes);
        let Some(end) = self.head[searched..].windows(4).position(|four| four == b"\r\n\r\n") else {
            return if self.head.len() > HEAD_MAX { Progress::Bad } else { Progress::Partial };
        };
        let end = searched + end + 4;
        let Some((length, keeps)) = read_head(&self.head[..end]) else { return Progress::Bad };
        self.take_body((self.head.len() - end) as u64, length, keeps)
    }

    fn take_body(&mut self, came: u64, left: u64, keeps: bool) -> Progress {
        match left.checked_sub(came) {
            // No request is outstanding, so more data is an error.
            None => Progress::Bad,
            Some(0) => Progress::Complete { keeps },
            Some(left) => {
                self.body = Some((left, keeps));
                Progress::Partial
            }
        }
    }
}

/// Body length, and whether the connection stays open, from the head of a `200` reply.
fn read_head(head: &[u8]) -> Option<(u64, bool)> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    let mut status = lines.next()?.split(' ');
    let version = status.next()?;
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || status.next()? != "200" {
        return None;
    }
    let (mut length, mut keeps) = (None, version == "HTTP/1.1");
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.parse().ok()?);
        } else if name.eq_ignore_ascii_case("connection") {
            keeps = !value.eq_ignore_ascii_case("close");
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return None;
        }
    }
    Some((length?, keeps))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

    #[test]
    fn an_answer_is_complete_at_its_last_byte_however_it_is_cut() {
        for cut in 1..FIVE.len() {
            let mut answer = Answer::default();
            assert_eq!(answer.take(&FIVE[..cut]), Progress::Partial, "{cut}");
            assert_eq!(answer.take(&FIVE[cut..]), Progress::Complete { keeps: true }, "{cut}");
        }
        let mut answer = Answer::default();
        let last = FIVE.iter().map(|byte| answer.take(&[*byte])).last();
        assert_eq!(last, Some(Progress::Complete { keeps: true }));
    }

    #[test]
    fn a_server_that_closes_is_believed() {
        let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(Answer::default().take(closing), Progress::Complete { keeps: false });
        let old = b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(Answer::default().take(old), Progress::Complete { keeps: false });
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for bad in [
            &b"SSH-2.0\r\n\r\n"[..],
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
            b"\xff\r\n\r\n",
        ] {
            assert_eq!(Answer::default().take(bad), Progress::Bad, "{}", String::from_utf8_lossy(bad));
        }
        let mut endless = Answer::default();
        let last = (0..20).map(|_| endless.take(&[b'a'; 1024])).last();
        assert_eq!(last, Some(Progress::Bad), "a head without end");
    }
}
