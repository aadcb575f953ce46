//! Colours of tasks in pictures, told apart in light and dark pages, with black text on them.

/// The first ones.
const FIRST: [&str; 10] =
    ["#6f9bd1", "#f28e2b", "#6fbf5f", "#f07a7a", "#c49ac6", "#c9a184", "#edc948", "#76b7b2", "#ff9da7", "#b0b0b0"];

/// The colour of task `index`. After the first ones hues go round by the golden angle, so that neighbours differ.
pub(crate) fn of(index: usize) -> String {
    match FIRST.get(index) {
        Some(colour) => (*colour).into(),
        None => format!("hsl({} 65% 68%)", (index * 137 + 20) % 360),
    }
}

#[test]
fn fifty_tasks_have_fifty_colours() {
    let colours: std::collections::BTreeSet<String> = (0..50).map(of).collect();
    assert_eq!(colours.len(), 50);
}
