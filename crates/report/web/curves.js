// Distributions as curves: x is the value (logarithmic), y the share of observations that are no larger.
// A cursor at one quantile reads all curves at once, with pointer or arrow keys.

const CURVE = { width: 960, height: 340, left: 54, right: 14, top: 10, bottom: 34 };
const BODY_MARKS = [0, 0.25, 0.5, 0.75, 1];
const TAIL_MARKS = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
const TABLE_QUANTILES = [0.5, 0.9, 0.95, 0.99, 0.999, 1];

const quantileName = (q) => (q === 0 ? "min" : q === 1 ? "max" : `p${Number((q * 100).toPrecision(7))}`);

/** The value of a curve at a quantile: between two known points, on the line between them. */
function curveValue(points, q) {
  const i = points.findIndex(([x]) => x >= q);
  if (i < 0) return points.at(-1)?.[1] ?? null;
  if (i === 0 || points[i][0] === q) return points[i][1];
  const [[q0, v0], [q1, v1]] = [points[i - 1], points[i]];
  return v0 + ((v1 - v0) * (q - q0)) / (q1 - q0);
}

class Curves {
  constructor(report, labels) {
    Object.assign(this, { report, labels, hidden: new Set(), cursor: 0.99, scale: "tail" });
    const names = [...new Set(report.policies.flatMap((p) => (p.distributions ?? []).map((d) => d.metric)))];
    fillSelect(byId("curve-metric"), names.map((n) => [n, titleOf(report, n)]),
      names.find((n) => rankedBy(report)?.startsWith(n)) ?? names[0]);
    offer("curve-save", () => this.frame.firstChild, () => this.rows(),
      () => `distribution-${byId("curve-metric").value}`);
    byId("curve-metric").addEventListener("change", () => this.draw());
    byId("curve-scale").addEventListener("change", (e) => { this.scale = e.target.value; this.draw(); });
    this.frame = el("div", { tabindex: "0", role: "slider", "aria-label": "Quantile to read", "aria-valuemin": "0",
      "aria-valuemax": "100" });
    this.frame.addEventListener("keydown", (e) => this.key(e));
    this.frame.addEventListener("pointermove", (e) => this.point(e));
    byId("curve-chart").append(this.frame);
    new ResizeObserver(() => this.draw()).observe(byId("curve-chart"));
    this.drawLegend();
  }

  curves() {
    const name = byId("curve-metric").value;
    return this.report.policies.flatMap((p, index) => {
      const found = (p.distributions ?? []).find((d) => d.metric === name && d.quantiles.length);
      return found ? [{ index, ...found }] : [];
    });
  }

  shown() { return this.curves().filter((c) => !this.hidden.has(c.index)); }

  drawLegend() {
    byId("curve-legend").replaceChildren(...this.curves().map(({ index }) => el("button", {
      type: "button", "aria-pressed": String(!this.hidden.has(index)),
      onclick: (e) => {
        if (!this.hidden.delete(index)) this.hidden.add(index);
        e.currentTarget.setAttribute("aria-pressed", String(!this.hidden.has(index)));
        this.draw();
      },
    }, this.sample(index), this.labels[index])));
  }

  sample(index) {
    const line = svg("line", { x1: 0, x2: 22, y1: 4, y2: 4, "stroke-width": 2.5, "stroke-dasharray": dashOf(index) });
    line.style.stroke = colourOf(index);
    return svg("svg", { viewBox: "0 0 22 8", "aria-hidden": "true", focusable: "false" }, line);
  }

  /** Height of a quantile: linear, or by the number of nines. */
  rise(q) {
    if (this.scale === "body") return q;
    return Math.min(1, -Math.log10(Math.max(1 - q, 10 ** -this.nines)) / this.nines);
  }

  unrise(r) { return this.scale === "body" ? r : 1 - 10 ** (-this.nines * r); }

  /** A curve up to its largest observation, which is one of `samples`. */
  points({ quantiles, samples }) {
    if (this.scale === "body") return quantiles;
    const last = 1 - 1 / Math.max(2, samples);
    const [, largest] = quantiles.at(-1);
    return [...quantiles.filter(([q]) => q < last), [last, largest]];
  }

  /** Points of the curves, for a file. */
  rows() {
    const points = (c) => c.quantiles.map(([q, v]) => [this.labels[c.index], String(q), String(v)]);
    const head = [rowWords(this.report)[0], "quantile", `value in ${this.curves()[0]?.unit}`];
    return [head, ...this.curves().flatMap(points)];
  }

  measure() {
    const curves = this.shown();
    // The axis has as many nines as the curve with most observations.
    const most = Math.max(100, ...curves.map((c) => c.samples));
    this.nines = Math.min(6, Math.max(2, Math.ceil(Math.log10(most))));
    const positive = curves.flatMap((c) => c.quantiles.map(([, v]) => v)).filter((v) => v > 0);
    const low = Math.log10(Math.max(1, Math.min(...positive, Infinity)));
    const high = Math.log10(Math.max(...positive, 10));
    const width = Math.max(280, this.frame.clientWidth);
    const inner = { w: width - CURVE.left - CURVE.right, h: CURVE.height - CURVE.top - CURVE.bottom };
    const floor = Number.isFinite(low) ? Math.floor(low * 2) / 2 : 0;
    return {
      curves, width, inner, floor, ceil: Math.max(floor + 0.5, Math.ceil(high * 10) / 10),
      x(v) {
        const log = Math.log10(Math.max(v, 10 ** this.floor));
        return CURVE.left + (inner.w * (log - this.floor)) / (this.ceil - this.floor);
      },
      y: (q) => CURVE.top + inner.h * (1 - this.rise(q)),
    };
  }

  draw() {
    const m = (this.m = this.measure());
    const unit = m.curves[0]?.unit ?? "ns";
    const isOnAxis = (q) => 1 - q >= 10 ** -this.nines * 0.999;
    const marks = this.scale === "body" ? BODY_MARKS : TAIL_MARKS.filter(isOnAxis);
    const parts = [];
    for (const q of marks) {
      parts.push(svg("line", { class: "grid", x1: CURVE.left, x2: m.width - CURVE.right, y1: m.y(q), y2: m.y(q) }));
      parts.push(svg("text", { x: CURVE.left - 8, y: m.y(q) + 4, "text-anchor": "end" }, quantileName(q)));
    }
    for (let p = Math.ceil(m.floor); p <= m.ceil; p++) {
      const x = m.x(10 ** p);
      parts.push(svg("line", { class: "grid", x1: x, x2: x, y1: CURVE.top, y2: CURVE.height - CURVE.bottom }));
      parts.push(svg("text", { x, y: CURVE.height - CURVE.bottom + 18, "text-anchor": "middle" }, show(10 ** p, unit)));
    }
    for (const c of m.curves) {
      const drawn = this.points(c);
      const points = drawn.map(([q, v]) => `${m.x(v).toFixed(1)},${m.y(q).toFixed(1)}`);
      const [endQ, endV] = drawn.at(-1);
      const end = svg("circle", { cx: m.x(endV), cy: m.y(endQ), r: 3 });
      end.style.fill = colourOf(c.index);
      parts.push(end);
      const line = svg("polyline", { class: "curve", points: points.join(" "), "stroke-dasharray": dashOf(c.index) });
      line.style.stroke = colourOf(c.index);
      parts.push(line);
    }
    this.overlay = svg("g");
    this.frame.replaceChildren(svg("svg", {
      viewBox: `0 0 ${m.width} ${CURVE.height}`, height: CURVE.height, "aria-hidden": "true", focusable: "false",
    }, parts, this.overlay));
    this.drawCursor();
    this.drawTable(unit);
  }

  drawCursor() {
    const m = this.m;
    const unit = m.curves[0]?.unit ?? "ns";
    const q = this.cursor;
    const y = m.y(q);
    const values = m.curves.map((c) => ({ index: c.index, value: curveValue(c.quantiles, q) }));
    this.overlay.replaceChildren(
      svg("line", { class: "cursor", x1: CURVE.left, x2: m.width - CURVE.right, y1: y, y2: y }),
      ...values.map(({ index, value }) => {
        const dot = svg("circle", { cx: m.x(value), cy: y, r: 4 });
        dot.style.fill = colourOf(index);
        return dot;
      }));
    values.sort((a, b) => a.value - b.value);
    const readings = values.map(({ index, value }) => {
      const swatch = el("i", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = colourOf(index);
      return el("span", {}, swatch, `${this.labels[index]} `, el("b", {}, show(value, unit)));
    });
    byId("curve-readout").replaceChildren(el("span", {}, el("b", {}, quantileName(Number(q.toPrecision(6))))),
      ...readings);
    const spoken = values.map(({ index, value }) => `${this.labels[index]} ${show(value, unit)}`).join("; ");
    fill(this.frame, { "aria-valuenow": (q * 100).toPrecision(6),
      "aria-valuetext": `${quantileName(Number(q.toPrecision(6)))}: ${spoken}` }, []);
  }

  point(event) {
    const box = this.frame.getBoundingClientRect();
    const inner = CURVE.height - CURVE.top - CURVE.bottom;
    const rise = Math.min(1, Math.max(0, 1 - (event.clientY - box.top - CURVE.top) / inner));
    this.cursor = this.unrise(rise);
    this.drawCursor();
  }

  key(event) {
    const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
    let rise = this.rise(this.cursor);
    if (event.key in steps) rise += steps[event.key] / 100;
    else if (event.key === "Home") rise = 0;
    else if (event.key === "End") rise = 1;
    else return;
    event.preventDefault();
    this.cursor = this.unrise(Math.min(1, Math.max(0, rise)));
    this.drawCursor();
  }

  drawTable(unit) {
    const [row] = rowWords(this.report);
    const head = [headCell(row), ...TABLE_QUANTILES.map((q) => headCell(quantileName(q), "number")),
      headCell("observations", "number")];
    const name = (c) => el("th", { scope: "row", class: "name" }, breakable(this.labels[c.index]));
    const rows = this.curves().map((c) => el("tr", {}, name(c),
      TABLE_QUANTILES.map((q) => el("td", { class: "number" }, show(curveValue(c.quantiles, q), unit))),
      el("td", { class: "number" }, c.samples.toLocaleString("en"))));
    const caption = `Quantiles of ${titleOf(this.report, byId("curve-metric").value)}.`;
    putScrollable(byId("curve-table"), "Distribution", table(caption, head, rows));
  }
}
