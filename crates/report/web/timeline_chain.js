// Why a slice of the schedule began late: who ran on its CPU while its task waited, and what its waker waited for.

/** Links of a chain that are shown. */
const CHAIN = 6;
/** Tasks that are named in a link. */
const NAMED = 4;

/** The wait before slice `i` of a CPU, then that of the task that woke it, and so on back in time. */
function chainOf(schedule, cpu, i) {
  const links = [];
  for (let at = { cpu, i }; at && links.length < CHAIN;) {
    const row = schedule.rows[at.cpu];
    const [to, waited] = [row.start[at.i], row.waited[at.i]];
    if (!waited) break;
    const from = to - waited;
    const isWoken = Boolean(row.flags[at.i] & WOKEN);
    const waker = isWoken && row.waker[at.i] ? row.waker[at.i] - 1 : null;
    links.push({ task: row.task[at.i], cpu: at.cpu, from, to, isWoken, waker, behind: ranIn(row, from, to) });
    at = waker === null ? null : sliceOf(schedule, waker, from);
  }
  return links;
}

/** Who ran on a CPU between two times, longest first: `[task, time]`. */
function ranIn(row, from, to) {
  const times = new Map();
  for (let i = Schedule.firstAfter(row, from); i < row.count && row.start[i] < to; i++) {
    const time = Math.min(to, row.end[i]) - Math.max(from, row.start[i]);
    times.set(row.task[i], (times.get(row.task[i]) ?? 0) + time);
  }
  return [...times].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

/** The slice in which a task was at a time, as CPU and number. */
function sliceOf(schedule, task, t) {
  const row = schedule.byTask().find((it) => it.task === task);
  const found = row ? [t, t - 1].map((at) => Schedule.at(row, at)).find((i) => i >= 0) : undefined;
  return found === undefined ? null : { cpu: row.cpu[found], i: row.index[found] };
}

/** A link in words. */
function linkWords(schedule, { task, cpu, from, to, isWoken, waker, behind }) {
  const name = schedule.label(task);
  const ran = behind.reduce((sum, [, time]) => sum + time, 0);
  const parts = behind.slice(0, NAMED).map(([who, time]) => `${schedule.label(who)} ${showTime(time)}`);
  const others = behind.slice(NAMED).reduce((sum, [, time]) => sum + time, 0);
  if (others) parts.push(`${behind.length - NAMED} others ${showTime(others)}`);
  if (to - from > ran) parts.push(`nobody ${showTime(to - from - ran)}`);
  const by = waker === null ? "a timer or something outside" : schedule.label(waker);
  const how = isWoken ? `woken by ${by} at ${showMoment(from, 1)}` : `off the CPU since ${showMoment(from, 1)}`;
  return `${name}, ${how}, waited ${showTime(to - from)} for CPU ${cpu}. There ran ${parts.join(", ")}.`;
}

/** Options of `goodness compare` that `goodness why` takes, too, and switches without a value. */
const CARRIED = new Set(["--machine", "--judge", "--fact", "--arrivals", "--ends", "--recorded-by", "--device",
  "--block-events", "--io-cost", "--seed"]);
const SWITCHES = new Set(["--lenient", "--without-others", "--block-only"]);
const DROPPED = new Set(["--verbose", "--quiet", "--no-html", "--timing", "--decide", "--cite"]);
/** Of options of one letter only that of a policy has a value, which may be the next word. */
const POLICY = /^-[qv]*p$/;

/** The command that explains what is late at a time under an arm; null where none does. */
function whyCommand(report, label, at) {
  const words = report.details?.command?.match(/(?:'[^']*'|\\.|[^\s'\\])+/g) ?? [];
  if (!["compare", "run"].includes(words[1]) || words.includes("--as-arms")) return null;
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const [inputs, kept] = [words.slice(end + 1), []];
  for (let i = 2; i < end; i++) {
    const [word, value] = [words[i], words[i + 1]];
    const takesValue = word.startsWith("--") ? !word.includes("=") : POLICY.test(word);
    const hasValue = takesValue && i + 1 < end && !value.startsWith("-");
    if (!word.startsWith("-")) inputs.push(word);
    else if (SWITCHES.has(word)) kept.push(word);
    else if (!DROPPED.has(word)) {
      if (CARRIED.has(word.split("=")[0])) kept.push(word, ...(hasValue ? [value] : []));
      if (hasValue) i++;
    }
  }
  if (inputs.length > 1) return null;
  const arm = label.replace(/ \(\d+\)$/, "");
  const isPolicy = words.some((it) => /^(-[qv]*p|--policy|--elevator)/.test(it));
  // With policies a label is POLICY or POLICY+ELEVATOR, else what --arm reads.
  const [policy, elevator] = arm.split("+");
  const under = isPolicy ? ["-p", policy, ...(elevator ? ["--elevator", elevator] : [])]
    : ["--arm", /^[\w.:=,-]+$/.test(arm) ? arm : `'${arm.replaceAll("'", "'\\''")}'`];
  const isDashed = inputs[0]?.startsWith("-");
  const [before, after] = isDashed ? [[], ["--", ...inputs]] : [inputs, []];
  return ["goodness why", ...before, ...under, ...kept, "--of all", `--at ${Math.round(at)}ns`, ...after].join(" ");
}

/** Shows the chain of a chosen slice, or hides the last one. */
function drawChain(box, report, line, slice) {
  const isOfTask = line?.kind === "task";
  const at = !line?.row || slice < 0 ? null
    : { cpu: isOfTask ? line.row.cpu[slice] : line.cpu, i: isOfTask ? line.row.index[slice] : slice };
  const links = at ? chainOf(line.arm.schedule, at.cpu, at.i) : [];
  box.hidden = !links.length;
  if (!links.length) return box.replaceChildren();
  const command = whyCommand(report, line.arm.name, (links[0].from + links[0].to) / 2);
  box.replaceChildren(el("ol", {}, ...links.map((link) => el("li", {}, linkWords(line.arm.schedule, link)))),
    ...(command ? [el("pre", { tabindex: "0" }, el("code", {}, command))] : []));
}
