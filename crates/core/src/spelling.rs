//! The name that a misspelled one was meant to be, for errors about unknown names.

/// Longest word to compare. Longer ones match no name, and the comparison takes quadratic time.
const WORD_MAX: usize = 64;
/// More names than this are not listed in a sentence.
const LISTED_MAX: usize = 25;

/// The entry of `names` most similar to `wanted`; `None` if none is. Up to one letter in four may differ, case is
/// ignored, and a part of at least three letters matches the whole.
#[must_use]
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let length = wanted.chars().count();
    if length > WORD_MAX {
        return None;
    }
    let effort = |name: &'a str| {
        let lower = name.to_lowercase();
        let distance = edit_distance(&wanted, &lower);
        let is_close = distance <= (length.max(lower.chars().count()) + 2) / 4;
        let is_part = length >= 3 && lower.contains(&wanted);
        (is_close || is_part).then_some((!is_close, distance, name))
    };
    names.into_iter().filter_map(effort).min_by_key(|(is_part, distance, _)| (*is_part, *distance)).map(|found| found.2)
}

/// End of a sentence about an unknown name: the nearest name, or all names if none is near and they are few.
#[must_use]
pub fn suggest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match nearest(wanted, names.iter().copied()) {
        Some(near) => format!("the nearest is \"{near}\""),
        None if names.is_empty() => "there is none".into(),
        None if names.len() <= LISTED_MAX => format!("there are: {}", names.join(", ")),
        None => format!("none of the {} names is spelled like it", names.len()),
    }
}

/// Restricted Damerau distance: insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_forgives_a_typing_error() {
        assert_eq!(nearest("bqf", ["eevdf", "bfq", "bfs"]), Some("bfq"));
        assert_eq!(nearest("evdf", ["eevdf", "cfs", "rr"]), Some("eevdf"));
        assert_eq!(nearest("EEVDF", ["eevdf", "cfs"]), Some("eevdf"));
        assert_eq!(nearest("linux", ["cfs", "linux-2.4"]), Some("linux-2.4"));
    }

    #[test]
    fn a_far_fetched_name_is_not_suggested() {
        assert_eq!(nearest("banana", ["eevdf", "bfq", "bfs"]), None);
        assert_eq!(nearest("c", ["a"]), None);
        assert_eq!(nearest(&"x".repeat(100_000), ["eevdf"]), None);
        assert_eq!(suggest("banana", ["eevdf", "rr"]), "there are: eevdf, rr");
        assert_eq!(suggest("evdf", ["eevdf", "rr"]), "the nearest is \"eevdf\"");
        assert_eq!(suggest("banana", []), "there is none");
        let many = |count| suggest("banana", vec!["rr"; count]);
        assert!(many(LISTED_MAX).starts_with("there are: rr, rr"));
        assert_eq!(many(LISTED_MAX + 1), format!("none of the {} names is spelled like it", LISTED_MAX + 1));
    }
}
