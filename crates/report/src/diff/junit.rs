//! The gates as JUnit XML, which CI systems show.

use super::{Diff, Gate, Outcome};
use crate::figure::printable;
use std::fmt::Write;

/// One test case for each gate: a condition that is met is a failure, one that is not decided an error.
#[must_use]
pub fn render(diff: &Diff) -> String {
    let count = |outcome| diff.gates.iter().filter(|gate| gate.outcome == outcome).count();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuite name=\"goodness diff\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">",
        diff.gates.len(),
        count(Outcome::Fails),
        count(Outcome::Inconclusive)
    );
    let class = escaped(&format!("{} against {}", diff.b.label, diff.a.label));
    diff.gates.iter().for_each(|gate| text.push_str(&case(gate, &class)));
    text.push_str("</testsuite>\n");
    text
}

fn case(gate: &Gate, class: &str) -> String {
    let head = format!("  <testcase classname=\"{class}\" name=\"{}\"", escaped(&gate.condition));
    let because = escaped(&gate.because);
    match gate.outcome {
        Outcome::Holds => format!("{head}/>\n"),
        Outcome::Fails => format!("{head}>\n    <failure message=\"{because}\"/>\n  </testcase>\n"),
        Outcome::Inconclusive => {
            format!("{head}>\n    <error type=\"inconclusive\" message=\"{because}\"/>\n  </testcase>\n")
        }
    }
}

fn escaped(text: &str) -> String {
    let text = printable(text).replace('&', "&amp;").replace('"', "&quot;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Kind, Side};

    #[test]
    fn a_failure_and_an_undecided_gate_are_counted_and_names_are_escaped() {
        let gate = |outcome| Gate { condition: "a > +5%".into(), outcome, because: "a \"changed\"".into() };
        let mut diff = Diff::new(Kind::Arms, Side::default(), Side { label: "x & y".into(), ..Side::default() });
        diff.gates = [Outcome::Holds, Outcome::Fails, Outcome::Inconclusive].map(gate).to_vec();
        let text = render(&diff);
        assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"1\""), "{text}");
        assert!(text.contains("name=\"a &gt; +5%\"/>") && text.contains("classname=\"x &amp; y against \""), "{text}");
        assert!(text.contains("<failure message=\"a &quot;changed&quot;\"/>"), "{text}");
    }
}
