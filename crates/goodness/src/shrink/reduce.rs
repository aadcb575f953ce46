//! Steps that make an experiment smaller, and the search for those that keep what it shows.

use goodness_core::{Span, Time};
use toml::{Table, Value};

/// Lists of an experiment file.
const LISTS: [&str; 9] = ["task", "outside", "group", "lock", "fault", "disk", "volume", "file", "cache"];
/// Keys without which an entry is none.
const NEEDED: [&str; 2] = ["name", "program"];
/// Room after what is shown, when the duration is cut to it.
const AFTER: Span = Span::from_ms(1);
/// Times below are not halved any more.
const SHORTEST: Span = Span::from_us(10);

/// Takes each step that leaves the symptom, until none does. `shows` gives the time at which a candidate shows it.
pub(super) fn reduce(mut table: Table, shows: impl Fn(&Table) -> Option<Time>) -> Table {
    loop {
        let mut is_smaller = false;
        let mut next = 0;
        // After a step that was taken, the list is another one; go on at the same place of it.
        loop {
            let mut all = candidates(&table);
            if next >= all.len() {
                break;
            }
            let candidate = all.swap_remove(next);
            match shows(&candidate) {
                Some(at) => {
                    is_smaller = true;
                    table = cut(&candidate, at).filter(|it| shows(it).is_some()).unwrap_or(candidate);
                }
                None => next += 1,
            }
        }
        if !is_smaller {
            return table;
        }
    }
}

/// The experiment with a duration that ends soon after `at`.
fn cut(table: &Table, at: Time) -> Option<Table> {
    let duration = Span::parse(table.get("duration")?.as_str()?).ok()?;
    let end = Span(at.0.checked_add(AFTER.0)?.div_ceil(AFTER.0) * AFTER.0);
    (end.0 * 2 < duration.0).then(|| with(table, "duration", Value::String(span(end))))
}

/// Every experiment that is one step smaller.
fn candidates(table: &Table) -> Vec<Table> {
    let mut all = Vec::new();
    for list in LISTS {
        let entries = table.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        all.extend((0..entries.len()).map(|at| without_entry(table, list, entries, at)));
        for (at, entry) in entries.iter().enumerate() {
            let smaller = entry.as_table().map(smaller_entries).unwrap_or_default();
            all.extend(smaller.into_iter().map(|it| with_entry(table, list, entries, at, it)));
        }
    }
    all.extend(table.get("warmup").map(|_| without(table, "warmup")));
    if table.get("machine").is_some_and(|it| it.as_str() != Some("ideal")) {
        all.push(with(table, "machine", Value::String("ideal".into())));
    }
    let duration = table.get("duration").and_then(shorter);
    all.extend(duration.map(|it| with(table, "duration", it)));
    all
}

/// An entry without a key, with a smaller count, or with a shorter programme.
fn smaller_entries(entry: &Table) -> Vec<Table> {
    let mut all = Vec::new();
    if let Some(count) = entry.get("count").and_then(Value::as_integer).filter(|it| *it > 2) {
        all.push(with(entry, "count", Value::Integer(2)));
        all.push(with(entry, "count", Value::Integer(count / 2)));
        all.push(with(entry, "count", Value::Integer(count - 1)));
    }
    let optional = entry.keys().filter(|key| !NEEDED.contains(&key.as_str()));
    all.extend(optional.map(|key| without(entry, key)));
    let program = entry.get("program").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if program.len() > 1 {
        all.extend((0..program.len()).map(|at| {
            let kept = program.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, it)| it.clone());
            with(entry, "program", Value::Array(kept.collect()))
        }));
    }
    for (at, step) in program.iter().enumerate() {
        let Some(step) = step.as_table() else { continue };
        for (key, value) in step.iter().filter_map(|(key, value)| Some((key, shorter(value)?))) {
            let mut steps = program.to_vec();
            steps[at] = Value::Table(with(step, key, value));
            all.push(with(entry, "program", Value::Array(steps)));
        }
    }
    all
}

/// Half a time, or the first of a range.
fn shorter(value: &Value) -> Option<Value> {
    if let Some([low, _]) = value.as_array().map(Vec::as_slice) {
        return Some(low.clone());
    }
    let long = Span::parse(value.as_str()?).ok().filter(|it| *it >= SHORTEST)?;
    Some(Value::String(span(Span(long.0 / 2))))
}

/// A time as it is typed, in whole microseconds or milliseconds.
fn span(span: Span) -> String {
    let us = span.0.div_ceil(1_000);
    if us.is_multiple_of(1_000) { format!("{}ms", us / 1_000) } else { format!("{us}us") }
}

fn with(table: &Table, key: &str, value: Value) -> Table {
    let mut table = table.clone();
    table.insert(key.into(), value);
    table
}

fn without(table: &Table, key: &str) -> Table {
    let mut table = table.clone();
    table.remove(key);
    table
}

fn without_entry(table: &Table, list: &str, entries: &[Value], at: usize) -> Table {
    let kept: Vec<Value> =
        entries.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, it)| it.clone()).collect();
    if kept.is_empty() { without(table, list) } else { with(table, list, Value::Array(kept)) }
}

fn with_entry(table: &Table, list: &str, entries: &[Value], at: usize, entry: Table) -> Table {
    let mut entries = entries.to_vec();
    entries[at] = Value::Table(entry);
    with(table, list, Value::Array(entries))
}

/// The experiment as a file: plain keys first, then the lists, each entry's programme on one line.
pub(super) fn written(table: &Table) -> String {
    let is_list = |key: &str, value: &Value| {
        LISTS.contains(&key) && value.as_array().is_some_and(|it| it.iter().all(Value::is_table))
    };
    let line = |(key, value): (&String, &Value)| format!("{key} = {value}\n");
    let mut text: String = table.iter().filter(|(key, value)| !is_list(key, value)).map(line).collect();
    for (key, value) in table.iter().filter(|(key, value)| is_list(key, value)) {
        for entry in value.as_array().into_iter().flatten().filter_map(Value::as_table) {
            text.push_str(&format!("\n[[{key}]]\n"));
            text.extend(entry.iter().map(line));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: &str = "duration = \"2s\"\n[[task]]\nname = \"a\"\ncount = 9\n\
        program = [ { compute = \"8ms\" }, { sleep = \"1ms\" } ]\n\
        [[task]]\nname = \"b\"\nnice = 5\nprogram = [ { compute = [\"3ms\", \"9ms\"] } ]\n";

    fn table() -> Table {
        toml::from_str(WORK).unwrap()
    }

    #[test]
    fn a_file_is_read_back_as_it_was_written() {
        assert_eq!(toml::from_str::<Table>(&written(&table())).unwrap(), table());
    }

    #[test]
    fn only_what_the_symptom_needs_is_left() {
        // Planted: task a with three copies and its sleep.
        let shows = |it: &Table| {
            let tasks = it.get("task")?.as_array()?;
            let a = tasks.iter().find(|it| it.get("name").and_then(Value::as_str) == Some("a"))?;
            let sleeps = a.get("program")?.as_array()?.iter().any(|step| step.get("sleep").is_some());
            (sleeps && a.get("count")?.as_integer()? >= 3).then_some(Time(500_000))
        };
        let text = written(&reduce(table(), shows));
        let expected = "duration = \"8us\"\n\n[[task]]\ncount = 3\nname = \"a\"\nprogram = [{ sleep = \"8us\" }]\n";
        assert_eq!(text, expected, "times are halved down to the shortest");
    }
}
