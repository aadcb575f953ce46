//! What holds of every page, whatever text came into it: known elements that close each other in order, attributes in
//! quotes, no reference that loads anything, data that are JSON, and nothing of [`PLANTED`] as markup.

/// Text that adds an element, an attribute, a reference or a script wherever an escape is left out.
pub const PLANTED: &str = "\"zz='1'<zz>&zz;</script></title></style><!--]]>";

/// Elements of pages and of the drawings in them.
const ELEMENTS: &str = " html head meta link title style body a header main nav footer section div p span b i br h1 h2 \
    h3 h4 ul ol li dl dt dd kbd code pre label select option optgroup input datalist button output noscript details \
    summary figure figcaption table caption thead tbody tr th td svg g path rect circle line polyline polygon text \
    tspan defs pattern clipPath script template ";
/// Elements without an end.
const VOID: [&str; 5] = ["meta", "link", "br", "input", "col"];
/// Characters as pages escape them.
const REFERENCES: [&str; 6] = ["amp;", "lt;", "gt;", "quot;", "#39;", "nbsp;"];

/// Reads a whole page.
///
/// # Errors
/// The first thing that is wrong, in a sentence.
pub fn check(page: &str) -> Result<(), String> {
    let (mut rest, mut open) = (page, Vec::new());
    while let Some((text, markup)) = rest.split_once('<') {
        references(text)?;
        rest = element(markup, &mut open).map_err(|why| format!("{why}: <{}", beginning(markup)))?;
    }
    references(rest)?;
    open.pop().map_or(Ok(()), |last| Err(format!("<{last}> does not end")))
}

fn beginning(text: &str) -> String {
    text.chars().take(80).collect()
}

fn references(text: &str) -> Result<(), String> {
    match text.split('&').skip(1).find(|it| !REFERENCES.iter().any(|known| it.starts_with(known))) {
        Some(unknown) => Err(format!("an & is not escaped: &{}", beginning(unknown))),
        None => Ok(()),
    }
}

/// Reads a tag, and the content if that is a script or a style; returns what is behind.
fn element<'a>(markup: &'a str, open: &mut Vec<&'a str>) -> Result<&'a str, String> {
    if let Some(rest) = markup.strip_prefix("!DOCTYPE html>") {
        return Ok(rest);
    }
    if let Some(closing) = markup.strip_prefix('/') {
        let (name, rest) = closing.split_once('>').ok_or("a tag does not end")?;
        return if open.pop() == Some(name) { Ok(rest) } else { Err("another element is to end here".into()) };
    }
    let length = markup.find(|it: char| !it.is_ascii_alphanumeric()).ok_or("a tag does not end")?;
    let (name, mut rest) = markup.split_at(length);
    if !ELEMENTS.contains(&format!(" {name} ")) {
        return Err("no element of ours".into());
    }
    let mut is_json = false;
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix("/>") {
            return Ok(behind);
        }
        if let Some(behind) = rest.strip_prefix('>') {
            rest = behind;
            break;
        }
        is_json |= rest.starts_with("type=\"application/json\"");
        rest = attribute(rest)?;
    }
    match name {
        "script" | "style" => content(name, is_json, rest),
        _ if VOID.contains(&name) => Ok(rest),
        _ => {
            open.push(name);
            Ok(rest)
        }
    }
}

/// Reads an attribute with its value.
fn attribute(text: &str) -> Result<&str, String> {
    let length = text.find(|it: char| !(it.is_ascii_alphanumeric() || "-:".contains(it))).unwrap_or(0);
    let (name, rest) = text.split_at(length);
    if name.is_empty() || name.starts_with("on") || ["zz", "src", "srcset", "srcdoc", "action"].contains(&name) {
        return Err(format!("no attribute of ours: {}", beginning(text)));
    }
    let Some(value) = rest.strip_prefix('=') else { return Ok(rest) };
    let value = value.strip_prefix('"').ok_or("a value without quotes")?;
    let (value, rest) = value.split_once('"').ok_or("a value does not end")?;
    references(value)?;
    match () {
        () if value.contains('<') => Err(format!("a < is not escaped: {}", beginning(value))),
        () if name.ends_with("href") && !value.starts_with('#') && !value.starts_with("data:") => {
            Err(format!("it refers to {}", beginning(value)))
        }
        () if !rest.starts_with([' ', '>', '/', '\n']) => Err("a value is not followed by anything".into()),
        () => Ok(rest),
    }
}

/// Reads the content of a script or a style, and its end.
fn content<'a>(name: &str, is_json: bool, text: &'a str) -> Result<&'a str, String> {
    let (inside, rest) = text.split_once(&format!("</{name}>")).ok_or("it does not end")?;
    if is_json {
        if inside.contains('<') {
            return Err("data hold a <".into());
        }
        let read: Result<serde_json::Value, _> = serde_json::from_str(inside);
        return read.map(|_| rest).map_err(|why| format!("data are not JSON: {why}"));
    }
    if inside.contains("zz='1'") { Err("text from outside is in a script or a style".into()) } else { Ok(rest) }
}
