// Drawing of the timeline on a canvas: at most a few rectangles for each pixel column of a row.

/** Wake-ups drawn at most; beyond, arrows hide what they are about. */
const ARROWS = 300;
/** Up to so many names each has a hue of its own; beyond, names that differ in a number share one. */
const HUES = 12;

Object.assign(TimelineView.prototype, {
  palette() {
    if (this.colours) return this.colours;
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    const dark = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
    const names = new Set(this.arms.flatMap((arm) => arm.schedule.tasks.map((t) => t.name)));
    const groupOf = names.size <= HUES ? (name) => name : familyOf;
    const hues = new Map();
    for (const arm of this.arms) {
      arm.fills = arm.schedule.tasks.map(({ name, id }) => {
        const group = groupOf(name);
        if (!hues.has(group)) hues.set(group, (205 + hues.size * 137.508) % 360);
        // Tasks of one name have shades of its hue.
        const shade = (Number(id) % 5) * 3;
        return dark ? `hsl(${hues.get(group)} 38% ${36 + shade}%)` : `hsl(${hues.get(group)} 50% ${68 + shade}%)`;
      });
    }
    this.colours = {
      paper: of("--paper"), ink: of("--ink"), muted: of("--muted"), rule: of("--rule"), raised: of("--raised"),
      accent: of("--accent"), dim: of("--rule"), other: of("--strong-rule"), waiting: of("--waiting"),
      asleep: of("--asleep"), throttled: of("--throttled"), disk: of("--on-disk"), offline: of("--offline"),
      font: getComputedStyle(document.body).fontFamily,
    };
    return this.colours;
  },

  fillOf(arm, task) {
    const c = this.palette();
    return this.isWanted(arm, task) ? arm.fills[task] ?? c.other : c.dim;
  },

  draw() {
    if (!this.arms.length) return;
    this.palette();
    const g = (this.geometry = this.layout());
    const scale = devicePixelRatio || 1;
    const [w, h] = [Math.round(g.width * scale), Math.round(g.height * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
    this.canvas.style.height = `${g.height}px`;
    const c = this.canvas.getContext("2d", { alpha: false });
    c.setTransform(scale, 0, 0, scale, 0, 0);
    this.paint(c, g, scale);
  },

  /** Draws on a canvas, or on what records an SVG file. */
  paint(c, g, scale) {
    const p = this.palette();
    c.fillStyle = p.paper;
    c.fillRect(0, 0, g.width, g.height);
    c.font = `11px ${p.font}`;
    c.textBaseline = "middle";
    this.drawLines(c, g, scale);
    c.fillStyle = p.paper;
    c.fillRect(0, 0, g.width, g.head);
    this.drawOverview(c, g);
    this.drawAxis(c, g);
    this.drawThumb(c, g);
  },

  drawLines(c, g, scale) {
    const p = this.palette();
    const [low, high] = [this.scroll, this.scroll + g.height - g.head];
    const visible = this.lines.filter((line) => line.top + line.height > low && line.top < high);
    for (const line of visible) {
      const top = g.head + line.top - this.scroll;
      const isChosen = this.lines[this.line] === line && document.activeElement === this.frame;
      c.textAlign = "left";
      c.fillStyle = isChosen ? p.accent : line.kind === "arm" ? p.ink : p.muted;
      const room = line.kind === "arm" ? g.width : g.label - 6;
      this.clipText(c, this.fitted(c, line.label, room), 2, top + line.height / 2, room);
      c.fillStyle = p.rule;
      c.fillRect(g.label, top + line.height - 1, g.plot, 1);
      if (line.kind === "cpu") this.drawCpu(c, line, top, g, scale);
      if (line.kind === "task") this.drawTask(c, line, top, g);
    }
    if (this.withArrows) this.drawArrows(c, visible, g);
    this.drawChosen(c, g);
  },

  /** A label in `width` pixels: its last word, which tells namesakes apart, and what there is room for before it. */
  fitted(c, label, width) {
    const fits = (text) => c.measureText(text).width <= width;
    const [, name, last] = label.match(/^(.*) (\S+)$/) ?? [];
    if (!last || fits(label)) return label;
    let kept = name.length - 1;
    while (kept > 0 && !fits(`${name.slice(0, kept)}… ${last}`)) kept--;
    return `${name.slice(0, kept)}… ${last}`;
  },

  clipText(c, text, x, y, width) {
    c.save();
    c.beginPath();
    c.rect(x, y - 12, width, 24);
    c.clip();
    c.fillText(text, x, y);
    c.restore();
  },

  /** Slices wider than a pixel as they are; crowds as one column, as high as they are busy, as their longest member. */
  drawCpu(c, { row, arm, height: tall }, top, g, scale) {
    for (const time of row.offline) this.drawOffline(c, time, top, tall - 3, g);
    const pixel = this.span / (g.plot * scale);
    const until = this.from + this.span;
    const height = tall - 3;
    const run = { x: 0, w: 0, fill: "", h: 0 };
    const flush = () => {
      if (run.w > 0) {
        c.fillStyle = run.fill;
        c.fillRect(g.label + run.x / scale, top + 1 + height - run.h, run.w / scale, run.h);
      }
    };
    let i = Schedule.firstAfter(row, this.from);
    while (i < row.count && row.start[i] < until) {
      if (row.end[i] - row.start[i] >= 1.5 * pixel) {
        this.drawSlice(c, arm, row, i++, top, height, g);
        continue;
      }
      const x = Math.max(0, Math.floor((row.start[i] - this.from) / pixel));
      const right = this.from + (x + 1) * pixel;
      let next = lowerBound(row.start, right, i);
      if (next - 1 > i && row.end[next - 1] - row.start[next - 1] >= 1.5 * pixel) next--;
      const occupancy = Math.min(1, (row.busy[next] - row.busy[i]) / pixel);
      const task = this.wanted ? this.standIn(arm, row, i, next) : row.task[Schedule.longestOf(row, i, next)];
      const fill = this.fillOf(arm, task);
      const h = Math.max(1, Math.round(height * occupancy));
      if (run.w > 0 && run.fill === fill && run.h === h && run.x + run.w === x) run.w++;
      else {
        flush();
        Object.assign(run, { x, w: 1, fill, h });
      }
      i = next;
    }
    flush();
  },

  /** A time in which a CPU is offline. */
  drawOffline(c, { start, end }, top, height, g) {
    const at = (t) => Math.min(g.plot, Math.max(0, ((t - this.from) / this.span) * g.plot));
    const [x1, x2] = [at(start), at(end)];
    if (end <= this.from || start >= this.from + this.span) return;
    c.fillStyle = this.palette().offline;
    c.fillRect(g.label + x1, top + 1 + height / 3, Math.max(x2 - x1, 1), height / 3);
    if (x2 - x1 < 60) return;
    const width = c.measureText("offline").width;
    c.fillStyle = this.palette().paper;
    c.fillRect(g.label + x1 + 8, top + 1, width + 8, height);
    c.fillStyle = this.palette().ink;
    c.textAlign = "left";
    this.clipText(c, "offline", g.label + x1 + 12, top + 1 + height / 2, x2 - x1 - 14);
  },

  /** With a filter, a wanted task stands for its crowd even where it is not the longest (as far as is cheap to see). */
  standIn(arm, row, from, to) {
    for (let i = from; i < Math.min(to, from + 64); i++) if (this.isWanted(arm, row.task[i])) return row.task[i];
    return row.task[Schedule.longestOf(row, from, to)];
  },

  drawSlice(c, arm, row, i, top, height, g) {
    const at = (t) => ((t - this.from) / this.span) * g.plot;
    const [x1, x2] = [Math.max(0, at(row.start[i])), Math.min(g.plot, at(row.end[i]))];
    c.fillStyle = this.fillOf(arm, row.task[i]);
    // A hair of paper between neighbours keeps slices of one task apart.
    const air = x2 - x1 > 4 ? 0.6 : 0;
    c.fillRect(g.label + x1, top + 1, Math.max(x2 - x1 - air, 0.5), height);
    if (x2 - x1 < 44 || height < 11) return;
    c.fillStyle = this.palette().ink;
    c.textAlign = "left";
    this.clipText(c, arm.schedule.label(row.task[i]), g.label + x1 + 5, top + 1 + height / 2, x2 - x1 - 9);
  },

  /** What a task did in each pixel column: ran (its colour, from below), waited and was throttled (above), slept or was
   * on disk. */
  drawTask(c, { row, arm, height: tall }, top, g) {
    const p = this.palette();
    const [height, base, pixel] = [tall - 4, top + tall - 3, this.span / g.plot];
    const fill = this.fillOf(arm, row.task);
    const cursor = { run: 0, wait: 0, throttled: 0 };
    const bar = ({ x, w, ran, waited, throttled }) => {
      if (ran > 0) {
        c.fillStyle = fill;
        c.fillRect(g.label + x, base - ran, w, ran);
      }
      if (waited > 0) {
        c.fillStyle = p.waiting;
        c.fillRect(g.label + x, base - ran - waited, w, waited);
      }
      if (throttled > 0) {
        c.fillStyle = p.throttled;
        c.fillRect(g.label + x, base - ran - waited - throttled, w, throttled);
      }
    };
    let last = { x: 0, w: 0, ran: 0, waited: 0, throttled: 0 };
    const sums = (t) => {
      const throttled = Schedule.throttledBefore(row, t, cursor);
      return [Schedule.ran(row, t, cursor), Schedule.waitedBefore(row, t, cursor) - throttled, throttled];
    };
    let before = sums(this.from);
    for (let x = 0; x < g.plot; ) {
      const next = Schedule.steadyUntil(row, this.from + x * pixel, cursor);
      const w = Math.max(1, Math.min(g.plot, Math.floor((next.until - this.from) / pixel)) - x);
      const t = this.from + (x + w) * pixel;
      const after = sums(t);
      const share = (part) => (part > 0 ? Math.max(1, Math.round((height * part) / (w * pixel))) : 0);
      const [ran, waited, throttled] = after.map((sum, part) => share(sum - before[part]));
      const h = { ran: Math.min(height, ran), waited, throttled };
      h.throttled = Math.min(throttled, height - h.ran);
      h.waited = Math.min(waited, height - h.ran - h.throttled);
      if (!h.ran && !h.waited && !h.throttled && w > 1 && next.state) {
        c.fillStyle = next.state === "disk" ? p.disk : p.asleep;
        c.fillRect(g.label + x, base - (next.state === "disk" ? 4 : 2), w, next.state === "disk" ? 4 : 2);
      }
      const isAlike = ["ran", "waited", "throttled"].every((part) => last[part] === h[part]);
      if (last.w && isAlike && last.x + last.w === x) last.w += w;
      else {
        bar(last);
        last = { x, w, ...h };
      }
      before = after;
      x += w;
    }
    bar(last);
  },

  /** Wake-ups between the tasks that are shown, from the waker's row to that of the woken. */
  drawArrows(c, visible, g) {
    const tasks = visible.filter((line) => line.kind === "task");
    const found = [];
    for (const line of tasks) {
      const { row, arm } = line;
      let i = Schedule.firstAfter(row, this.from);
      if (lowerBound(row.start, this.from + this.span, i) - i > ARROWS) return;
      for (; i < row.count && row.start[i] - row.waited[i] < this.from + this.span; i++) {
        const [t, waker] = [row.start[i] - row.waited[i], this.lines[arm.lineOf.get(row.waker[i] - 1)]];
        if (row.waker[i] && waker && t >= this.from) found.push([t, waker, line]);
      }
      if (found.length > ARROWS) return;
    }
    c.strokeStyle = this.palette().muted;
    c.lineWidth = 1;
    for (const [t, from, to] of found) {
      const x = g.label + ((t - this.from) / this.span) * g.plot;
      const middle = (line) => g.head + line.top + line.height / 2 - this.scroll;
      this.drawArrow(c, x, middle(from), middle(to));
    }
  },

  drawArrow(c, x, from, to) {
    const tip = to > from ? -4 : 4;
    c.beginPath();
    c.moveTo(x, from);
    c.lineTo(x, to);
    c.moveTo(x - 3, to + tip);
    c.lineTo(x, to);
    c.lineTo(x + 3, to + tip);
    c.stroke();
  },

  drawChosen(c, g) {
    const line = this.lines[this.line];
    const row = line?.row;
    if (!row || this.slice < 0 || this.slice >= row.count) return;
    const at = (t) => Math.min(g.plot, Math.max(0, ((t - this.from) / this.span) * g.plot));
    const [x1, x2] = [at(row.start[this.slice]), at(row.end[this.slice])];
    c.strokeStyle = this.palette().ink;
    c.lineWidth = 2;
    c.strokeRect(g.label + x1, g.head + line.top - this.scroll + 1, Math.max(2, x2 - x1), line.height - 3);
  },

  /** The whole run in one strip, with the window that is shown below. */
  drawOverview(c, g) {
    const p = this.palette();
    const [{ schedule }] = this.arms;
    const key = `${g.plot} ${this.end}`;
    if (this.strip?.key !== key || this.strip.of !== schedule) {
      this.strip = { key, of: schedule, load: schedule.load(Math.ceil(g.plot / 2), this.end) };
    }
    c.fillStyle = p.raised;
    c.fillRect(g.label, 0, g.plot, ROOM.overview);
    c.fillStyle = p.other;
    const step = g.plot / this.strip.load.length;
    const height = ROOM.overview;
    this.strip.load.forEach((l, x) => c.fillRect(g.label + x * step, height * (1 - l), step + 0.3, height * l));
    const [x, w] = [(this.from / this.end) * g.plot, Math.max(3, (this.span / this.end) * g.plot)];
    c.strokeStyle = p.accent;
    c.lineWidth = 2;
    c.strokeRect(g.label + Math.min(x, g.plot - w) + 1, 1, w - 2, ROOM.overview - 2);
    c.fillStyle = p.muted;
    c.textAlign = "left";
    c.fillText("whole run", 2, ROOM.overview / 2);
  },

  drawAxis(c, g) {
    const p = this.palette();
    const { ticks, step } = linearTicks(this.from, this.from + this.span, Math.max(2, g.plot / 130));
    const y = g.head - 6;
    c.fillStyle = p.muted;
    c.textAlign = "center";
    for (const t of ticks) {
      const x = g.label + ((t - this.from) / this.span) * g.plot;
      c.fillRect(x, y, 1, 6);
      const text = t === 0 ? "0" : showMoment(t, step);
      const half = c.measureText(text).width / 2;
      c.fillText(text, Math.min(Math.max(x, g.label + half), g.width - half - 1), y - 9);
    }
    c.fillStyle = p.rule;
    c.fillRect(g.label, g.head - 1, g.plot, 1);
  },

  /** Where in all rows the visible ones are. */
  drawThumb(c, g) {
    const visible = g.height - g.head;
    if (this.tall <= visible) return;
    c.fillStyle = this.palette().other;
    c.fillRect(g.width - 4, g.head + (this.scroll / this.tall) * visible, 4, (visible / this.tall) * visible);
  },

  /** The picture as an SVG file. */
  svg() {
    const g = this.layout();
    const recorder = new SvgRecorder();
    this.paint(recorder, g, 1);
    return recorder.text(g.width, g.height);
  },
});

/** Takes the calls that drawing makes to a canvas, and writes them as SVG. */
class SvgRecorder {
  constructor() {
    Object.assign(this, { parts: [], path: "", box: null, clipped: null, fillStyle: "", strokeStyle: "", lineWidth: 1,
      font: "", textAlign: "left" });
    this.measure = document.createElement("canvas").getContext("2d");
  }

  write(tag, attributes, content) {
    const text = Object.entries(attributes).map(([k, v]) => ` ${k}="${escapeXml(String(v))}"`).join("");
    this.parts.push(content === undefined ? `<${tag}${text}/>` : `<${tag}${text}>${escapeXml(content)}</${tag}>`);
  }

  fillRect(x, y, width, height) { this.write("rect", { x, y, width, height, fill: this.fillStyle }); }

  strokeRect(x, y, width, height) {
    this.write("rect", { x, y, width, height, fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth });
  }

  fillText(text, x, y) {
    // Text that is clipped on the canvas is cut.
    let shown = text;
    while (this.clipped && shown && this.measureText(shown).width > this.clipped) shown = shown.slice(0, -1);
    const anchor = this.textAlign === "center" ? "middle" : "start";
    const { 0: size } = this.font.match(/\d+/) ?? ["11"];
    this.write("text", { x, y: y + 4, fill: this.fillStyle, "font-size": size, "font-family": "sans-serif",
      "text-anchor": anchor }, shown);
  }

  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  save() {}
  restore() { this.clipped = null; }
  beginPath() { this.path = ""; }
  rect(x, y, width) { this.box = width; }
  clip() { this.clipped = this.box; }
  moveTo(x, y) { this.path += `M${x} ${y}`; }
  lineTo(x, y) { this.path += `L${x} ${y}`; }
  stroke() {
    this.write("path", { d: this.path, fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth });
  }

  text(width, height) {
    const head = `<svg xmlns="${SVG}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
    return `${head}${this.parts.join("\n")}</svg>\n`;
  }
}

const escapeXml = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
