//! A report as one self-contained HTML file.
//!
//! A content security policy in the page forbids all requests, and all scripts but the page's own (by hash). Names of
//! tasks, files and policies enter as JSON and are inserted as text only.

use crate::model::{Report, Trust};
use crate::pack;
use crate::shell::{self, Mood, escape, without_markup};
use crate::timeline::Timeline;

const PAGE: &str = include_str!("../web/page.html");
/// The script's parts, in the order in which they build on each other.
const SCRIPTS: [&str; 10] = [
    include_str!("../web/page.js"),
    include_str!("../web/figure.js"),
    include_str!("../web/ranking.js"),
    include_str!("../web/curves.js"),
    include_str!("../web/tasks.js"),
    include_str!("../web/schedule.js"),
    include_str!("../web/timeline.js"),
    include_str!("../web/timeline_draw.js"),
    include_str!("../web/timeline_input.js"),
    include_str!("../web/timeline_chain.js"),
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
            let hash = shell::script_hash(script);
            shell::head(&report.input.name, report.details.command.as_deref().unwrap_or_default(), Some(&hash))
        }
        "mood" => mood(report).class().into(),
        "ranked-by" => escape(report.ranked_by().unwrap_or_default()),
        "conclusion" => escape(&shell::unbroken(&report.conclusion())),
        "commands" if report.commands().is_empty() => String::new(),
        "commands" => format!("<pre class=\"commands\" tabindex=\"0\">{}</pre>", escape(&report.commands())),
        "script" => script.into(),
        "data" => embedded(report, timelines),
        _ => panic!("the template has a mark \"{mark}\" that nothing fills"),
    }
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
        assert!(page.contains(&format!("script-src '{}'", shell::script_hash(script))));
    }

    #[test]
    fn the_data_read_back_as_the_report() {
        let (report, _) = hostile();
        let page = render(&report, &[]);
        let data = page.split("id=\"report\">").nth(1).unwrap().split("</script>").next().unwrap();
        assert_eq!(crate::json::read(data).unwrap(), report);
    }
}
