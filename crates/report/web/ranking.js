// Ranking, all metrics, fidelity, and what is needed to reproduce the report.

const VERDICTS = {
  better: ["▲", "better"], worse: ["▼", "worse"], same: ["=", ""], inconclusive: ["?", "unsure"],
};

function ranked(report, name) {
  const of = (p) => p.metrics[name];
  const value = (p) => (of(p) && measured(of(p).value) ? of(p).value : null);
  const sign = report.policies.some((p) => of(p)?.better === "higher") ? -1 : 1;
  const order = report.policies.map((_, i) => i);
  return order.sort((a, b) => {
    const [x, y] = [value(report.policies[a]), value(report.policies[b])];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    return sign * (x - y) || a - b;
  });
}

function verdictCell(policy, metric) {
  if (policy.violations.length) return el("td", { class: "verdict violated-word" }, "VIOLATED");
  if (policy.is_reference) return el("td", { class: "verdict" }, "reference");
  const verdict = metric?.vs_reference?.verdict;
  if (!verdict) return el("td", { class: "verdict quiet" }, NOT_MEASURED);
  const [mark, kind] = VERDICTS[verdict];
  return el("td", { class: `verdict ${kind}` }, `${mark} ${verdict}`);
}

/** Where values stand in the plot: a linear scale over all intervals, with some air. */
function plotScale(report, name) {
  const metrics = report.policies.map((p) => p.metrics[name]).filter((m) => m && measured(m.value));
  const values = metrics.flatMap((m) => [m.value, ...(m.ci95 ?? [])]);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  // Intervals that span little are shown large; others start at zero, so that lengths compare.
  if (low > 0 && low < 0.6 * high) low = 0;
  const air = (high - low || Math.abs(high) || 1) * 0.06;
  [low, high] = [low === 0 ? 0 : low - air, high + air];
  return { low, high, at: (v) => `${((v - low) / (high - low)) * 100}%`, unit: metrics[0]?.unit ?? "" };
}

function plotCell(report, policy, metric, scale, name) {
  const reference = report.policies.find((p) => p.is_reference)?.metrics[name];
  const parts = [];
  if (reference && measured(reference.value)) {
    if (reference.ci95) {
      const [a, b] = reference.ci95.map((v) => parseFloat(scale.at(v)));
      parts.push(svg("rect", { class: "reference-band", x: `${a}%`, width: `${b - a}%`, y: 0, height: 34 }));
    }
    const x = scale.at(reference.value);
    parts.push(svg("line", { class: "reference-line", x1: x, x2: x, y1: 0, y2: 34 }));
  }
  if (metric && measured(metric.value)) {
    if (metric.ci95) {
      const [x1, x2] = metric.ci95.map(scale.at);
      parts.push(svg("line", { class: "whisker", x1, x2, y1: 17, y2: 17 }));
      for (const x of [x1, x2]) parts.push(svg("line", { class: "whisker", x1: x, x2: x, y1: 13, y2: 21 }));
    }
    parts.push(svg("circle", { class: "dot", cx: scale.at(metric.value), cy: 17, r: 4.5 }));
  }
  const drawing = svg("svg", { height: 34, "aria-hidden": "true", focusable: "false" }, parts);
  drawing.style.color = colourOf(report.policies.indexOf(policy));
  return el("td", { class: "plot" }, drawing);
}

function plotHead(scale) {
  const { ticks } = linearTicks(scale.low, scale.high, innerWidth < 640 ? 1.5 : 4);
  const marks = ticks.flatMap((t) => [
    svg("line", { class: "axis", x1: scale.at(t), x2: scale.at(t), y1: 16, y2: 20 }),
    svg("text", { x: scale.at(t), y: 11, "text-anchor": t === 0 ? "start" : "middle" },
      t === 0 ? "0" : show(t, scale.unit)),
  ]);
  const drawing = svg("svg", { height: 20, "aria-hidden": "true", focusable: "false" }, marks);
  return el("th", { scope: "col", class: "plot" }, el("span", { class: "visually-hidden" }, "plot"), drawing);
}

function drawRanking(report, labels, name) {
  const about = report.details?.metrics?.find((m) => m.name === name)?.summary;
  const any = report.policies.map((p) => p.metrics[name]).find(Boolean);
  const direction = { lower: "Lower is better.", higher: "Higher is better.",
    neither: "Neither direction is better in itself." };
  const samples = report.policies.reduce((sum, p) => sum + (p.metrics[name]?.samples ?? 0), 0);
  byId("rank-about").textContent = [about, direction[any?.better],
    `${samples.toLocaleString("en")} observations in all.`]
    .filter(Boolean).join(" ");
  const scale = plotScale(report, name);
  const [row, rows] = rowWords(report);
  const head = [headCell("#", "number wide-only"), headCell(row), headCell("value", "number"), plotHead(scale),
    headCell("95 % interval", "number wide-only"), headCell("change", "number"),
    headCell("its 95 %", "number wide-only"), headCell("verdict")];
  const body = ranked(report, name).map((index, place) => {
    const policy = report.policies[index];
    const metric = policy.metrics[name];
    const has = metric && measured(metric.value);
    return el("tr", { class: policy.is_reference ? "reference" : null },
      el("td", { class: "number quiet wide-only" }, has ? String(place + 1) : NOT_MEASURED),
      el("th", { scope: "row", class: "name" }, breakable(labels[index])),
      el("td", { class: "number" }, showMetric(metric, name)),
      plotCell(report, policy, metric, scale, name),
      el("td", { class: "number quiet wide-only" }, showInterval(metric?.ci95, metric?.unit)),
      el("td", { class: "number" }, metric?.vs_reference ? showChange(metric.vs_reference.ratio) : ""),
      el("td", { class: "number quiet wide-only" }, showChangeInterval(metric?.vs_reference?.ci95, unitsOf(report))),
      verdictCell(policy, metric));
  });
  const caption = `${capital(rows)} by ${titled(report, name)}: estimate, 95 % confidence interval, and change from ` +
    "the reference, paired by seed.";
  putScrollable(byId("rank-table"), "Ranking", table(caption, head, body));
  const rowsOf = () => [[row, name, "unit", "low", "high", "ratio", "ratio low", "ratio high", "verdict"],
    ...ranked(report, name).map((i) => {
      const m = report.policies[i].metrics[name];
      return [labels[i], m?.value, m?.unit, ...(m?.ci95 ?? ["", ""]), m?.vs_reference?.ratio,
        ...(m?.vs_reference?.ci95 ?? ["", ""]), m?.vs_reference?.verdict].map((v) => String(v ?? ""));
    })];
  offer("rank-save", () => rankingDrawing(report, labels, name), rowsOf, () => `ranking-${name}`);
}

/** The plots of the ranking as one drawing with labels and axis. */
function rankingDrawing(report, labels, name) {
  const [scale, order] = [plotScale(report, name), ranked(report, name)];
  const [left, width, height] = [220, 860, 40 + 34 * order.length];
  const part = (y, node, high) => {
    for (const [key, value] of [["x", left], ["y", y], ["width", width - left - 20], ["height", high]]) {
      node.setAttribute(key, value);
    }
    return node;
  };
  const plots = order.map((index, place) => {
    const policy = report.policies[index];
    return part(24 + 34 * place, plotCell(report, policy, policy.metrics[name], scale, name).firstChild, 34);
  });
  const texts = order.map((index, place) =>
    svg("text", { x: left - 12, y: 45 + 34 * place, "text-anchor": "end" }, labels[index]));
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, texts, plots,
    part(0, plotHead(scale).querySelector("svg"), 20),
    svg("text", { x: left, y: height - 4 }, titled(report, name)));
  byId("rank-save").append(el("span", { hidden: true }, drawing));
  return drawing;
}

/** Slowest answers, throughput, and what they cost: the metrics that a server's owner weighs. */
function drawBalance(report, labels) {
  const first = rankedBy(report);
  const tail = first?.replace(/_p99$/, "_p999");
  const names = [first, tail, ...BALANCE].filter((n, i, all) => n && all.indexOf(n) === i)
    .filter((n) => report.policies.some((p) => measured(p.metrics[n]?.value)));
  if (!names.length || report.policies.length < 2) return remove("balance");
  const head = [headCell(rowWords(report)[0]), ...names.map((n) => headCell(titleOf(report, n), "figures"))];
  const own = report.policies.find((p) => p.is_reference);
  const rows = (first ? ranked(report, first) : labels.map((_, i) => i)).map((index) => {
    const policy = report.policies[index];
    return el("tr", { class: policy.is_reference ? "reference" : null },
      el("th", { scope: "row", class: "name" }, breakable(labels[index])),
      names.map((n) => el("td", { class: "number" }, ...metricCell(policy, n), changeOf(own, policy, n))));
  });
  putScrollable(byId("balance-table"), "Tail, throughput, cost", table("Mean over the runs.", head, rows));
}

const BALANCE = ["throughput", "context_switches", "scheduler_share"];

/** The change of a figure from the reference's, small. */
function changeOf(own, policy, name) {
  const [from, to] = [own?.metrics[name]?.value, policy.metrics[name]?.value];
  if (policy.is_reference || !measured(from) || !measured(to) || from === 0) return null;
  const ratio = policy.metrics[name].vs_reference?.ratio ?? to / from;
  return el("span", { class: "quiet beside" }, showChange(ratio));
}

function metricCell(policy, name) {
  const metric = policy.metrics[name];
  const word = measured(metric?.value) ? metric.vs_reference?.verdict : undefined;
  const [mark, kind] = VERDICTS[word] ?? ["", ""];
  const sign = mark ? el("span", { class: kind, title: word, role: "img", "aria-label": word }, ` ${mark}`) : null;
  return [showMetric(metric, name), sign];
}

function drawMetrics(report, labels) {
  const names = metricNames(report);
  const head = [headCell("metric"), ...labels.map((l) => headCell(breakable(l), "figures name"))];
  const rows = names.map((name) => el("tr", {},
    el("th", { scope: "row" }, titleOf(report, name), el("br"), el("code", { class: "quiet" }, breakable(name))),
    report.policies.map((policy) => el("td", { class: "number" }, ...metricCell(policy, name)))));
  const caption = `Every metric of every ${rowWords(report)[0]}.`;
  putScrollable(byId("metrics-table"), "All metrics", table(caption, head, rows));
}

function metricNames(report) {
  const names = report.policies.flatMap((p) => Object.keys(p.metrics));
  const seen = new Set(names);
  return [...seen].filter((n) => report.policies.some((p) => measured(p.metrics[n]?.value)));
}

function drawFidelity(report) {
  const box = byId("fidelity-box");
  if (!report.fidelity) {
    const recorded = report.input.kind === "trace";
    const block = recorded && report.policies.some((p) => measured(p.metrics.iops?.value));
    box.append(el("p", { class: recorded ? "notice" : "about" }, block
      ? "The notes say how far each elevator's submissions were from their recorded times."
      : recorded
      ? "Not measured: run `goodness verify` on this recording before trusting a difference."
      : "The input is not a recording, so there is nothing to be faithful to."));
    return;
  }
  const { policy, metrics } = report.fidelity;
  box.append(el("p", { class: "about" },
    `The recording is compared with its replay under ${policy}, which stands in for the recording kernel. ` +
    `A difference between ${rowWords(report)[1]} smaller than this error is inconclusive.`));
  const rows = Object.entries(metrics).map(([name, m]) => {
    const missed = measured(m.error) && measured(m.tolerance) && m.error > m.tolerance;
    const promise = measured(m.tolerance) ? `≤ ${showShare(m.tolerance)}${missed ? ", missed" : ""}` : "";
    return el("tr", {}, el("th", { scope: "row" }, titleOf(report, name)),
      el("td", { class: "number" }, show(m.recorded, m.unit)), el("td", { class: "number" }, show(m.replayed, m.unit)),
      el("td", { class: "number" }, showShare(m.error)), el("td", { class: missed ? "unsure" : "" }, promise));
  });
  const head = [headCell("metric"), headCell("recorded", "number"), headCell("replayed", "number"),
    headCell("error", "number"), headCell("promised")];
  const scroll = el("div", { class: "scroll" });
  box.append(scroll);
  putScrollable(scroll, "Fidelity", table("Recorded and replayed, metric by metric.", head, rows));
}

/** What policies and elevators do by themselves and to each other. */
function drawEffects(report) {
  const effects = report.details?.effects;
  if (!effects) return remove("effects");
  byId("effects-about").textContent =
    `Effects on the ${titleOf(report, effects.metric)}, as changes against the first policy and the first ` +
    "elevator. An interaction is what a pair does beyond what both do by themselves.";
  const rows = effects.rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.factor),
    el("td", {}, breakable(row.level)),
    el("td", { class: "number" }, showChange(row.ratio)),
    el("td", { class: "number" }, showChangeInterval(row.ci95, unitsOf(report)))));
  const head = [headCell("factor"), headCell("level"), headCell("change", "number"),
    headCell("95 % interval", "number")];
  putScrollable(byId("effects-table"), "Effects", table("Main effects and interaction.", head, rows));
}

const counted = (list) => el("ul", { class: "plain" }, list.map((c) =>
  el("li", {}, `${c.count.toLocaleString("en")} ${c.what}`)));
const sentences = (list) => el("ul", { class: "plain" }, list.map((s) => el("li", {}, s)));

function drawReproduce(report, labels) {
  const box = byId("reproduce-box");
  const d = report.details ?? {};
  if (d.command) box.append(el("pre", { tabindex: "0", role: "region", "aria-label": "Command" },
    el("code", {}, d.command)));
  const facts = [
    ["Input", `${report.input.name} (${report.input.kind})`],
    ["SHA-256", report.input.sha256],
    ["Lost events", report.input.lost_events === null ? "not known" : report.input.lost_events.toLocaleString("en")],
    ["Machine", `${report.machine.name}: ${report.machine.cpus} CPU${report.machine.cpus === 1 ? "" : "s"}, ` +
      `${report.machine.hz} Hz`],
    ["Seed", String(report.seed)],
    ["Runs", `${report.runs_per_policy} for each ${rowWords(report)[0]}, of ${showTime(report.simulated_ns)} each`],
    ["Between runs", d.what_varies],
    ["Program", `goodness ${report.goodness.version}${report.goodness.commit ? ` (${report.goodness.commit})` : ""}`],
  ];
  box.append(el("dl", {}, facts.filter(([, v]) => v).flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)])));
  const parts = [["About the work", d.workload_notes, sentences], ["About the machine", d.machine_notes, sentences],
    ["Repaired in the recording", d.repairs, counted], ["Not known from the recording", d.unknowns, counted]];
  for (const [title, list, form] of parts) if (list?.length) box.append(el("h3", {}, title), form(list));
  drawSettings(report, labels, box);
}

function drawSettings(report, labels, box) {
  const timed = report.policies.some((policy) => policy.simulation_wall_ns !== null);
  const rows = report.policies.map((policy, index) => el("tr", { class: policy.is_reference ? "reference" : null },
    el("th", { scope: "row", class: "name" }, breakable(labels[index])),
    el("td", {}, Object.entries(policy.settings).map(([k, v]) => `${k}=${v}`).join(", ") || "no tunables"),
    el("td", { class: "number" }, policy.decisions === null ? NOT_MEASURED : policy.decisions.toLocaleString("en")),
    ...(timed ? [el("td", { class: "number" }, showTime(policy.simulation_wall_ns))] : [])));
  const head = [headCell(rowWords(report)[0]), headCell("settings"), headCell("decisions", "number"),
    ...(timed ? [headCell("simulated in", "number")] : [])];
  const scroll = el("div", { class: "scroll" });
  box.append(el("h3", {}, "Settings"), scroll);
  putScrollable(scroll, "Settings", table("All tunables with the values used.", head, rows));
}

function drawNotices(report, labels) {
  const box = byId("notices");
  const violated = (v, label) => el("p", { class: "notice violated" },
    el("b", { class: "violated-word" }, "Violated: "),
    `${v.checker} under ${label} at ${showTime(v.at_ns)}: ${v.message} `,
    el("code", {}, v.reproduce));
  report.policies.forEach((policy, index) => {
    box.append(...policy.violations.map((v) => violated(v, labels[index])));
  });
  const lost = report.input.lost_events
    ? [`The recording lost ${report.input.lost_events.toLocaleString("en")} events.`] : [];
  const reasons = report.trust?.verdict === "untrusted"
    ? report.trust.because.slice(1).map((r) => `Untrusted, too: ${r}.`) : [];
  const all = [...reasons, ...lost, ...(report.details?.warnings ?? [])].map((t) => el("p", { class: "notice" }, t));
  box.append(...all.slice(0, NOTICES));
  const more = all.slice(NOTICES);
  if (more.length) box.append(el("details", {}, el("summary", {}, `${more.length} more`), more));
}

/** Notices that are not folded. */
const NOTICES = 3;
