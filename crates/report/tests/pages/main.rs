//! Pages let no markup in. `markup` holds the rules, which the fuzz target `pages` checks, too; here each escape is
//! left out in turn, and must be found.

mod markup;

use goodness_report::model::{Details, Input, MetricSummary, PolicyReport, TaskReport};
use goodness_report::shell::{self, Cell, Mood, Shell};
use goodness_report::timeline::TimelineTask;
use goodness_report::{Report, Timeline, chart, html};
use markup::{PLANTED, check};

/// A page of the parts that most pages are made of, with hostile text in each.
fn of_parts() -> String {
    let mut page = Shell::new("why", PLANTED, PLANTED).headline(PLANTED, Mood::Sure).lead(PLANTED);
    let lines = vec![chart::Line { name: PLANTED.into(), ..chart::Line::default() }];
    let chart = chart::Chart { title: PLANTED.into(), x: PLANTED.into(), y: PLANTED.into(), lines, doubling: false };
    page.section("Drawn", &shell::chart(&chart));
    page.section("Told", &(shell::paragraph(PLANTED) + &shell::list(&[PLANTED.into()])));
    page.folded(PLANTED, &shell::table(PLANTED, &[PLANTED], &[vec![Cell::text(PLANTED), Cell::number(PLANTED)]]));
    page.script("", &format!("[{:?}]", "</script><zz>")).finish()
}

fn of_a_report() -> String {
    let name = || PLANTED.to_string();
    let tasks = vec![TaskReport { name: name(), ..TaskReport::default() }];
    let metrics = vec![MetricSummary { name: name(), unit: name(), ..MetricSummary::default() }];
    let policy = PolicyReport { name: name(), label: name(), tasks, metrics, ..PolicyReport::default() };
    let details = Details { command: Some(name()), ranked_by: Some(name()), ..Details::default() };
    let input = Input { name: name(), ..Input::default() };
    let report = Report { input, details, policies: vec![policy], ..Report::default() };
    let tasks = vec![TimelineTask { name: name(), ..TimelineTask::default() }];
    html::render(&report, &[Timeline { tasks, ..Timeline::default() }])
}

#[test]
fn hostile_text_is_no_markup() {
    for page in [of_parts(), of_a_report()] {
        assert_eq!(check(&page), Ok(()), "{page}");
    }
}

#[test]
fn each_escape_left_out_is_found() {
    for (page, fewest) in [(of_parts(), 100), (of_a_report(), 20)] {
        let own_script = page.find("<script type=\"module\">").expect("a script");
        let mut left_out = 0;
        for (escaped, plain) in [("&lt;", "<"), ("&amp;", "&"), ("\\u003c", "<"), ("&quot;", "\"")] {
            for (at, _) in page.match_indices(escaped) {
                let is_inside_a_tag = page[..at].rfind('<') > page[..at].rfind('>');
                let is_in_our_script = at > own_script && page[own_script..at].matches("</script>").count() == 0;
                if is_in_our_script || plain == "\"" && !is_inside_a_tag {
                    continue;
                }
                let wrong = format!("{}{plain}{}", &page[..at], &page[at + escaped.len()..]);
                assert!(check(&wrong).is_err(), "not found: {}", &wrong[at.saturating_sub(80)..at + 20]);
                left_out += 1;
            }
        }
        assert!(left_out >= fewest, "{left_out} escapes");
    }
}

#[test]
fn planted_mistakes_are_found() {
    let page = |body: &str| format!("<!DOCTYPE html>\n<html><body>{body}</body></html>");
    assert_eq!(check(&page("<p class=\"a\">1 &lt; 2</p>")), Ok(()));
    let wrong = [
        "<zz>",
        "<p>",
        "</p>",
        "<p class=\"a\" zz=\"1\"></p>",
        "<p onclick=\"x\"></p>",
        "<p class=a></p>",
        "<!-- -->",
        "&zz;",
        "<a href=\"https://example.org\">x</a>",
        "<script type=\"application/json\">{</script>",
        "<script type=\"application/json\">\"<\"</script>",
        "<script>\"zz='1'</script>",
    ];
    for body in wrong {
        assert!(check(&page(body)).is_err(), "{body}");
    }
}
