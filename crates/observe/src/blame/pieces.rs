//! Contiguous pieces of time, and others laid over them.

use goodness_core::Time;

/// What holds from one time to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<T> {
    pub from: Time,
    pub to: Time,
    pub is: T,
}

/// `base` with `change` where a piece of `over` covers it. Both are in order of time; those of `over` may overlap, and
/// the first one counts.
pub(super) fn overlay<T: Copy, O: Copy>(
    base: &[Piece<T>],
    over: &[Piece<O>],
    change: impl Fn(T, O) -> Option<T>,
) -> Vec<Piece<T>> {
    let mut laid = Vec::with_capacity(base.len());
    for piece in base {
        let mut at = piece.from;
        for cover in over.iter().skip_while(|cover| cover.to <= piece.from).take_while(|cover| cover.from < piece.to) {
            let (from, to) = (cover.from.max(at), cover.to.min(piece.to));
            let Some(is) = change(piece.is, cover.is).filter(|_| from < to) else { continue };
            if at < from {
                laid.push(Piece { from: at, to: from, is: piece.is });
            }
            laid.push(Piece { from, to, is });
            at = to;
        }
        if at < piece.to {
            laid.push(Piece { from: at, to: piece.to, is: piece.is });
        }
    }
    laid
}

#[test]
fn what_is_laid_over_changes_its_part_alone() {
    let piece = |from, to, is| Piece { from: Time(from), to: Time(to), is };
    let base = [piece(0, 10, 'a'), piece(10, 20, 'b')];
    let over = [piece(3, 5, 'x'), piece(4, 12, 'y'), piece(30, 40, 'x')];
    let laid = overlay(&base, &over, |_, is| Some(is));
    let expected = [piece(0, 3, 'a'), piece(3, 5, 'x'), piece(5, 10, 'y'), piece(10, 12, 'y'), piece(12, 20, 'b')];
    assert_eq!(laid, expected);
}
