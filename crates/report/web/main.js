// Reads what the file carries and fills its sections; a section without content is taken out.

/** A name for each policy: as it was asked for, else its registered name and the settings in which its namesakes
 * differ. */
function labelsOf(report) {
  const labels = report.policies.map((policy) => {
    if (policy.label) return policy.label;
    const namesakes = report.policies.filter((p) => p.name === policy.name);
    const differing = Object.entries(policy.settings).filter(([k, v]) => namesakes.some((p) => p.settings[k] !== v));
    return policy.name + (differing.length ? `:${differing.map(([k, v]) => `${k}=${v}`).join(",")}` : "");
  });
  return labels.map((label, i) => {
    const earlier = labels.slice(0, i).filter((l) => l === label).length;
    return earlier ? `${label} (${earlier + 1})` : label;
  });
}

function drawHead(report) {
  byId("title").textContent = report.input.name || report.input.kind;
  const [row, rows] = rowWords(report);
  for (const label of document.querySelectorAll("[data-row]")) label.textContent = capital(row);
  byId("curve-legend").setAttribute("aria-label", `${capital(rows)} shown`);
  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const runs = report.details?.samples ?? `${count(report.runs_per_policy, "run")} for each`;
  byId("lead").textContent =
    `${report.policies.length} ${report.policies.length === 1 ? row : rows}: ${runs} ${row}, ` +
    `${showTime(report.simulated_ns)} long, on ${count(report.machine.cpus, "CPU")} at ` +
    `${report.machine.hz} Hz (${report.machine.name}). Seed ${report.seed}.`;
  byId("colophon").textContent =
    `Made by goodness ${report.goodness.version}. This file is complete: it loads nothing.`;
}

function rankedBy(report) {
  return document.documentElement.dataset.rankedBy || null;
}

function setUpRanking(report, labels) {
  const select = byId("rank-metric");
  const isDirected = (measured) => measured && measured.better !== "neither";
  const directed = metricNames(report).filter((n) => report.policies.some((p) => isDirected(p.metrics[n])));
  if (!directed.length) return remove("ranking");
  fillSelect(select, directed.map((n) => [n, titled(report, n)]), rankedBy(report) ?? directed[0]);
  select.addEventListener("change", () => drawRanking(report, labels, select.value));
  drawRanking(report, labels, select.value);
}

/** The arms whose schedules are shown, as buttons; the reference first. */
function setUpSchedule(report, labels) {
  const packed = [...document.querySelectorAll("script[data-timeline]")];
  if (!packed.length) return remove("schedule");
  const of = new Map(packed.map((script) => [Number(script.dataset.timeline), script]));
  const unpacked = new Map();
  const view = new TimelineView(byId("schedule-view"), byId("schedule-readout"), byId("tooltip"));
  view.onChoose = (line, slice) => drawChain(byId("schedule-chain"), report, line, slice);
  const reference = report.policies.findIndex((p) => p.is_reference);
  const keys = [...of.keys()];
  const shown = new Set([of.has(reference) ? reference : keys[0]]);
  const nameOf = (i) => labels[i] ?? `${rowWords(report)[0]} ${i}`;
  const show = async () => {
    const wanted = keys.filter((i) => shown.has(i));
    for (const i of wanted) {
      if (!unpacked.has(i)) unpacked.set(i, Schedule.unpack(JSON.parse(of.get(i).textContent)));
    }
    const schedules = await Promise.all(wanted.map((i) => unpacked.get(i)));
    if (wanted.join() !== keys.filter((i) => shown.has(i)).join()) return;
    showSchedules(view, wanted.map((i, k) => ({ name: nameOf(i), schedule: schedules[k] })));
  };
  drawArms(keys, nameOf, shown, show);
  byId("schedule-task").addEventListener("input", (e) => view.highlight(e.target.value));
  byId("schedule-rows").addEventListener("change", (e) => view.showRows(e.target.value));
  byId("schedule-arrows").addEventListener("change", (e) => { view.withArrows = e.target.checked; view.redraw(); });
  for (const button of document.querySelectorAll("[data-move]")) {
    button.addEventListener("click", () => view.move(button.dataset.move));
  }
  byId("schedule-save").replaceChildren(
    el("button", { type: "button", onclick: () => save("schedule.svg", "image/svg+xml", view.svg()) }, "Save as SVG"),
    el("button", { type: "button", onclick: () => saveCsv("schedule", view.csvRows()) }, "Save the window as CSV"));
  return show();
}

function drawArms(keys, nameOf, shown, show) {
  const box = byId("schedule-arms");
  if (keys.length < 2) return box.remove();
  box.setAttribute("aria-label", "Schedules under each other");
  box.replaceChildren(...keys.map((i) => el("button", {
    type: "button", "aria-pressed": String(shown.has(i)),
    onclick: (e) => {
      // One at least stays.
      if (shown.has(i) && shown.size > 1) shown.delete(i);
      else shown.add(i);
      e.currentTarget.setAttribute("aria-pressed", String(shown.has(i)));
      show();
    },
  }, nameOf(i))));
}

function showSchedules(view, arms) {
  const cuts = arms.filter((arm) => arm.schedule.leftOut).map(({ name, schedule }) =>
    ` Under ${name} it ends at ${showTime(schedule.end)}, where the limit of slices was reached; ` +
    `${schedule.leftOut.toLocaleString("en")} later ones are not shown.`);
  const total = arms.reduce((sum, arm) => sum + arm.schedule.total, 0);
  byId("schedule-about").textContent =
    `First run, ${total.toLocaleString("en")} slices. Zoomed out, bar height is the share of time, and the colour of ` +
    `a CPU that of its longest slice.${cuts.join("")}`;
  const state = (colour, text) => el("span", {}, (() => {
    const sample = el("i", { "aria-hidden": "true" });
    sample.style.background = colour;
    return sample;
  })(), text);
  const throttled = arms.some((arm) => arm.schedule.throttled);
  const offline = arms.some((arm) => arm.schedule.rows.some((row) => row.offline.length));
  byId("schedule-states").replaceChildren(state("var(--c0)", "runs (a colour for each task)"),
    state("var(--waiting)", "waits for a CPU"),
    ...(throttled ? [state("var(--throttled)", "throttled: its group is out of quota")] : []),
    ...(offline ? [state("var(--offline)", "offline: the CPU is unplugged")] : []),
    state("var(--asleep)", "sleeps"),
    state("var(--on-disk)", "waits uninterruptibly: disk, lock"));
  const options = [...new Set(arms.flatMap((arm) => arm.schedule.tasks.map((t) => t.name)))].slice(0, 200);
  byId("schedule-tasks").replaceChildren(...options.map((value) => el("option", { value })));
  view.show(arms);
  view.highlight(byId("schedule-task").value);
}

/** Opens the section that a link leads to, and all for print. */
function setUpFolds() {
  const open = () => {
    const section = document.getElementById(location.hash.slice(1));
    section?.querySelector("details")?.setAttribute("open", "");
  };
  addEventListener("hashchange", open);
  open();
  const folds = () => [...document.querySelectorAll(".fold > details")];
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = folds().filter((d) => !d.open);
    opened.forEach((d) => { d.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((d) => { d.open = false; }));
}

const remove = (id) => byId(id).remove();

async function start() {
  const report = JSON.parse(byId("report").textContent);
  const labels = labelsOf(report);
  drawHead(report);
  drawNotices(report, labels);
  setUpRanking(report, labels);
  drawBalance(report, labels);
  if (metricNames(report).length) drawMetrics(report, labels);
  else remove("metrics");
  if (report.policies.some((p) => p.distributions?.some((d) => d.quantiles.length))) new Curves(report, labels);
  else remove("latency");
  if (report.policies.some((p) => p.tasks.length)) new Tasks(report, labels);
  else remove("tasks");
  drawLimits(report, labels);
  drawEffects(report);
  drawFidelity(report);
  drawReproduce(report, labels);
  const shown = setUpSchedule(report, labels);
  const headings = [...document.querySelectorAll("main h2")];
  byId("contents").replaceChildren(...headings.map((h) => el("li", {},
    el("a", { href: `#${h.closest("section").id}` }, h.textContent))));
  setUpFolds();
  await shown;
  document.documentElement.dataset.ready = "yes";
}

await start();
