// Numbers as people read them; the same rules as the terminal form.

const NOT_MEASURED = "–";
const measured = (value) => typeof value === "number" && Number.isFinite(value);

const TIME = [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]];
const BYTES = [[1e9, " GB"], [1e6, " MB"], [1e3, " kB"], [1, " B"]];
const PLAIN = [[1e9, " G"], [1e6, " M"], [1, ""]];

/** Three significant digits, or all digits of the whole part where it has more. */
function digits(value) {
  const exponent = Number(value.toExponential(2).split("e")[1]);
  const decimals = Number.isInteger(value) ? 0 : Math.min(6, Math.max(0, 2 - exponent));
  return value.toFixed(decimals).replace("-", "−");
}

function scaled(value, scale) {
  const [unit, name] = scale.find(([unit]) => Math.abs(value) / unit >= 0.9995) ?? scale.at(-1);
  return digits(value / unit) + name;
}

/** A value with its unit. */
function show(value, unit) {
  if (!measured(value)) return NOT_MEASURED;
  switch (unit) {
    case "ns": return scaled(value, TIME);
    case "share": return `${digits(value * 100)} %`;
    case "bytes": return scaled(value, BYTES);
    case "bytes/s": return `${scaled(value, BYTES)}/s`;
    case "count": case "ratio": case "": return scaled(value, PLAIN);
    case "1/s": return `${scaled(value, PLAIN)}/s`;
    default: return `${scaled(value, PLAIN)} ${unit}`;
  }
}

/** The value of a metric; of a percentile with too few observations their number. */
const showMetric = (metric, name) =>
  /_p\d+$/.test(name) && !measured(metric?.value) && metric?.samples > 0
    ? `n = ${metric.samples}` : show(metric?.value, metric?.unit);

const showTime = (ns) => show(ns, "ns");
const showShare = (share) => show(share, "share");

/** An interval; a unit that both ends share is written once. */
function showInterval(ci, unit) {
  if (!ci) return NOT_MEASURED;
  const [low, high] = [show(ci[0], unit), show(ci[1], unit)];
  const [lowUnit, highUnit] = [low, high].map((t) => t.split(" ")[1]);
  return lowUnit === highUnit ? `${low.split(" ")[0]}…${high}` : `${low} … ${high}`;
}

const plainRatio = (r) => (Math.abs(r) >= 0.1 && Math.abs(r) < 10 ? r.toFixed(2) : digits(r));
const showRatio = (ratio) => (measured(ratio) ? `${plainRatio(ratio)}×` : NOT_MEASURED);
const showRatioInterval = (ci) => (ci ? `${plainRatio(ci[0])}…${plainRatio(ci[1])}` : "");

/** A moment of a run with as many digits as the step between neighbours needs. */
function showMoment(ns, step) {
  const [unit, name] = TIME.find(([unit]) => step >= unit || Math.abs(ns) >= unit) ?? TIME.at(-1);
  const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / Math.max(step, 1)))));
  return (ns / unit).toFixed(decimals) + name;
}

/** Round numbers between low and high, about `count` of them. */
function linearTicks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const ticks = [];
  for (let t = Math.ceil(low / step); t * step <= high; t++) ticks.push(t * step);
  return { ticks, step };
}
