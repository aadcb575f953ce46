//! Input from a file, a pipe or memory, decompressed transparently. The first bytes determine the compression.

use crate::error::TraceError;
use crate::zstd::Frames;
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// Memory limit of an xz stream, in KiB; `xz -9` needs 65 MiB.
const XZ_MEMORY: u32 = 256 << 10;

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
    /// [`TraceError::Open`] if it cannot be opened or its compressed start cannot be read.
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

    /// Reads from any reader; decompresses gzip, xz and zstd.
    ///
    /// # Errors
    /// The error of reading the first bytes.
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
                Box::new(XzReader::new_mem_limit(BufReader::new(whole), true, XZ_MEMORY))
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(Frames::new(BufReader::new(whole))),
            _ => Box::new(whole),
        };
        Ok(Input { name: name.into(), source })
    }

    /// Returns up to `len` bytes from the start without consuming them.
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
    use lzma_rust2::{XzOptions, XzWriter};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write;

    fn xz(text: &str) -> Vec<u8> {
        let mut xz = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).expect("memory");
        xz.write_all(text.as_bytes()).expect("memory");
        xz.finish().expect("memory")
    }

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
        assert_eq!(read_back(&xz(&text)), text);
        assert_eq!(read_back(&compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)), text);
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
