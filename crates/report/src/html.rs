//! A report as one self-contained HTML file.
//!
//! A content security policy in the page forbids all requests, and all scripts but the page's own (by hash). Names of
//! tasks, files and policies enter as JSON and are inserted as text only.

use crate::model::{Report, Trust};
use crate::pack;
use crate::shell::{self, Mood, escape};
use crate::timeline::Timeline;
use sha2::{Digest, Sha256};

const PAGE: &str = include_str!("../web/page.html");
/// Style of pages without charts that are drawn by a script.
const PLAIN_STYLE: &str = include_str!("../web/plain.css");
/// The script's parts, in the order in which they build on each other.
const SCRIPTS: [&str; 9] = [
    include_str!("../web/page.js"),
    include_str!("../web/figure.js"),
    include_str!("../web/ranking.js"),
    include_str!("../web/curves.js"),
    include_str!("../web/tasks.js"),
    include_str!("../web/schedule.js"),
    include_str!("../web/timeline.js"),
    include_str!("../web/timeline_draw.js"),
    include_str!("../web/timeline_input.js"),
];
const MAIN: &str = include_str!("../web/main.js");

/// The HTML page. `timelines` may be given for none, some or all of the policies.
///
/// # Panics
/// The page's template names a missing part; its tests rule this out.
#[must_use]
pub fn render(report: &Report, timelines: &[Timeline]) -> String {
    let script = SCRIPTS.join("\n") + "\n" + MAIN;
    let mut page = String::new();
    let mut rest = PAGE;
    // One pass over the template: what is put in is never searched for marks.
    while let Some((before, after)) = rest.split_once("{{") {
        let (mark, after) = after.split_once("}}").expect("a mark of the template is closed");
        page.push_str(before);
        page.push_str(&part(mark, report, timelines, &script));
        rest = after;
    }
    page.push_str(rest);
    page
}

fn part(mark: &str, report: &Report, timelines: &[Timeline], script: &str) -> String {
    match mark {
        "head" => {
            let hash = format!("sha256-{}", pack::base64(&Sha256::digest(script.as_bytes())));
            shell::head(&report.input.name, report.details.command.as_deref().unwrap_or_default(), Some(&hash))
        }
        "mood" => mood(report).class().into(),
        "ranked-by" => escape(report.ranked_by().unwrap_or_default()),
        "conclusion" => escape(&unbroken(&report.conclusion())),
        "commands" if report.commands().is_empty() => String::new(),
        "commands" => format!("<pre class=\"commands\" tabindex=\"0\">{}</pre>", escape(&report.commands())),
        "script" => script.into(),
        "data" => embedded(report, timelines),
        _ => panic!("the template has a mark \"{mark}\" that nothing fills"),
    }
}

/// `text` with figures that are not broken before their units.
fn unbroken(text: &str) -> String {
    let units = ["ns", "µs", "ms", "s", "%", "B", "kB", "MB", "GB"];
    let mut out = String::new();
    for word in text.split(' ') {
        let bare = word.trim_end_matches(|c: char| !(c.is_alphabetic() || c == '%'));
        let is_unit = out.ends_with(|c: char| c.is_ascii_digit()) && units.contains(&bare);
        if !out.is_empty() {
            out.push(if is_unit { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

/// How the conclusion is to be read.
fn mood(report: &Report) -> Mood {
    match report.trust.as_ref().is_some_and(Trust::is_untrusted) {
        true => Mood::Untrusted,
        false if report.winner().is_none() && report.is_undecided() => Mood::Open,
        false => Mood::Sure,
    }
}

fn embedded(report: &Report, timelines: &[Timeline]) -> String {
    let report = serde_json::to_string(&report.without_runs()).expect("a report has string keys only");
    let mut scripts = format!("<script type=\"application/json\" id=\"report\">{}</script>", without_markup(&report));
    for timeline in timelines {
        let packed = serde_json::to_string(&pack::pack(timeline)).expect("a timeline has string keys only");
        scripts.push_str(&format!(
            "\n<script type=\"application/json\" data-timeline=\"{}\">{}</script>",
            timeline.policy,
            without_markup(&packed)
        ));
    }
    scripts
}

/// JSON that cannot end its `<script>` element: escapes `<`, which occurs only inside strings.
pub(crate) fn without_markup(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// The beginning of a page in the plain style, up to its body. `title` is escaped; without a script none may run.
pub(crate) fn plain_head(title: &str, script: Option<&str>) -> String {
    let hash = script.map(|it| pack::base64(&Sha256::digest(it.as_bytes())));
    let script = hash.map(|hash| format!("; script-src 'sha256-{hash}'")).unwrap_or_default();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src \
         data:{script}\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta \
         name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style>\n{PLAIN_STYLE}</style>\n</head>\n<body>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Better, Input, MetricSummary, PolicyReport, TaskReport};
    use crate::timeline::TimelineTask;

    const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{data}}";

    fn hostile() -> (Report, Timeline) {
        let task = TaskReport { name: HOSTILE.into(), ..TaskReport::default() };
        let metric =
            MetricSummary { name: HOSTILE.into(), better: Better::Lower, value: Some(1.0), ..Default::default() };
        let policy =
            PolicyReport { name: HOSTILE.into(), tasks: vec![task], metrics: vec![metric], ..PolicyReport::default() };
        let input = Input { name: HOSTILE.into(), ..Input::default() };
        let timeline = Timeline {
            tasks: vec![TimelineTask { name: HOSTILE.into(), id: 1, ..TimelineTask::default() }],
            ..Timeline::default()
        };
        (Report { input, policies: vec![policy], ..Report::default() }, timeline)
    }

    #[test]
    fn text_from_outside_adds_no_element_to_the_page() {
        let (report, timeline) = hostile();
        let page = render(&report, &[timeline]);
        assert!(!page.contains("<img"), "an element came in through a name");
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(page.matches("</script>").count(), 3, "the report, one timeline, the script");
        assert!(page.contains("<title>&lt;/script&gt;"));
    }

    #[test]
    fn a_figure_and_its_unit_stay_on_one_line() {
        assert_eq!(
            unbroken("from 5.8 ms (2.2 to 4.4 ms); 8 %: so"),
            "from 5.8\u{a0}ms (2.2 to 4.4\u{a0}ms); 8\u{a0}%: so"
        );
        assert_eq!(unbroken("of 6 arms 2 s"), "of 6 arms 2\u{a0}s");
    }

    #[test]
    fn what_is_put_in_is_not_searched_for_marks() {
        let (report, timeline) = hostile();
        let page = render(&report, &[timeline]);
        assert_eq!(page.matches("id=\"report\"").count(), 1);
        assert!(page.contains("{{data}}"), "the name keeps its braces");
    }

    #[test]
    fn the_page_names_no_address_to_load_from() {
        let page = render(&Report::default(), &[]);
        for forbidden in ["src=", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "import(", "https://"] {
            assert!(!page.contains(forbidden), "the page holds {forbidden}");
        }
        assert_eq!(page.matches("http://").count(), 1, "the SVG name space is a name, not an address");
    }

    #[test]
    fn the_content_policy_allows_the_script_that_is_in_the_page() {
        let page = render(&Report::default(), &[]);
        let script = page.split("<script type=\"module\">").nth(1).unwrap().split("</script>").next().unwrap();
        let hash = pack::base64(&Sha256::digest(script.as_bytes()));
        assert!(page.contains(&format!("script-src 'sha256-{hash}'")));
    }

    #[test]
    fn the_data_read_back_as_the_report() {
        let (report, _) = hostile();
        let page = render(&report, &[]);
        let data = page.split("id=\"report\">").nth(1).unwrap().split("</script>").next().unwrap();
        assert_eq!(crate::json::read(data).unwrap(), report);
    }
}
