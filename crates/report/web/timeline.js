// The schedules of some arms under each other on one axis: rows of CPUs and of tasks. State, rows and reading; drawing
// is in timeline_draw.js, pointer and keys are in timeline_input.js.

const ROOM = { axis: 26, overview: 22, gap: 8, arm: 22, task: 16 };
const TALLEST = 620;
const NEAREST = 20; // ns across the whole width

class TimelineView {
  constructor(box, readout, tooltip) {
    Object.assign(this, { box, readout, tooltip, arms: [], lines: [], from: 0, span: 1, end: 1, scroll: 0, line: 0,
      slice: -1, wanted: null, rows: "both", withArrows: true });
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.frame = el("div", {
      class: "timeline", tabindex: "0", role: "application", "aria-roledescription": "schedule timeline",
      "aria-describedby": "schedule-keys schedule-readout",
    }, this.canvas);
    box.replaceChildren(this.frame);
    this.listen();
    new ResizeObserver(() => this.redraw()).observe(this.frame);
    const repaint = () => { this.colours = null; this.redraw(); };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    for (const e of ["beforeprint", "afterprint"]) addEventListener(e, () => { this.colours = null; this.draw(); });
  }

  /** Shows arms, each `{ name, schedule }`; the window stays where it was, so that arms are compared at one place. */
  show(arms) {
    const isFirst = !this.arms.length;
    this.arms = arms;
    this.end = Math.max(...arms.map((arm) => arm.schedule.end));
    this.colours = null;
    this.slice = -1;
    this.arrange();
    if (isFirst) this.all();
    else this.look(this.from, this.span);
    const [{ schedule }] = arms;
    const total = arms.reduce((sum, arm) => sum + arm.schedule.total, 0).toLocaleString("en");
    this.frame.setAttribute("aria-label", `Schedule of ${schedule.rows.length} CPUs under ` +
      `${arms.map((arm) => arm.name).join(", ")}, ${total} slices`);
  }

  /** Chooses the rows: cpus, tasks or both. */
  showRows(rows) {
    this.rows = rows;
    this.slice = -1;
    this.arrange();
    this.redraw();
  }

  /** Shows the tasks that `text` names alone, and dims the others on CPUs; an empty text names all. */
  highlight(text) {
    const isWanted = matcher(text);
    this.wanted = text.trim() ? (schedule, task) => isWanted(schedule.label(task)) : null;
    for (const arm of this.arms) arm.hits = null;
    this.arrange();
    this.redraw();
  }

  isWanted(arm, task) {
    if (!this.wanted) return true;
    arm.hits ??= arm.schedule.tasks.map((_, i) => this.wanted(arm.schedule, i));
    return arm.hits[task] ?? false;
  }

  /** Puts the lines under each other. */
  arrange() {
    const cpus = this.arms[0].schedule.rows.length;
    const height = cpus <= 8 ? 30 : cpus <= 24 ? 20 : 14;
    this.lines = this.arms.flatMap((arm) => {
      const head = this.arms.length > 1 ? [{ kind: "arm", arm, label: arm.name, height: ROOM.arm }] : [];
      const ofCpus = this.rows === "tasks" ? [] : arm.schedule.rows.map((row, cpu) =>
        ({ kind: "cpu", arm, row, cpu, label: `CPU ${cpu}`, height }));
      const tasks = this.rows === "cpus" ? [] : arm.schedule.byTask().filter((row) => this.isWanted(arm, row.task));
      const ofTasks = tasks.map((row) =>
        ({ kind: "task", arm, row, label: arm.schedule.label(row.task), height: ROOM.task }));
      arm.lineOf = new Map();
      const lines = [...head, ...ofCpus, ...ofTasks];
      return lines;
    });
    let top = 0;
    this.lines.forEach((line, i) => {
      line.top = top;
      top += line.height;
      if (line.kind === "task") line.arm.lineOf.set(line.row.task, i);
    });
    this.tall = top;
    this.line = Math.max(0, Math.min(this.line, this.lines.length - 1));
  }

  all() { this.look(0, this.end); }

  look(from, span) {
    this.span = Math.min(this.end, Math.max(NEAREST, span));
    this.from = Math.min(Math.max(0, from), this.end - this.span);
    this.redraw();
  }

  zoom(factor, around = this.from + this.span / 2) {
    const span = Math.min(this.end, Math.max(NEAREST, this.span * factor));
    this.look(around - ((around - this.from) * span) / this.span, span);
  }

  redraw() {
    if (this.due || !this.arms.length) return;
    this.due = requestAnimationFrame(() => { this.due = null; this.draw(); });
  }

  // --- geometry -------------------------------------------------------------------------------------------

  layout() {
    const head = ROOM.overview + ROOM.gap + ROOM.axis;
    const height = Math.min(TALLEST, head + this.tall + 4);
    const width = this.frame.clientWidth;
    const label = this.rows === "cpus" ? 58 : Math.min(150, Math.max(70, Math.round(width * 0.16)));
    this.scroll = Math.min(Math.max(0, this.scroll), Math.max(0, head + this.tall + 4 - height));
    return { head, height, width, label, plot: Math.max(1, width - label) };
  }

  timeAt(clientX) {
    const x = clientX - this.canvas.getBoundingClientRect().left - this.geometry.label;
    return this.from + (x / this.geometry.plot) * this.span;
  }

  /** Index of the line at a height, or -1. */
  lineAt(clientY) {
    const y = clientY - this.canvas.getBoundingClientRect().top;
    if (y < this.geometry.head) return -1;
    const at = y - this.geometry.head + this.scroll;
    return this.lines.findIndex((line) => at >= line.top && at < line.top + line.height);
  }

  // --- reading --------------------------------------------------------------------------------------------

  choose(index, slice) {
    Object.assign(this, { line: index, slice });
    const line = this.lines[index];
    if (!line) return;
    const of = this.arms.length > 1 ? [el("span", {}, line.arm.name)] : [];
    if (line.kind === "arm") this.readout.replaceChildren(...of);
    else if (slice >= 0) {
      const { task, cpu, lines } = line.arm.schedule.describe(line.row, slice);
      this.readout.replaceChildren(el("span", {}, el("b", {}, task)), el("span", {}, `CPU ${cpu ?? line.cpu}`), ...of,
        ...lines.map((l) => el("span", {}, l)));
    } else {
      const { count } = line.row;
      const { busy, wait } = line.row;
      const times = wait ? `, ran ${showTime(busy[count])}, waited ${showTime(wait[count])}` : "";
      const slices = `${count.toLocaleString("en")} slices`;
      this.readout.replaceChildren(el("span", {}, `${line.label}: ${slices}${times}`), ...of);
    }
    const visible = this.geometry.height - this.geometry.head;
    this.scroll = Math.min(line.top, Math.max(this.scroll, line.top + line.height - visible + 4));
    this.onChoose?.(line, slice);
    this.redraw();
  }

  hover(event) {
    const line = this.lines[this.lineAt(event.clientY)];
    const t = this.timeAt(event.clientX);
    if (!line?.row || t < this.from || t > this.from + this.span) return this.unhover();
    const { row, arm } = line;
    const i = Schedule.at(row, t);
    const pixel = this.span / this.geometry.plot;
    const to = lowerBound(row.start, t + pixel, Math.max(0, i));
    const crowd = i >= 0 && row.end[i] - row.start[i] < pixel ? to - i : 0;
    const nothing = () => ({ task: line.kind === "task" ? line.label : Schedule.stateAt(row, t),
      lines: [`${Schedule.stateAt(row, t)} at ${showMoment(t, pixel)}`] });
    const found = i >= 0 ? arm.schedule.describe(row, i) : nothing();
    const lines = [...found.lines];
    if (crowd > 1) lines.push(`one of about ${crowd.toLocaleString("en")} slices under the pointer`);
    const cpu = found.cpu ?? line.cpu;
    this.tooltip.replaceChildren(el("b", {}, found.task), ...(cpu === undefined ? [] : [el("div", {}, `CPU ${cpu}`)]),
      ...lines.map((l) => el("div", {}, l)));
    this.tooltip.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = this.tooltip;
    this.tooltip.style.left = `${Math.min(event.clientX + 14, innerWidth - w - 8)}px`;
    this.tooltip.style.top = `${event.clientY + 18 + h > innerHeight ? event.clientY - h - 12 : event.clientY + 18}px`;
  }

  unhover() { this.tooltip.hidden = true; }

  /** The slices in the window, for a file. */
  csvRows() {
    const head = ["arm", "cpu", "task", "start_ns", "end_ns", "waited_ns", "woken_by", "then"];
    const rows = this.arms.flatMap(({ name, schedule }) => schedule.rows.flatMap((row, cpu) => {
      const [from, to] = [Schedule.firstAfter(row, this.from), lowerBound(row.start, this.from + this.span, 0)];
      return Array.from({ length: Math.max(0, Math.min(to - from, CSV_SLICES)) }, (_, k) => {
        const i = from + k;
        const woken = row.waker[i] ? schedule.label(row.waker[i] - 1) : "";
        return [name, cpu, schedule.label(row.task[i]), row.start[i], row.end[i], row.waited[i], woken,
          LEFT[row.flags[i] & 7]].map(String);
      });
    }));
    return [head, ...rows];
  }
}

/** Most slices of a CPU in a file. */
const CSV_SLICES = 100000;
