//! Input from a file, a pipe or memory, decompressed on the way. Compression is recognised by its first bytes.

use crate::error::TraceError;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

/// Memory an xz stream may ask for, in bytes; `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;

/// Something to read a trace from, and the name it has in messages.
pub struct Input<'a> {
    /// Name in messages.
    pub name: String,
    source: Box<dyn Read + 'a>,
}

impl<'a> Input<'a> {
    /// Opens the file at `path`; `-` is standard input.
    ///
    /// # Errors
    /// [`TraceError::Open`] when it cannot be opened or its compressed beginning cannot be read.
    pub fn open(path: &Path) -> Result<Input<'static>, TraceError> {
        let name = path.display().to_string();
        let cannot = |source| TraceError::Open { path: name.clone(), source };
        if path.as_os_str() == "-" {
            return Input::reader(&name, io::stdin()).map_err(cannot);
        }
        let file = File::open(path).map_err(cannot)?;
        if file.metadata().map_err(cannot)?.is_dir() {
            return Err(cannot(io::Error::other("it is a folder")));
        }
        Input::reader(&name, file).map_err(cannot)
    }

    /// Reads from anything; undoes gzip, xz or zstd compression.
    ///
    /// # Errors
    /// What reading the first bytes meets.
    pub fn reader(name: &str, mut from: impl Read + 'a) -> io::Result<Input<'a>> {
        let mut head = [0u8; 6];
        let mut len = 0;
        while len < head.len() {
            match from.read(&mut head[len..]) {
                Ok(0) => break,
                Ok(n) => len += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let whole = Cursor::new(head).take(len as u64).chain(from);
        let source: Box<dyn Read + 'a> = match &head[..len] {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => {
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED)?;
                Box::new(liblzma::read::XzDecoder::new_stream(whole, stream))
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::stream::read::Decoder::new(whole)?),
            _ => Box::new(whole),
        };
        Ok(Input { name: name.into(), source })
    }

    /// Up to `len` bytes from the beginning, which are still to be read afterwards.
    pub(crate) fn peek(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut head = Vec::with_capacity(len);
        let mut source = std::mem::replace(&mut self.source, Box::new(io::empty()));
        source.by_ref().take(len as u64).read_to_end(&mut head)?;
        self.source = Box::new(Cursor::new(head.clone()).chain(source));
        Ok(head)
    }

    /// Reads from memory.
    ///
    /// # Errors
    /// As for [`Input::reader`].
    pub fn bytes(name: &str, text: &'a [u8]) -> io::Result<Input<'a>> {
        Input::reader(name, text)
    }
}

impl Read for Input<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.source.read(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read_back(packed: &[u8]) -> String {
        let mut text = String::new();
        Input::bytes("x", packed).and_then(|mut i| i.read_to_string(&mut text)).expect("it reads");
        text
    }

    #[test]
    fn each_compression_is_recognised_by_its_first_bytes() {
        let text = "# tracer: nop\n".repeat(1000);
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(text.as_bytes()).expect("memory");
        assert_eq!(read_back(&gz.finish().expect("memory")), text);
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(text.as_bytes()).expect("memory");
        assert_eq!(read_back(&xz.finish().expect("memory")), text);
        assert_eq!(read_back(&zstd::encode_all(text.as_bytes(), 1).expect("memory")), text);
        assert_eq!(read_back(text.as_bytes()), text);
        assert_eq!(read_back(b"ab"), "ab");
        assert_eq!(read_back(b""), "");
    }

    #[test]
    fn a_folder_and_a_missing_file_are_named() {
        let error = Input::open(Path::new("/")).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("it is a folder"), "{error}");
        let error = Input::open(Path::new("/nowhere/x")).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.starts_with("/nowhere/x cannot be opened"), "{error}");
    }
}
