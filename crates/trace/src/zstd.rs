//! Zstandard input: decodes frames in sequence and verifies their checksums.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// Memory limit of a frame in bytes: the window of `zstd --long=27`, the largest that zstd decodes by default.
const WINDOW: u64 = 128 << 20;

/// Ends any frame: an empty last block, and room for a checksum.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Decompresses all frames of a stream and skips what other programs put between them.
pub(crate) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    /// True between a frame's header and the last of its bytes handed out.
    within: bool,
    /// Error met while decoding, reported once the bytes before it are handed out.
    failure: Option<io::Error>,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Self { source, decoder, within: false, failure: None }
    }

    /// Reads the header of the next frame; false at the end of the input.
    fn begin_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.within = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }

    /// Decodes until there is output or the frame ends.
    ///
    /// The decoder withholds a window of bytes until the frame is complete. If decoding fails, the frame is ended here,
    /// so that nothing decoded before the damage is lost.
    fn decode(&mut self) {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            if let Err(error) = self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1)) {
                self.failure = Some(damaged(error));
                let ended = self.decoder.decode_blocks(&END[..], BlockDecodingStrategy::All);
                debug_assert!(ended.is_ok(), "an empty last block ends any frame");
                return;
            }
        }
    }

    /// Ends a frame after all its output was returned.
    fn end_frame(&mut self) -> io::Result<()> {
        self.within = false;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(damaged("the content does not match its checksum"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.within || self.begin_frame()? {
            if self.failure.is_none() {
                self.decode();
            }
            let len = self.decoder.read(into)?;
            if len > 0 {
                return Ok(len);
            }
            self.end_frame()?;
        }
        Ok(0)
    }
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// The readable part of `packed`, and the error that ends it.
    fn read(packed: &[u8]) -> (Vec<u8>, Option<io::Error>) {
        let (mut out, mut part) = (Vec::new(), [0; 1000]);
        let mut frames = Frames::new(packed);
        loop {
            match frames.read(&mut part) {
                Ok(0) => return (out, None),
                Ok(len) => out.extend_from_slice(&part[..len]),
                Err(error) => return (out, Some(error)),
            }
        }
    }

    fn lines(count: u32) -> Vec<u8> {
        (0..count).flat_map(|n| format!("line {n} of {count}\n").into_bytes()).collect()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    /// A frame to be skipped, as parallel compressors and seekable archives write them.
    fn skippable(content: &[u8]) -> Vec<u8> {
        [&0x184D_2A53_u32.to_le_bytes()[..], &(content.len() as u32).to_le_bytes(), content].concat()
    }

    #[test]
    fn frames_follow_one_another_and_skippable_ones_are_skipped() {
        let (one, two) = (lines(40_000), lines(7));
        let stream = [packed(&one), skippable(b"an index"), packed(b""), packed(&two), skippable(b"")].concat();
        let (text, error) = read(&stream);
        assert!(error.is_none(), "{error:?}");
        assert!(text == [one, two].concat());
        assert!(read(&[packed(b"x"), skippable(b"cut off")[..12].to_vec()].concat()).1.is_some());
    }

    #[test]
    fn what_comes_before_a_cut_is_read_and_the_cut_is_an_error() {
        let text = lines(40_000);
        let packed = packed(&text);
        for len in (0..packed.len()).step_by(997).skip(1) {
            let (read, error) = read(&packed[..len]);
            assert!(text.starts_with(&read), "{len} of {} bytes", packed.len());
            assert!(error.is_some(), "{len} of {} bytes", packed.len());
            // A block becomes at most 128 KiB of text.
            assert!(read.len() + (256 << 10) >= text.len() * len / packed.len(), "{len}: only {} bytes", read.len());
        }
    }

    #[test]
    fn a_changed_content_does_not_match_its_checksum() {
        let text = b"text that is too short to be compressed, and is stored";
        let mut packed = packed(text);
        let at = packed.windows(4).position(|four| four == b"text").expect("stored as it is");
        packed[at] = b'n';
        let (read, error) = read(&packed);
        assert_eq!(&read[1..], &text[1..]);
        assert_eq!(error.expect("an error").to_string(), "the content does not match its checksum");
    }

    #[test]
    fn any_one_byte_damaged_ends_in_text_or_an_error() {
        let packed = packed(&lines(300));
        for at in 0..packed.len() {
            for flip in [1, 0x80, 0xff] {
                let mut damaged = packed.clone();
                damaged[at] ^= flip;
                assert!(read(&damaged).0.len() <= (128 << 10) + 300 * 20);
            }
        }
    }

    #[test]
    fn a_frame_that_asks_for_too_much_memory_is_refused() {
        // Window descriptors: 128 MiB, and one step above it.
        let header = |window: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0, window][..], &END[..3]].concat();
        assert!(read(&header(17 << 3)).1.is_none());
        let error = read(&header(17 << 3 | 1)).1.expect("an error").to_string();
        assert!(error.contains("150994944"), "{error}");
    }

    #[test]
    fn a_small_file_that_becomes_large_is_read_as_far_as_asked() {
        // 4 GiB of zeros as blocks of one repeated byte, within a window of 128 KiB.
        let blocks = [2, 0, 16, 0].repeat(1 << 15);
        let stream = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3][..], &blocks, &END[..3]].concat();
        let mut frames = Frames::new(&stream[..]);
        frames.read_exact(&mut vec![1; 1 << 20]).expect("sound");
        let held = (stream.len() - frames.source.len()) / 4 * (128 << 10) - (1 << 20);
        assert!(held <= 2 * (128 << 10), "{held} bytes held");
        assert_eq!(io::copy(&mut frames, &mut io::sink()).expect("sound"), (4 << 30) - (1 << 20));
    }
}
