//! Compresses a recording with zstd if the file name asks for it, else with gzip.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Bytes of text in one zstd frame. A reader joins the frames.
const FRAME: usize = 4 << 20;

/// A compressing writer.
pub enum Packer<W: Write> {
    /// Any name: half the size of the other on scheduling events.
    Gzip(GzEncoder<W>),
    /// A name that ends in `.zst`. The encoder in Rust compresses whole buffers, so text is collected into frames.
    Zstd {
        /// Text of the next frame.
        text: Vec<u8>,
        /// Writer of the compressed frames.
        to: W,
    },
}

impl<W: Write> Packer<W> {
    /// Compresses into `to`, in the format of `path`'s extension.
    pub fn new(path: &Path, to: W) -> Self {
        if path.extension().is_some_and(|end| end == "zst") {
            Self::Zstd { text: Vec::with_capacity(FRAME), to }
        } else {
            Self::Gzip(GzEncoder::new(to, Compression::default()))
        }
    }

    /// Writes the remaining data. An empty recording gets a frame, too.
    ///
    /// # Errors
    /// The writer's error.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Gzip(gzip) => gzip.finish()?.flush(),
            Self::Zstd { text, mut to } => {
                to.write_all(&compress_to_vec(&text[..], CompressionLevel::Fastest))?;
                to.flush()
            }
        }
    }
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(gzip) => gzip.write(bytes),
            Self::Zstd { text, to } => {
                let len = bytes.len().min(FRAME - text.len());
                text.extend_from_slice(&bytes[..len]);
                if text.len() == FRAME {
                    to.write_all(&compress_to_vec(&text[..], CompressionLevel::Fastest))?;
                    text.clear();
                }
                Ok(len)
            }
        }
    }

    /// Text of an unfinished frame stays: a frame cut short compresses badly.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_trace::Input;
    use std::io::Read;

    fn there_and_back(name: &str, text: &[u8], begins: &[u8]) {
        let mut bytes = Vec::new();
        let mut packer = Packer::new(Path::new(name), &mut bytes);
        for line in text.chunks(1_000_003) {
            packer.write_all(line).expect("memory");
        }
        packer.finish().expect("memory");
        assert!(bytes.starts_with(begins), "{name}");
        let mut back = Vec::new();
        Input::bytes(name, &bytes).and_then(|mut input| input.read_to_end(&mut back)).expect("sound");
        assert!(back == text, "{name}, {} bytes", text.len());
    }

    #[test]
    fn the_name_says_how_and_the_reader_gives_back_what_was_written() {
        for len in [0, 5, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME + 77] {
            let text: Vec<u8> = (0..len).map(|n| b'a' + (n * n / 1_000 % 26) as u8).collect();
            there_and_back("a.ftrace.gz", &text, &[0x1f, 0x8b]);
            there_and_back("recording", &text, &[0x1f, 0x8b]);
            there_and_back("a.ftrace.zst", &text, &[0x28, 0xb5, 0x2f, 0xfd]);
        }
    }
}
