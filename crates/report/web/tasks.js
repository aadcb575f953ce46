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
    Object.assign(this, { report, labels, columns, column: 2, ascending: false, all: false });
    const withTasks = report.policies.flatMap((p, i) => (p.tasks.length ? [[i, labels[i]]] : []));
    const reference = report.policies.findIndex((p) => p.is_reference && p.tasks.length);
    fillSelect(byId("task-policy"), withTasks, reference < 0 ? withTasks[0][0] : reference);
    byId("task-policy").addEventListener("change", () => this.drawRows());
    byId("task-filter").addEventListener("input", () => this.drawRows());
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

  matching() {
    const policy = this.report.policies[Number(byId("task-policy").value)];
    const wanted = byId("task-filter").value.trim().toLowerCase();
    const of = this.columns[this.column][1];
    const sign = this.ascending ? 1 : -1;
    const order = (a, b) => {
      const [x, y] = [of(a), of(b)];
      // Values that were not measured come last, whichever way the column is sorted.
      if (x === null || y === null) return (x === null) - (y === null) || a.id - b.id;
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y) || a.id - b.id;
    };
    return policy.tasks.filter((t) => `${t.name} ${t.id}`.toLowerCase().includes(wanted)).sort(order);
  }

  drawRows() {
    const direction = this.ascending ? "ascending" : "descending";
    this.heads.forEach((h, i) => h.setAttribute("aria-sort", i !== this.column ? "none" : direction));
    const index = Number(byId("task-policy").value);
    const total = this.report.policies[index].tasks.length;
    const tasks = this.matching();
    const shown = tasks.slice(0, TASK_ROWS);
    this.caption.textContent = `Tasks under ${this.labels[index]}, first run.`;
    this.body.replaceChildren(...shown.map((t) => el("tr", {}, this.columns.map(([, , form, kind], i) =>
      i === 0 ? el("th", { scope: "row", class: kind }, form(t)) : el("td", { class: kind }, form(t))))));
    const cut = tasks.length > shown.length ? `, the first ${shown.length} of them shown` : "";
    byId("task-count").textContent = `${tasks.length} of ${total} tasks${cut}`;
  }
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
