//! The design that all pages share: head, header, sections that fold, tables, footer.
//!
//! A page made of these parts loads nothing, and texts from outside are escaped where they come in.

pub use crate::chart::escape;
use crate::chart::short;
use crate::chart::{Chart, STYLE as CHART_STYLE};
use crate::pack;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The style of all pages, light, dark and in print.
pub const STYLE: &str = include_str!("../web/style.css");
/// Script hash of pages without a script.
const NO_SCRIPT: &str = "'none'";

/// A page under construction.
#[derive(Clone, Debug)]
pub struct Shell {
    /// Kind of page: `race`.
    kind: &'static str,
    title: String,
    command: String,
    /// Facts under the title.
    lead: String,
    /// The answer, with how far it can be trusted.
    headline: String,
    mood: Mood,
    /// Sections as HTML with their ids and headings.
    sections: Vec<(String, String, String)>,
    /// The only script, and its data as JSON.
    script: Option<(&'static str, String)>,
}

/// How a headline is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    /// An answer.
    #[default]
    Sure,
    /// No answer yet.
    Open,
    /// Not to be relied on.
    Untrusted,
}

impl Mood {
    /// The class of the headline.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Mood::Sure => "sure",
            Mood::Open => "open",
            Mood::Untrusted => "untrusted",
        }
    }
}

/// The tag by which a page tells the command that made it.
#[must_use]
pub fn command_mark(command: &str) -> String {
    format!("<meta name=\"goodness-command\" content=\"{}\">", escape(command))
}

/// The head of a page. `script` is the hash of its only script, if it has one.
#[must_use]
pub fn head(title: &str, command: &str, script: Option<&str>) -> String {
    let script = script.map_or_else(|| NO_SCRIPT.into(), |hash| format!("'{hash}'"));
    format!(
        "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:; script-src {script}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"goodness {}\">\n{}\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{} – goodness</title>\n<style>\n{STYLE}</style>",
        env!("CARGO_PKG_VERSION"),
        command_mark(command),
        escape(title)
    )
}

impl Shell {
    /// A page of this kind about `title`, made by `command`.
    #[must_use]
    pub fn new(kind: &'static str, title: &str, command: &str) -> Shell {
        Shell {
            kind,
            title: title.into(),
            command: command.into(),
            lead: String::new(),
            headline: String::new(),
            mood: Mood::default(),
            sections: Vec::new(),
            script: None,
        }
    }

    /// Adds a script of the program's own; it finds `json` in the element `data`.
    #[must_use]
    pub fn script(mut self, script: &'static str, json: &str) -> Shell {
        self.script = Some((script, without_markup(json)));
        self
    }

    /// Sets the answer.
    #[must_use]
    pub fn headline(mut self, sentence: &str, mood: Mood) -> Shell {
        self.headline = sentence.into();
        self.mood = mood;
        self
    }

    /// Sets the facts under the title, as text.
    #[must_use]
    pub fn lead(mut self, text: &str) -> Shell {
        self.lead = text.into();
        self
    }

    /// Adds a section of HTML that is always open.
    pub fn section(&mut self, heading: &str, html: &str) {
        let id: String =
            heading.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
        self.sections.push((id, heading.into(), html.into()));
    }

    /// Adds a section of HTML that opens on demand.
    pub fn folded(&mut self, heading: &str, html: &str) {
        let fold = fold(heading, html, false);
        self.sections.push((String::new(), String::new(), fold));
    }

    /// The page.
    #[must_use]
    pub fn finish(self) -> String {
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{}\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header class=\"page\">\n\
             <p class=\"mark\">goodness <span>{}</span></p>\n<h1>{}</h1>\n",
            head(&self.title, &self.command, self.script.as_ref().map(|(script, _)| script_hash(script)).as_deref()),
            escape(self.kind),
            escape(&self.title)
        );
        if !self.headline.is_empty() {
            let (class, text) = (self.mood.class(), escape(&unbroken(&self.headline)));
            let _ = writeln!(page, "<p class=\"conclusion {class}\" id=\"conclusion\">{text}</p>");
        }
        if !self.lead.is_empty() {
            let _ = writeln!(page, "<p class=\"lead\">{}</p>", escape(&unbroken(&self.lead)));
        }
        page.push_str("</header>\n<main id=\"main\" tabindex=\"-1\">\n");
        for (id, heading, html) in &self.sections {
            let heading = escape(heading);
            let _ = match id.is_empty() {
                true => writeln!(page, "<section class=\"fold\">\n{html}\n</section>"),
                false => writeln!(
                    page,
                    "<section id=\"{id}\" aria-labelledby=\"h-{id}\">\n<h2 id=\"h-{id}\">{heading}</h2>\n{html}\n\
                     </section>"
                ),
            };
        }
        let again = format!(
            "<pre tabindex=\"0\" role=\"region\" aria-label=\"Command\"><code>{}</code></pre>",
            escape(&self.command)
        );
        if !self.command.is_empty() {
            let _ = writeln!(page, "<section>\n<h2>Run it again</h2>\n{again}\n</section>");
        }
        let _ = writeln!(
            page,
            "</main>\n<footer class=\"page\"><p>Made by goodness {}. This file is complete: it loads \
             nothing.</p></footer>",
            env!("CARGO_PKG_VERSION")
        );
        if let Some((script, json)) = &self.script {
            let _ = writeln!(page, "<script type=\"application/json\" id=\"data\">{json}</script>");
            let _ = writeln!(page, "<script type=\"module\">{script}</script>");
        }
        page + "</body>\n</html>\n"
    }
}

/// `text` with figures that are not broken before their units.
pub(crate) fn unbroken(text: &str) -> String {
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

/// HTML that opens on demand, under `summary`.
#[must_use]
pub fn fold(summary: &str, html: &str, is_open: bool) -> String {
    let open = if is_open { " open" } else { "" };
    format!("<details{open}><summary>{}</summary>\n{html}\n</details>", escape(summary))
}

/// A paragraph.
#[must_use]
pub fn paragraph(text: &str) -> String {
    format!("<p class=\"about\">{}</p>", escape(text))
}

/// Sentences as a list.
#[must_use]
pub fn list(sentences: &[String]) -> String {
    let items: String = sentences.iter().map(|it| format!("<li>{}</li>", escape(it))).collect();
    format!("<ul class=\"plain\">{items}</ul>")
}

/// JSON that cannot end its `<script>` element: escapes `<`, which occurs only inside strings.
pub(crate) fn without_markup(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// The hash by which the content security policy knows a script.
pub(crate) fn script_hash(script: &str) -> String {
    format!("sha256-{}", pack::base64(&Sha256::digest(script.as_bytes())))
}

/// A figure as wide as the window with its drawing, an SVG element, which can be saved as a file of this name.
#[must_use]
pub fn figure(svg: &str, name: &str) -> String {
    framed(svg, name, "wide")
}

/// The same as wide as the text: for drawings of bars and rows.
#[must_use]
pub fn picture(svg: &str, name: &str) -> String {
    framed(svg, name, "picture")
}

fn framed(svg: &str, name: &str, class: &str) -> String {
    let alone = svg.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    let alone = alone.replacen('>', &format!("><style>{CHART_STYLE}</style>"), 1);
    let file: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let coded = pack::base64(alone.as_bytes());
    format!(
        "<figure class=\"{class}\">{svg}<figcaption><a download=\"{0}.svg\" \
         href=\"data:image/svg+xml;base64,{coded}\">Save as SVG</a></figcaption></figure>",
        escape(&file)
    )
}

/// A chart, which can be saved and opened as a table.
#[must_use]
pub fn chart(chart: &Chart) -> String {
    let point = |line: &str, it: &crate::chart::Point| {
        let ends = it.ci95.map_or_else(String::new, |[low, high]| format!("{}…{}", short(low), short(high)));
        vec![Cell::text(line), Cell::number(&short(it.x)), Cell::number(&short(it.y)), Cell::number(&ends)]
    };
    let rows: Vec<Vec<Cell>> =
        chart.lines.iter().flat_map(|line| line.points.iter().map(|it| point(&line.name, it))).collect();
    let data = table(&chart.title, &["line", &chart.x, &chart.y, "interval"], &rows);
    figure(&chart.svg(), &chart.title) + &fold("The same as a table", &data, false)
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    html: String,
    class: &'static str,
}

impl Cell {
    /// Text.
    #[must_use]
    pub fn text(text: &str) -> Cell {
        Cell { html: escape(text), class: "" }
    }

    /// A figure, aligned to the right.
    #[must_use]
    pub fn number(text: &str) -> Cell {
        Cell { html: escape(text), class: "number" }
    }

    /// Text of a class of the style: `better`, `worse`, `unsure`, `quiet`, `verdict`.
    #[must_use]
    pub fn of_class(text: &str, class: &'static str) -> Cell {
        Cell { html: escape(text), class }
    }

    /// HTML that is known to be safe, such as a drawing.
    #[must_use]
    pub fn html(html: String, class: &'static str) -> Cell {
        Cell { html, class }
    }
}

/// A table that scrolls sideways where it is too wide. The first cell of each row is its heading; a column of numbers
/// or drawings is known by its first row.
#[must_use]
pub fn table(caption: &str, heads: &[&str], rows: &[Vec<Cell>]) -> String {
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>\
         <thead><tr>",
        escape(caption)
    );
    for (column, head) in heads.iter().enumerate() {
        let class = match rows.first().and_then(|row| row.get(column)).map_or("", |cell| cell.class) {
            "number" => " class=\"number\"",
            "plot" => " class=\"plot\"",
            _ => "",
        };
        let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escape(head));
    }
    html.push_str("</tr></thead><tbody>\n");
    for row in rows {
        html.push_str("<tr>");
        for (column, Cell { html: content, class }) in row.iter().enumerate() {
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            let _ = match column {
                0 => write!(html, "<th scope=\"row\"{class}>{content}</th>"),
                _ => write!(html, "<td{class}>{content}</td>"),
            };
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_its_answer_first_escapes_what_comes_in_and_loads_nothing() {
        let hostile = "</title><script>x</script>";
        let mut shell = Shell::new("race", hostile, hostile).headline(hostile, Mood::Untrusted).lead(hostile);
        shell.section(hostile, &table(hostile, &["arm", "value"], &[vec![Cell::text(hostile), Cell::number("3 ms")]]));
        shell.folded(hostile, &paragraph(hostile));
        let page = shell.finish();
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("https://"));
        assert!(page.contains("script-src 'none'") && page.contains("<details><summary>&lt;/title"));
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        assert!(place("class=\"conclusion untrusted\"") < place("<table>"));
        assert!(page.contains(&command_mark(hostile)), "a page tells the command that made it");
        assert!(!page.contains(&command_mark("goodness race other")));
    }

    #[test]
    fn a_figure_and_its_unit_stay_on_one_line() {
        assert_eq!(
            unbroken("from 5.8 ms (2.2 to 4.4 ms); 8 %: so"),
            "from 5.8\u{a0}ms (2.2 to 4.4\u{a0}ms); 8\u{a0}%: so"
        );
        assert_eq!(unbroken("of 6 arms 2 s"), "of 6 arms 2\u{a0}s");
    }
}
