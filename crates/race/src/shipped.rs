//! The built-in races. To add one, put a file in `races/` and a line here.

/// Name and text of each, in alphabetical order.
pub const RACES: &[(&str, &str)] = &[
    ("apache-fair", include_str!("../../../races/apache-fair.toml")),
    ("dbload", include_str!("../../../races/dbload.toml")),
    ("ezolt", include_str!("../../../races/ezolt.toml")),
    ("santosa-apache", include_str!("../../../races/santosa-apache.toml")),
    ("santosa-mysql", include_str!("../../../races/santosa-mysql.toml")),
    ("spin-nice", include_str!("../../../races/spin-nice.toml")),
    ("travis", include_str!("../../../races/travis.toml")),
];

/// The text of the race called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static str> {
    RACES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Summary of a race file: the first sentence of its head comment.
#[must_use]
pub fn summary(text: &str) -> String {
    let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let head = head.join(" ");
    let end = head.find(['.', '?']).map_or(head.len(), |at| at + 1);
    head[..end].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_race_is_read_and_says_what_it_asks() {
        assert!(RACES.is_sorted_by_key(|(name, _)| *name));
        for (name, text) in RACES {
            let read = crate::config::read(&format!("{name}.toml"), text).unwrap_or_else(|why| panic!("{why}"));
            assert!(read.plan.arms.len() >= 2 && !read.plan.measures.is_empty());
            assert!(summary(text).ends_with(['.', '?']), "{name}");
        }
    }
}
