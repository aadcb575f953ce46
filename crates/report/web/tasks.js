// The tasks of one policy: sortable, filtered. What the limits of groups did.

const TASK_ROWS = 500;
const COLUMNS = [
  ["task", (t) => t.name, (t) => `${t.name} ${t.id}`, "name"],
  ["nice", (t) => t.nice, (t) => (t.nice === null ? "rt" : String(t.nice).replace("-", "−")), "number"],
  ["on CPU", (t) => t.cpu_time_ns, (t) => showTime(t.cpu_time_ns), "number"],
  ["waiting", (t) => t.wait_ns, (t) => showTime(t.wait_ns), "number"],
  ["asleep", (t) => t.sleep_ns, (t) => showTime(t.sleep_ns), "number wide-only"],
  ["switches", (t) => t.switches, (t) => t.switches.toLocaleString("en"), "number"],
  ["wake-ups", (t) => t.wakeups, (t) => t.wakeups.toLocaleString("en"), "number wide-only"],
  ["latency p50", (t) => t.wakeup_latency_p50_ns, (t) => showTime(t.wakeup_latency_p50_ns), "number wide-only"],
  ["p99", (t) => t.wakeup_latency_p99_ns, (t) => showTime(t.wakeup_latency_p99_ns), "number"],
  ["max", (t) => t.wakeup_latency_max_ns, (t) => showTime(t.wakeup_latency_max_ns), "number"],
];
// Shown where some task did block I/O.
const IO_COLUMNS = [
  ["I/Os", (t) => t.io?.done ?? null, (t) => show(t.io?.done, "count"), "number"],
  ["I/O bytes", (t) => t.io?.bytes ?? null, (t) => show(t.io?.bytes, "bytes"), "number wide-only"],
  ["read p50", (t) => t.io?.read_latency_p50_ns ?? null, (t) => showTime(t.io?.read_latency_p50_ns),
    "number wide-only"],
  ["read p99", (t) => t.io?.read_latency_p99_ns ?? null, (t) => showTime(t.io?.read_latency_p99_ns), "number"],
  ["write p50", (t) => t.io?.write_latency_p50_ns ?? null, (t) => showTime(t.io?.write_latency_p50_ns),
    "number wide-only"],
  ["write p99", (t) => t.io?.write_latency_p99_ns ?? null, (t) => showTime(t.io?.write_latency_p99_ns), "number"],
];

class Tasks {
  constructor(report, labels) {
    const hasIo = report.policies.some((p) => p.tasks.some((t) => t.io));
    const columns = hasIo ? [...COLUMNS, ...IO_COLUMNS] : COLUMNS;
    Object.assign(this, { report, labels, columns, column: 2, ascending: false, opened: new Set() });
    const withTasks = report.policies.flatMap((p, i) => (p.tasks.length ? [[i, labels[i]]] : []));
    const reference = report.policies.findIndex((p) => p.is_reference && p.tasks.length);
    fillSelect(byId("task-policy"), withTasks, reference < 0 ? withTasks[0][0] : reference);
    byId("task-policy").addEventListener("change", () => this.drawRows());
    for (const id of ["task-filter", "task-fold"]) byId(id).addEventListener("input", () => this.drawRows());
    this.build();
    this.drawRows();
  }

  build() {
    this.heads = this.columns.map(([title, , , kind], i) => el("th", { scope: "col", class: kind, "aria-sort": "none" },
      el("button", { type: "button", onclick: () => this.sortBy(i) }, title)));
    this.caption = el("caption", {}, "");
    this.body = el("tbody");
    const whole = el("table", {}, this.caption, el("thead", {}, el("tr", {}, this.heads)), this.body);
    putScrollable(byId("task-table"), "Tasks", whole);
  }

  sortBy(column) {
    this.ascending = column === this.column ? !this.ascending : column === 0;
    this.column = column;
    this.drawRows();
  }

  /** Lines to show, in order: tasks, and tasks that are alike as one line with `members`. */
  lines() {
    const policy = this.report.policies[Number(byId("task-policy").value)];
    const isWanted = matcher(byId("task-filter").value);
    const tasks = policy.tasks.filter((t) => isWanted(`${t.name} ${t.id}`));
    return { tasks, lines: (byId("task-fold").checked ? folded(tasks) : tasks).sort(this.order()) };
  }

  order() {
    const of = this.columns[this.column][1];
    const sign = this.ascending ? 1 : -1;
    return (a, b) => {
      const [x, y] = [of(a), of(b)];
      // Values that were not measured come last, whichever way the column is sorted.
      if (x === null || y === null) return (x === null) - (y === null) || a.id - b.id;
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y) || a.id - b.id;
    };
  }

  drawRows() {
    const direction = this.ascending ? "ascending" : "descending";
    this.heads.forEach((h, i) => h.setAttribute("aria-sort", i !== this.column ? "none" : direction));
    const index = Number(byId("task-policy").value);
    const total = this.report.policies[index].tasks.length;
    const { tasks, lines } = this.lines();
    const open = (line) => line.members && this.opened.has(line.name);
    const all = lines.flatMap((line) => (open(line) ? [line, ...line.members.sort(this.order())] : [line]));
    const shown = all.slice(0, TASK_ROWS);
    const inFold = new Set(lines.filter(open).flatMap((line) => line.members));
    this.caption.textContent = `Tasks under ${this.labels[index]}, first run. ` +
      "Similar tasks share a line: times and counts are sums, latencies are maxima.";
    this.body.replaceChildren(...shown.map((t) => this.row(t, inFold.has(t))));
    const cut = all.length > shown.length ? `, the first ${shown.length} lines shown` : "";
    byId("task-count").textContent = `${tasks.length} of ${total} tasks${cut}`;
  }

  row(task, isInFold) {
    const cells = this.columns.slice(1).map(([, , form, kind]) => el("td", { class: kind }, form(task)));
    const kind = this.columns[0][3];
    if (!task.members) {
      const name = el("th", { scope: "row", class: kind }, this.columns[0][2](task));
      return el("tr", { class: isInFold ? "of-fold" : null }, name, cells);
    }
    const isOpen = this.opened.has(task.name);
    const toggle = () => {
      if (!this.opened.delete(task.name)) this.opened.add(task.name);
      this.drawRows();
      this.body.querySelector(`[data-fold="${CSS.escape(task.name)}"]`)?.focus();
    };
    const button = el("button", { type: "button", "aria-expanded": String(isOpen), "data-fold": task.name,
      onclick: toggle }, `${task.name} × ${task.members.length}`);
    return el("tr", { class: "fold-row" }, el("th", { scope: "row", class: kind }, button), cells);
  }
}

/** Tasks that are alike: their names differ in a number at the end at most, and they have the same nice. */
const familyOf = (name) => name.replace(/[\d:/#._-]+$/, "") || name;
const FOLDED_FROM = 3;

function folded(tasks) {
  const families = Map.groupBy
    ? Map.groupBy(tasks, (t) => `${familyOf(t.name)}\n${t.nice}`)
    : tasks.reduce((map, t) => {
      const key = `${familyOf(t.name)}\n${t.nice}`;
      return map.set(key, [...(map.get(key) ?? []), t]);
    }, new Map());
  return [...families.values()].flatMap((members) => (members.length < FOLDED_FROM ? members : [together(members)]));
}

/** One line for tasks that are alike. */
function together(members) {
  const names = new Set(members.map((t) => t.name));
  const line = { name: names.size === 1 ? members[0].name : familyOf(members[0].name), id: members[0].id,
    nice: members[0].nice, members };
  for (const key of ["cpu_time_ns", "wait_ns", "sleep_ns", "switches", "wakeups"]) {
    line[key] = members.reduce((sum, t) => sum + t[key], 0);
  }
  const largest = (of) => members.map(of).reduce((a, b) => (b === null ? a : Math.max(a ?? 0, b)), null);
  for (const key of ["wakeup_latency_p50_ns", "wakeup_latency_p99_ns", "wakeup_latency_max_ns"]) {
    line[key] = largest((t) => t[key] ?? null);
  }
  if (members.some((t) => t.io)) {
    line.io = { done: members.reduce((sum, t) => sum + (t.io?.done ?? 0), 0),
      bytes: members.reduce((sum, t) => sum + (t.io?.bytes ?? 0), 0) };
    for (const key of ["read_latency_p50_ns", "read_latency_p99_ns", "write_latency_p50_ns", "write_latency_p99_ns"]) {
      line.io[key] = largest((t) => t.io?.[key] ?? null);
    }
  }
  return line;
}

/** What the limits of groups did under each policy. */
function drawLimits(report, labels) {
  const head = [headCell(rowWords(report)[0]), headCell("group"), headCell("periods", "number"),
    headCell("throttled", "number"), headCell("time throttled", "number"), headCell("bursts", "number"),
    headCell("time of bursts", "number")];
  const rows = report.policies.flatMap((policy, i) => (policy.groups ?? []).map((group) => el("tr", {},
    el("th", { scope: "row" }, breakable(labels[i])),
    el("td", {}, breakable(group.name)),
    [show(group.nr_periods, "count"), show(group.nr_throttled, "count"), showTime(group.throttled_ns),
      show(group.nr_bursts, "count"), showTime(group.burst_ns)].map((cell) => el("td", { class: "number" }, cell)))));
  if (!rows.length) return remove("limits");
  putScrollable(byId("limits-table"), "Limits of groups", table("First run.", head, rows));
}
