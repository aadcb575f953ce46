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
  fillSelect(select, directed.map((n) => [n, n]), rankedBy(report) ?? directed[0]);
  select.addEventListener("change", () => drawRanking(report, labels, select.value));
  drawRanking(report, labels, select.value);
}

function setUpSchedule(report, labels) {
  const packed = [...document.querySelectorAll("script[data-timeline]")];
  if (!packed.length) return remove("schedule");
  const of = new Map(packed.map((script) => [Number(script.dataset.timeline), script]));
  const unpacked = new Map();
  const view = new TimelineView(byId("schedule-view"), byId("schedule-readout"), byId("tooltip"));
  const select = byId("schedule-policy");
  const reference = report.policies.findIndex((p) => p.is_reference);
  const keys = [...of.keys()];
  const nameOf = (i) => labels[i] ?? `${rowWords(report)[0]} ${i}`;
  fillSelect(select, keys.map((i) => [i, nameOf(i)]), of.has(reference) ? reference : keys[0]);
  const show = async () => {
    const index = Number(select.value);
    if (!unpacked.has(index)) unpacked.set(index, Schedule.unpack(JSON.parse(of.get(index).textContent)));
    const schedule = await unpacked.get(index);
    if (Number(select.value) === index) showSchedule(view, schedule, nameOf(index));
  };
  select.addEventListener("change", show);
  byId("schedule-task").addEventListener("input", (e) => view.highlight(e.target.value));
  for (const button of document.querySelectorAll("[data-move]")) {
    button.addEventListener("click", () => view.move(button.dataset.move));
  }
  return show();
}

function showSchedule(view, schedule, name) {
  const cut = schedule.leftOut
    ? ` It ends at ${showTime(schedule.end)}, where the limit of slices was reached; ` +
      `${schedule.leftOut.toLocaleString("en")} later ones are not shown.`
    : "";
  byId("schedule-about").textContent =
    `First run, ${schedule.total.toLocaleString("en")} slices. One row per CPU, one colour per task name. ` +
    `Zoomed out, bar height is utilisation and colour the longest slice.${cut}`;
  const options = [...new Set(schedule.tasks.map((t) => t.name))].slice(0, 200);
  byId("schedule-tasks").replaceChildren(...options.map((value) => el("option", { value })));
  view.show(schedule, name);
  view.highlight(byId("schedule-task").value);
}

const remove = (id) => byId(id).remove();

async function start() {
  const report = JSON.parse(byId("report").textContent);
  const labels = labelsOf(report);
  drawHead(report);
  drawNotices(report, labels);
  setUpRanking(report, labels);
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
    el("a", { href: `#${h.parentElement.id}` }, h.textContent))));
  await shown;
  document.documentElement.dataset.ready = "yes";
}

await start();
