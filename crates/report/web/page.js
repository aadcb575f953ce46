// Building blocks shared by all sections. Text reaches the page only as text nodes, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

/** An HTML element with attributes and children (elements or text). */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element with attributes and children. */
function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "colour") node.style.color = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return node;
}

/** A table. `head` is a list of header cells, `rows` of rows; the first cell of a row should be a row header. */
function table(caption, head, rows) {
  return el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
}

const headCell = (text, kind = "") => el("th", { scope: "col", class: kind }, text);

/** A box that scrolls sideways can be reached and scrolled with the keyboard. */
function putScrollable(box, name, content) {
  box.replaceChildren(content);
  const fit = () => {
    const wide = box.scrollWidth > box.clientWidth + 1;
    if (wide) fill(box, { tabindex: "0", role: "region", "aria-label": `${name}, a table that scrolls sideways` }, []);
    else for (const a of ["tabindex", "role", "aria-label"]) box.removeAttribute(a);
  };
  fit();
  box.resize?.disconnect();
  box.resize = new ResizeObserver(fit);
  box.resize.observe(box);
}

function fillSelect(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => el("option", { value }, text)));
  select.value = String(chosen);
}

/** The words for one row of the tables and for several: arms are the same work with changes. */
const rowWords = (report) => (report.details?.has_arms ? ["arm", "arms"] : ["policy", "policies"]);
const capital = (word) => word[0].toUpperCase() + word.slice(1);

const colourOf = (policy) => `var(--c${policy % 10})`;
const dashOf = (policy) => ["", "7 3", "2 3"][Math.floor(policy / 10) % 3];
/** A long name that may be broken behind its colons, commas and underscores. */
const breakable = (name) => name.split(/(?<=[:,_/])/).flatMap((piece, i) => (i ? [el("wbr"), piece] : [piece]));
const spaced = (name) => name.replaceAll("_", " ");
/** A metric's name for people, also of a family of metrics. */
function titleOf(report, name) {
  const of = (known) => report.details?.metrics?.find((m) => m.name === known)?.title;
  return of(name) || of(`${name}_p99`)?.replace("p99 ", "") || spaced(name);
}
/** The same with its identifier. */
const titled = (report, name) => (titleOf(report, name) === name ? name : `${titleOf(report, name)} (${name})`);
/** What intervals are over. */
const unitsOf = (report) => ((report.sampling ?? "runs") === "runs" ? "runs" : "recordings");

/** True for texts that match what was typed: a part of them, or /a regular expression/. */
function matcher(typed) {
  const wanted = typed.trim();
  const pattern = wanted.match(/^\/(.*?)\/?$/);
  if (pattern) {
    try {
      const expression = new RegExp(pattern[1], "i");
      return (text) => expression.test(text);
    } catch {
      return () => false;
    }
  }
  const lower = wanted.toLowerCase();
  return (text) => text.toLowerCase().includes(lower);
}

/** Offers bytes as a file. */
function save(name, type, text) {
  const link = el("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function saveCsv(name, rows) {
  const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  save(`${name}.csv`, "text/csv", `${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`);
}

const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "font-size", "font-family",
  "font-weight", "color", "opacity"];

/** Saves a drawing as it looks now, as an SVG file of its own. */
function saveSvg(name, drawing) {
  const copy = drawing.cloneNode(true);
  const [from, to] = [drawing, copy].map((node) => [node, ...node.querySelectorAll("*")]);
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    to[i].setAttribute("style", STYLED.map((key) => `${key}:${style.getPropertyValue(key)}`).join(";"));
  });
  const { width, height } = drawing.getBoundingClientRect();
  for (const [key, value] of [["xmlns", SVG], ["width", width], ["height", height]]) copy.setAttribute(key, value);
  save(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
}

/** Buttons under a picture. */
function offer(id, svgOf, rowsOf, name) {
  byId(id).replaceChildren(
    el("button", { type: "button", onclick: () => saveSvg(name(), svgOf()) }, "Save as SVG"),
    el("button", { type: "button", onclick: () => saveCsv(name(), rowsOf()) }, "Save as CSV"));
}
