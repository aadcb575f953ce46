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

const FACTOR = 2;
const MIXED = 10;
const LARGEST = 1e4;

/** How far a ratio is from 1, without direction; null if it rounds to nothing. */
function changeSize(ratio) {
  const factor = ratio < 1 ? 1 / Math.max(ratio, 0) : ratio;
  const percent = Math.abs(ratio - 1) * 100;
  if (factor >= LARGEST) return "over 10000×";
  if (factor >= 10) return `${Number(factor.toPrecision(2))}×`;
  if (factor >= FACTOR) return `${factor.toFixed(1)}×`;
  return percent >= 9.95 ? `${percent.toFixed(0)} %` : percent >= 0.05 ? `${percent.toFixed(1)} %` : null;
}

/** A change as people say it: 10 % lower, 2.3× higher. */
function showChange(ratio) {
  if (!measured(ratio)) return NOT_MEASURED;
  const size = changeSize(ratio);
  return size ? `${size} ${ratio < 1 ? "lower" : "higher"}` : "unchanged";
}

function signed(value, decimals) {
  const text = Math.abs(value).toFixed(decimals);
  return Number(text) === 0 ? "0" : `${value < 0 ? "−" : "+"}${text}`;
}

/** The interval of a change; if it tells nothing, what there are too few of. */
function showChangeInterval(ci, units) {
  if (!ci) return "";
  const [low, high] = ci;
  const isMixed = low < 1 && high > 1;
  if (isMixed && (low <= 0 || high / low >= LARGEST)) return `too few ${units}`;
  if ((low > 1 / FACTOR && high < FACTOR) || (isMixed && low > 1 / MIXED && high < MIXED)) {
    const ends = [low, high].map((r) => (r - 1) * 100);
    const decimals = ends.every((e) => Math.abs(e) < 9.95) ? 1 : 0;
    return `${signed(ends[0], decimals)}…${signed(ends[1], decimals)} %`;
  }
  const of = (r) => changeSize(r) ?? "1×";
  if (low >= 1) return `${of(low)} … ${of(high)} higher`;
  if (high <= 1) return `${of(high)} … ${of(low)} lower`;
  return `${showChange(low)} … ${showChange(high)}`;
}

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
