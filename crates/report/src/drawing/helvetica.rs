//! Letters of Helvetica: their codes in PDF's standard encoding and their widths, for text that ends or is centred at a
//! place. Widths: Adobe Font Metrics of Helvetica, in thousandths of the size.

/// Widths of the printable characters of ASCII, from the blank to the tilde.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
];

/// Width of letters outside of ASCII: that of a digit.
const OTHERS: u16 = 556;

/// The text in Windows code page 1252; a question mark for what that lacks.
pub(super) fn encoded(text: &str) -> Vec<u8> {
    let code = |letter: char| match letter {
        ' '..='~' | '\u{a0}'..='\u{ff}' => letter as u8,
        '…' => 0x85,
        '–' => 0x96,
        '—' => 0x97,
        '’' => 0x92,
        '“' => 0x93,
        '”' => 0x94,
        '\u{2009}' | '\u{202f}' => b' ',
        _ => b'?',
    };
    text.chars().map(code).collect()
}

/// Width of encoded text at size 1.
pub(super) fn width(letters: &[u8]) -> f32 {
    let of = |letter: &u8| WIDTHS.get(usize::from(letter.wrapping_sub(b' '))).copied().unwrap_or(OTHERS);
    letters.iter().map(|letter| f32::from(of(letter))).sum::<f32>() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        assert_eq!(width(b"i"), 0.222);
        assert_eq!(width(b"W"), 0.944);
        assert_eq!(width(b"@"), 1.015);
        assert_eq!(width(b"~"), 0.584);
        assert!((width(b"10 ms") - (556.0 + 556.0 + 278.0 + 833.0 + 500.0) / 1_000.0).abs() < 1e-6);
        assert_eq!(encoded("µ–漢"), [0xb5, 0x96, b'?']);
    }
}
