// The schedule on a canvas: one row for each CPU, at most one rectangle for each pixel column.

const ROOM = { label: 58, axis: 26, overview: 22, gap: 8 };
const TALLEST = 520;
const NEAREST = 20; // ns across the whole width

class TimelineView {
  constructor(box, readout, tooltip) {
    Object.assign(this, { box, readout, tooltip, schedule: null, from: 0, span: 1, scroll: 0, cpu: 0, slice: -1,
      wanted: null });
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.frame = el("div", {
      class: "timeline", tabindex: "0", role: "application", "aria-roledescription": "schedule timeline",
      "aria-describedby": "schedule-keys schedule-readout",
    }, this.canvas);
    box.replaceChildren(this.frame);
    this.listen();
    new ResizeObserver(() => this.redraw()).observe(this.frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colours = null;
      this.redraw();
    });
    addEventListener("beforeprint", () => { this.colours = null; this.draw(); });
    addEventListener("afterprint", () => { this.colours = null; this.draw(); });
  }

  /** Shows another schedule; the window stays where it was, so that policies can be compared at one place. */
  show(schedule, name) {
    const first = !this.schedule;
    this.schedule = schedule;
    this.colours = null;
    this.slice = -1;
    this.cpu = Math.min(this.cpu, schedule.rows.length - 1);
    if (first) this.all();
    else this.look(this.from, this.span);
    this.frame.setAttribute("aria-label",
      `Schedule of ${schedule.rows.length} CPUs under ${name}, ${schedule.total.toLocaleString("en")} slices`);
  }

  all() { this.look(0, this.schedule.end); }

  look(from, span) {
    const { end } = this.schedule;
    this.span = Math.min(end, Math.max(NEAREST, span));
    this.from = Math.min(Math.max(0, from), end - this.span);
    this.redraw();
  }

  zoom(factor, around = this.from + this.span / 2) {
    const span = Math.min(this.schedule.end, Math.max(NEAREST, this.span * factor));
    this.look(around - ((around - this.from) * span) / this.span, span);
  }

  redraw() {
    if (this.due || !this.schedule) return;
    this.due = requestAnimationFrame(() => { this.due = null; this.draw(); });
  }

  // --- geometry -------------------------------------------------------------------------------------------

  layout() {
    const rows = this.schedule.rows.length;
    const row = rows <= 8 ? 30 : rows <= 24 ? 20 : 14;
    const head = ROOM.overview + ROOM.gap + ROOM.axis;
    const height = Math.min(TALLEST, head + rows * row + 4);
    const width = this.frame.clientWidth;
    this.scroll = Math.min(Math.max(0, this.scroll), Math.max(0, head + rows * row + 4 - height));
    return { row, head, height, width, plot: Math.max(1, width - ROOM.label) };
  }

  timeAt(clientX) {
    const x = clientX - this.canvas.getBoundingClientRect().left - ROOM.label;
    return this.from + (x / this.geometry.plot) * this.span;
  }

  rowAt(clientY) {
    const y = clientY - this.canvas.getBoundingClientRect().top;
    if (y < this.geometry.head) return -1;
    const row = Math.floor((y - this.geometry.head + this.scroll) / this.geometry.row);
    return row < this.schedule.rows.length ? row : -1;
  }

  // --- drawing --------------------------------------------------------------------------------------------

  palette() {
    if (this.colours) return this.colours;
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    const dark = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
    const hues = new Map();
    const fills = this.schedule.tasks.map(({ name, id }) => {
      // One hue for each name without its number, a shade for each task of that name.
      const family = name.replace(/[\d:/#._-]+$/, "");
      if (!hues.has(family)) hues.set(family, (205 + hues.size * 137.508) % 360);
      const shade = (Number(id) % 5) * 3;
      return dark ? `hsl(${hues.get(family)} 34% ${36 + shade}%)` : `hsl(${hues.get(family)} 46% ${70 + shade}%)`;
    });
    this.colours = {
      fills, paper: of("--paper"), ink: of("--ink"), muted: of("--muted"), rule: of("--rule"), raised: of("--raised"),
      accent: of("--accent"), dim: of("--rule"), other: of("--strong-rule"),
      font: getComputedStyle(document.body).fontFamily,
    };
    return this.colours;
  }

  fillOf(task) {
    const c = this.palette();
    return this.wanted && !this.wanted(task) ? c.dim : c.fills[task] ?? c.other;
  }

  draw() {
    if (!this.schedule) return;
    const g = (this.geometry = this.layout());
    const scale = devicePixelRatio || 1;
    const [w, h] = [Math.round(g.width * scale), Math.round(g.height * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
    this.canvas.style.height = `${g.height}px`;
    const c = this.canvas.getContext("2d", { alpha: false });
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.fillStyle = this.palette().paper;
    c.fillRect(0, 0, g.width, g.height);
    c.font = `${g.row < 18 ? 10 : 11}px ${this.palette().font}`;
    c.textBaseline = "middle";
    this.drawRows(c, g, scale);
    c.fillStyle = this.palette().paper;
    c.fillRect(0, 0, g.width, g.head);
    this.drawOverview(c, g);
    this.drawAxis(c, g);
  }

  drawRows(c, g, scale) {
    const p = this.palette();
    const first = Math.floor(this.scroll / g.row);
    const last = Math.min(this.schedule.rows.length, Math.ceil((this.scroll + g.height - g.head) / g.row));
    for (let cpu = first; cpu < last; cpu++) {
      const top = g.head + cpu * g.row - this.scroll;
      c.fillStyle = cpu === this.cpu && document.activeElement === this.frame ? p.accent : p.muted;
      c.textAlign = "left";
      c.fillText(`CPU ${cpu}`, 2, top + g.row / 2);
      c.fillStyle = p.rule;
      c.fillRect(ROOM.label, top + g.row - 1, g.plot, 1);
      this.drawRow(c, this.schedule.rows[cpu], top, g, scale);
    }
    this.drawChosen(c, g);
  }

  /** Slices wider than a pixel as they are; crowds as one column, as high as they are busy, as their longest member. */
  drawRow(c, row, top, g, scale) {
    const pixel = this.span / (g.plot * scale);
    const until = this.from + this.span;
    const height = g.row - 3;
    const run = { x: 0, w: 0, fill: "", h: 0 };
    const flush = () => {
      if (run.w > 0) {
        c.fillStyle = run.fill;
        c.fillRect(ROOM.label + run.x / scale, top + 1 + height - run.h, run.w / scale, run.h);
      }
    };
    let i = Schedule.firstAfter(row, this.from);
    while (i < row.count && row.start[i] < until) {
      if (row.end[i] - row.start[i] >= 1.5 * pixel) {
        this.drawSlice(c, row, i++, top, height, g);
        continue;
      }
      const x = Math.max(0, Math.floor((row.start[i] - this.from) / pixel));
      const right = this.from + (x + 1) * pixel;
      let next = lowerBound(row.start, right, i);
      if (next - 1 > i && row.end[next - 1] - row.start[next - 1] >= 1.5 * pixel) next--;
      const occupancy = Math.min(1, (row.busy[next] - row.busy[i]) / pixel);
      const fill = this.fillOf(this.wanted ? this.standIn(row, i, next) : row.task[Schedule.longestOf(row, i, next)]);
      const h = Math.max(1, Math.round(height * occupancy));
      if (run.w > 0 && run.fill === fill && run.h === h && run.x + run.w === x) run.w++;
      else {
        flush();
        Object.assign(run, { x, w: 1, fill, h });
      }
      i = next;
    }
    flush();
  }

  /** With a highlight, a wanted task stands for its crowd even where it is not the longest (as far as is cheap to
   * see). */
  standIn(row, from, to) {
    for (let i = from; i < Math.min(to, from + 64); i++) if (this.wanted(row.task[i])) return row.task[i];
    return row.task[Schedule.longestOf(row, from, to)];
  }

  drawSlice(c, row, i, top, height, g) {
    const at = (t) => ((t - this.from) / this.span) * g.plot;
    const [x1, x2] = [Math.max(0, at(row.start[i])), Math.min(g.plot, at(row.end[i]))];
    c.fillStyle = this.fillOf(row.task[i]);
    // A hair of paper between neighbours keeps slices of one task apart.
    const air = x2 - x1 > 4 ? 0.6 : 0;
    c.fillRect(ROOM.label + x1, top + 1, Math.max(x2 - x1 - air, 0.5), height);
    if (x2 - x1 < 44 || height < 11) return;
    c.save();
    c.beginPath();
    c.rect(ROOM.label + x1, top, x2 - x1 - 4, g.row);
    c.clip();
    c.fillStyle = this.palette().ink;
    c.textAlign = "left";
    c.fillText(this.schedule.label(row.task[i]), ROOM.label + x1 + 5, top + 1 + height / 2);
    c.restore();
  }

  drawChosen(c, g) {
    const row = this.schedule.rows[this.cpu];
    if (this.slice < 0 || this.slice >= row.count) return;
    const at = (t) => Math.min(g.plot, Math.max(0, ((t - this.from) / this.span) * g.plot));
    const [x1, x2] = [at(row.start[this.slice]), at(row.end[this.slice])];
    c.strokeStyle = this.palette().ink;
    c.lineWidth = 2;
    c.strokeRect(ROOM.label + x1, g.head + this.cpu * g.row - this.scroll + 1, Math.max(2, x2 - x1), g.row - 3);
  }

  /** The whole run in one strip, with the window that is shown below. */
  drawOverview(c, g) {
    const p = this.palette();
    const { end } = this.schedule;
    const key = `${g.plot}`;
    if (this.strip?.key !== key || this.strip.of !== this.schedule) {
      this.strip = { key, of: this.schedule, load: this.schedule.load(Math.ceil(g.plot / 2)) };
    }
    c.fillStyle = p.raised;
    c.fillRect(ROOM.label, 0, g.plot, ROOM.overview);
    c.fillStyle = p.other;
    const step = g.plot / this.strip.load.length;
    const height = ROOM.overview;
    this.strip.load.forEach((l, x) => c.fillRect(ROOM.label + x * step, height * (1 - l), step + 0.3, height * l));
    const [x, w] = [(this.from / end) * g.plot, Math.max(3, (this.span / end) * g.plot)];
    c.strokeStyle = p.accent;
    c.lineWidth = 2;
    c.strokeRect(ROOM.label + Math.min(x, g.plot - w) + 1, 1, w - 2, ROOM.overview - 2);
    c.fillStyle = p.muted;
    c.textAlign = "left";
    c.fillText("whole run", 2, ROOM.overview / 2);
  }

  drawAxis(c, g) {
    const p = this.palette();
    const { ticks, step } = linearTicks(this.from, this.from + this.span, Math.max(2, g.plot / 130));
    const y = g.head - 6;
    c.fillStyle = p.muted;
    c.textAlign = "center";
    for (const t of ticks) {
      const x = ROOM.label + ((t - this.from) / this.span) * g.plot;
      c.fillRect(x, y, 1, 6);
      const text = t === 0 ? "0" : showMoment(t, step);
      const half = c.measureText(text).width / 2;
      c.fillText(text, Math.min(Math.max(x, ROOM.label + half), g.width - half - 1), y - 9);
    }
    c.fillStyle = p.rule;
    c.fillRect(ROOM.label, g.head - 1, g.plot, 1);
  }

  // --- reading --------------------------------------------------------------------------------------------

  choose(cpu, slice) {
    Object.assign(this, { cpu, slice });
    const row = this.schedule.rows[cpu];
    if (slice >= 0) {
      const { task, lines } = this.schedule.describe(row, slice);
      this.readout.replaceChildren(el("span", {}, el("b", {}, task)), el("span", {}, `CPU ${cpu}`),
        ...lines.map((l) => el("span", {}, l)));
    } else {
      this.readout.replaceChildren(el("span", {}, `CPU ${cpu}: ${row.count.toLocaleString("en")} slices`));
    }
    const top = cpu * this.geometry.row;
    const visible = this.geometry.height - this.geometry.head;
    this.scroll = Math.min(top, Math.max(this.scroll, top + this.geometry.row - visible + 4));
    this.redraw();
  }

  hover(event) {
    const cpu = this.rowAt(event.clientY);
    const t = this.timeAt(event.clientX);
    if (cpu < 0 || t < this.from || t > this.from + this.span) return this.unhover();
    const row = this.schedule.rows[cpu];
    const i = Schedule.at(row, t);
    const pixel = this.span / this.geometry.plot;
    const to = lowerBound(row.start, t + pixel, Math.max(0, i));
    const crowd = i >= 0 && row.end[i] - row.start[i] < pixel ? to - i : 0;
    const { task, lines } = i >= 0 ? this.schedule.describe(row, i)
      : { task: "idle", lines: [`at ${showMoment(t, pixel)}`] };
    if (crowd > 1) lines.push(`one of about ${crowd.toLocaleString("en")} slices under the pointer`);
    this.tooltip.replaceChildren(el("b", {}, task), el("div", {}, `CPU ${cpu}`), ...lines.map((l) => el("div", {}, l)));
    this.tooltip.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = this.tooltip;
    this.tooltip.style.left = `${Math.min(event.clientX + 14, innerWidth - w - 8)}px`;
    this.tooltip.style.top = `${event.clientY + 18 + h > innerHeight ? event.clientY - h - 12 : event.clientY + 18}px`;
  }

  unhover() { this.tooltip.hidden = true; }

  // --- moving ---------------------------------------------------------------------------------------------

  move(what) {
    if (!this.schedule) return;
    const moves = {
      left: () => this.look(this.from - this.span / 4, this.span),
      right: () => this.look(this.from + this.span / 4, this.span),
      in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.all(),
    };
    moves[what]();
  }

  listen() {
    this.frame.addEventListener("keydown", (e) => this.key(e));
    this.frame.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    this.frame.addEventListener("pointerdown", (e) => this.press(e));
    this.frame.addEventListener("pointermove", (e) => (this.drag ? this.pull(e) : this.schedule && this.hover(e)));
    for (const end of ["pointerup", "pointercancel"]) this.frame.addEventListener(end, (e) => this.release(e));
    this.frame.addEventListener("pointerleave", () => this.unhover());
    for (const e of ["focus", "blur"]) this.frame.addEventListener(e, () => this.redraw());
  }

  wheel(event) {
    // The page scrolls as usual until the timeline was clicked or Ctrl is held.
    const isVertical = Math.abs(event.deltaX) <= Math.abs(event.deltaY);
    if (!event.ctrlKey && document.activeElement !== this.frame && isVertical) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.look(this.from + ((event.deltaX || event.deltaY) / this.geometry.plot) * this.span, this.span);
    } else {
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), this.timeAt(event.clientX));
    }
    this.hover(event);
  }

  press(event) {
    if (event.button !== 0 || !this.schedule) return;
    const overview = event.clientY - this.canvas.getBoundingClientRect().top < ROOM.overview;
    this.drag = { x: event.clientX, y: event.clientY, from: this.from, scroll: this.scroll, overview, moved: false };
    this.frame.setPointerCapture(event.pointerId);
    if (overview) this.pull(event);
  }

  pull(event) {
    const d = this.drag;
    d.moved ||= Math.abs(event.clientX - d.x) + Math.abs(event.clientY - d.y) > 3;
    this.unhover();
    if (d.overview) {
      const x = event.clientX - this.canvas.getBoundingClientRect().left - ROOM.label;
      this.look((x / this.geometry.plot) * this.schedule.end - this.span / 2, this.span);
    } else if (d.moved) {
      this.scroll = d.scroll - (event.clientY - d.y);
      this.look(d.from - ((event.clientX - d.x) / this.geometry.plot) * this.span, this.span);
    }
  }

  release(event) {
    if (!this.drag) return;
    const { moved, overview } = this.drag;
    this.drag = null;
    const cpu = this.rowAt(event.clientY);
    if (!moved && !overview && cpu >= 0) {
      this.choose(cpu, Schedule.at(this.schedule.rows[cpu], this.timeAt(event.clientX)));
    }
  }

  key(event) {
    if (!this.schedule || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowLeft: () => this.move("left"), ArrowRight: () => this.move("right"),
      "+": () => this.move("in"), "=": () => this.move("in"), "-": () => this.move("out"), "−": () => this.move("out"),
      Home: () => this.look(0, this.span), End: () => this.look(this.schedule.end, this.span), Escape: () => this.all(),
      ArrowUp: () => this.choose(Math.max(0, this.cpu - 1), -1),
      ArrowDown: () => this.choose(Math.min(this.schedule.rows.length - 1, this.cpu + 1), -1),
      n: () => this.step(1), p: () => this.step(-1), Enter: () => this.zoomToSlice(),
    };
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    this.unhover();
    action();
  }

  step(by) {
    const row = this.schedule.rows[this.cpu];
    if (!row.count) return;
    const inside = Schedule.firstAfter(row, this.from);
    const next = this.slice < 0 ? inside : this.slice + by;
    const slice = Math.min(row.count - 1, Math.max(0, next));
    this.choose(this.cpu, slice);
    const [start, end] = [row.start[slice], row.end[slice]];
    if (start < this.from || end > this.from + this.span) this.look((start + end) / 2 - this.span / 2, this.span);
  }

  zoomToSlice() {
    if (this.slice < 0) return;
    const row = this.schedule.rows[this.cpu];
    const length = row.end[this.slice] - row.start[this.slice];
    this.look(row.start[this.slice] - 1.5 * length, 4 * length);
  }

  /** Dims every task but those that `text` names; an empty text dims none. */
  highlight(text) {
    const wanted = text.trim().toLowerCase();
    if (!this.schedule || !wanted) this.wanted = null;
    else {
      const hit = this.schedule.tasks.map((t) => `${t.name} ${t.id}`.toLowerCase().includes(wanted));
      this.wanted = (task) => hit[task] ?? false;
    }
    this.redraw();
  }
}
