// The schedule of one run: unpacked into typed arrays, with what makes any zoom level cheap to draw.
//
// Per CPU: slices by start; `busy[i]` = CPU time of the slices before i, so that the occupancy of any interval
// is two look-ups; `longest` = a pyramid of the longest slice among 2, 4, 8 … neighbours, so that the slice
// that stands for a crowd is found in a few steps.

const LEFT = ["still running", "preempted", "yielded", "slept", "waited uninterruptibly", "exited"];
const WOKEN = 8;

async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers of seven bits a byte, the lowest first; the eighth bit says that more follow. */
function varints(bytes, count) {
  const numbers = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      if (byte < 128) break;
      factor *= 128;
    }
    numbers[i] = value;
  }
  return numbers;
}

class Schedule {
  /** From the packed form that the report carries. */
  static async unpack(packed) {
    const total = packed.counts.reduce((a, b) => a + b, 0);
    const names = ["gap", "length", "task", "waited", "flags", "waker"];
    const columns = await Promise.all(names.map(async (n) => varints(await inflate(packed.columns[n]), total)));
    const schedule = new Schedule(packed, Object.fromEntries(names.map((n, i) => [n, columns[i]])), total);
    if (packed.throttled) schedule.throttled = await Schedule.unpackThrottled(packed.throttled);
    return schedule;
  }

  /** By task: begins and ends of its times out of quota, and their sum before each. */
  static async unpackThrottled({ count, ...columns }) {
    const names = ["task", "gap", "length"];
    const [task, gap, length] = await Promise.all(names.map(async (n) => varints(await inflate(columns[n]), count)));
    const all = new Map();
    for (let i = 0, at = 0; i < count; i++) {
      at += gap[i];
      if (!all.has(task[i])) all.set(task[i], { start: [], end: [], sum: [0] });
      const own = all.get(task[i]);
      own.start.push(at);
      own.end.push(at + length[i]);
      own.sum.push(own.sum.at(-1) + length[i]);
    }
    return all;
  }

  constructor(packed, columns, total) {
    Object.assign(this, { tasks: packed.tasks, end: Math.max(packed.end, 1), leftOut: packed.left_out, total });
    let from = 0;
    this.rows = packed.counts.map((count) => {
      const row = Schedule.row(columns, from, count);
      from += count;
      return Object.assign(row, { offline: [] });
    });
    for (const [cpu, start, end] of packed.offline ?? []) this.rows[cpu].offline.push({ start, end });
  }

  static row(columns, from, count) {
    const part = (name) => columns[name].subarray(from, from + count);
    const [gap, length] = [part("gap"), part("length")];
    const [start, end, busy] = [new Float64Array(count), new Float64Array(count), new Float64Array(count + 1)];
    for (let i = 0, at = 0; i < count; i++) {
      start[i] = at + gap[i];
      at = end[i] = start[i] + length[i];
      busy[i + 1] = busy[i] + length[i];
    }
    const row = { count, start, end, busy, task: Uint32Array.from(part("task")), waited: part("waited"),
      flags: Uint8Array.from(part("flags")), waker: Uint32Array.from(part("waker")) };
    row.longest = Schedule.pyramid(row);
    return row;
  }

  static pyramid({ count, start, end }) {
    const levels = [Uint32Array.from({ length: count }, (_, i) => i)];
    while (levels.at(-1).length > 1) {
      const below = levels.at(-1);
      const level = new Uint32Array((below.length + 1) >> 1);
      for (let i = 0; i < level.length; i++) {
        const [a, b] = [below[2 * i], below[Math.min(2 * i + 1, below.length - 1)]];
        level[i] = end[b] - start[b] > end[a] - start[a] ? b : a;
      }
      levels.push(level);
    }
    return levels;
  }

  /** Index of the first slice that ends after `t`. */
  static firstAfter(row, t) { return lowerBound(row.end, t, 0); }

  /** The longest of the slices from..to. */
  static longestOf(row, from, to) {
    let best = from;
    const take = (i) => { if (row.end[i] - row.start[i] > row.end[best] - row.start[best]) best = i; };
    let [low, high] = [from, to];
    for (let level = 0; low < high; level++) {
      if (low & 1) take(row.longest[level][low++]);
      if (high & 1) take(row.longest[level][--high]);
      low >>= 1;
      high >>= 1;
    }
    return best;
  }

  /** CPU time used before `t`. */
  static busyBefore(row, t) {
    const i = Schedule.firstAfter(row, t);
    return row.busy[i] + (i < row.count ? Math.max(0, t - row.start[i]) : 0);
  }

  /** The slice of a row that covers `t`, or -1. */
  static at(row, t) {
    const i = Schedule.firstAfter(row, t);
    return i < row.count && row.start[i] <= t ? i : -1;
  }

  /** The slice of a row at `t`, or, of a task that waits then, the one that ends the wait; else -1. */
  static waitOrSlice(row, t) {
    const i = Schedule.firstAfter(row, t);
    if (i >= row.count) return -1;
    return row.start[i] - (row.wait ? row.waited[i] : 0) <= t ? i : -1;
  }

  /** Share of the CPUs that were busy in each of `parts` equal parts of the time up to `end`. */
  load(parts, end) {
    const load = new Float32Array(parts);
    for (const row of this.rows) {
      for (let x = 0, before = 0; x < parts; x++) {
        const after = Schedule.busyBefore(row, ((x + 1) / parts) * end);
        load[x] += (after - before) / (end / parts) / this.rows.length;
        before = after;
      }
    }
    return load;
  }

  /** A row for each task that ran, those that used most CPU time first. */
  byTask() {
    this.taskRows ??= this.sortByTask();
    return this.taskRows;
  }

  sortByTask() {
    const counts = new Map();
    for (const row of this.rows) for (const task of row.task) counts.set(task, (counts.get(task) ?? 0) + 1);
    const room = (n) => ({ cpu: new Uint16Array(n), index: new Uint32Array(n), start: new Float64Array(n), count: 0 });
    const places = new Map([...counts].map(([task, count]) => [task, room(count)]));
    this.rows.forEach((row, cpu) => {
      for (let i = 0; i < row.count; i++) {
        const place = places.get(row.task[i]);
        const at = place.count++;
        [place.cpu[at], place.index[at], place.start[at]] = [cpu, i, row.start[i]];
      }
    });
    const rows = [...places].map(([task, place]) => this.taskRow(task, place));
    return rows.sort((a, b) => b.busy[b.count] - a.busy[a.count] || a.task - b.task);
  }

  /** One task's slices by start, with running sums of the time it ran and waited. */
  taskRow(task, { cpu, index, start, count }) {
    const order = Uint32Array.from({ length: count }, (_, i) => i);
    if (start.some((t, i) => i > 0 && t < start[i - 1])) order.sort((a, b) => start[a] - start[b]);
    const of = (make, value) => make.from(order, (k) => value(this.rows[cpu[k]], index[k], k));
    const row = {
      task, count, start: of(Float64Array, (r, i) => r.start[i]), end: of(Float64Array, (r, i) => r.end[i]),
      waited: of(Float64Array, (r, i) => r.waited[i]), flags: of(Uint8Array, (r, i) => r.flags[i]),
      waker: of(Uint32Array, (r, i) => r.waker[i]), cpu: of(Uint16Array, (r, i, k) => cpu[k]),
      index: of(Uint32Array, (r, i) => i), busy: new Float64Array(count + 1), wait: new Float64Array(count + 1),
      throttled: this.throttled?.get(task),
    };
    for (let i = 0; i < count; i++) {
      row.busy[i + 1] = row.busy[i] + row.end[i] - row.start[i];
      row.wait[i + 1] = row.wait[i] + row.waited[i];
    }
    return row;
  }

  /** Time a task ran before `t`; `cursor` remembers where, for ascending times. */
  static ran(row, t, cursor) {
    const i = (cursor.run = lowerBound(row.end, t, cursor.run));
    return row.busy[i] + (i < row.count ? Math.max(0, t - row.start[i]) : 0);
  }

  /** Time a task waited before `t`. */
  static waitedBefore(row, t, cursor) {
    const i = (cursor.wait = lowerBound(row.start, t, cursor.wait));
    return row.wait[i] + (i < row.count ? Math.max(0, t - (row.start[i] - row.waited[i])) : 0);
  }

  /** Time a task was out of quota before `t`. */
  static throttledBefore(row, t, cursor) {
    if (!row.throttled) return 0;
    const { start, end, sum } = row.throttled;
    const i = (cursor.throttled = lowerBound(end, t, cursor.throttled ?? 0));
    return sum[i] + (i < end.length ? Math.max(0, t - start[i]) : 0);
  }

  /** The next time after `t`, and at most `until`, at which a task is throttled or no longer so. */
  static throttleChange(row, t, until, cursor) {
    if (!row.throttled) return until;
    const { start, end } = row.throttled;
    const i = lowerBound(end, t, cursor.throttled ?? 0);
    return i < end.length ? Math.min(until, start[i] > t ? start[i] : end[i]) : until;
  }

  /** True if a task is out of quota at `t`. */
  static isThrottled(row, t) {
    if (!row.throttled) return false;
    const i = lowerBound(row.throttled.end, t, 0);
    return i < row.throttled.end.length && row.throttled.start[i] <= t;
  }

  /** How long what a task does at `t` lasts, and its state if it neither runs nor waits. */
  static steadyUntil(row, t, cursor) {
    const i = lowerBound(row.end, t, cursor.run);
    if (i >= row.count) {
      return { until: Schedule.throttleChange(row, t, Infinity, cursor), state: Schedule.afterOf(row, i - 1) };
    }
    if (row.start[i] <= t) return { until: row.end[i], state: "" };
    const ready = row.start[i] - row.waited[i];
    if (ready <= t) return { until: Schedule.throttleChange(row, t, row.start[i], cursor), state: "" };
    return { until: ready, state: Schedule.afterOf(row, i - 1) };
  }

  /** What a task does after a slice of its, until it is woken: disk stands for every uninterruptible wait. */
  static afterOf(row, i) {
    const off = i < 0 ? 5 : row.flags[i] & 7;
    return ["", "asleep", "asleep", "asleep", "disk", ""][off];
  }

  /** The state of a row at a time when nothing runs in it, in words. */
  static stateAt(row, t) {
    if (!row.wait) return row.offline.some(({ start, end }) => start <= t && t < end) ? "offline" : "idle";
    if (Schedule.isThrottled(row, t)) return "is throttled: its group is out of quota";
    const i = Schedule.firstAfter(row, t);
    if (i < row.count && row.start[i] - row.waited[i] <= t) return `waits ${showTime(row.waited[i])} for a CPU`;
    const state = Schedule.afterOf(row, i - 1);
    return { disk: "waits uninterruptibly, for a disk or a lock", asleep: "sleeps" }[state] ?? "is not there";
  }

  label(task) {
    const known = this.tasks[task];
    return known ? `${known.name} ${known.id}` : `task ${task}`;
  }

  /** One slice of a CPU or of a task in words. */
  describe(given, at) {
    const isOfTask = given.wait !== undefined;
    const [row, i] = isOfTask ? [this.rows[given.cpu[at]], given.index[at]] : [given, at];
    const why = LEFT[row.flags[i] & 7];
    const waker = row.waker[i] ? this.label(row.waker[i] - 1) : "an interrupt or timer";
    const waited = row.waited[i] > 0 ? `after waiting ${showTime(row.waited[i])}` : "at once";
    return {
      task: this.label(row.task[i]), cpu: isOfTask ? given.cpu[at] : undefined,
      lines: [
        `starts at ${showMoment(row.start[i], 1)}`,
        `runs ${showTime(row.end[i] - row.start[i])}, then ${why}`,
        `${row.flags[i] & WOKEN ? `woken by ${waker}, on CPU` : "on CPU"} ${waited}`,
      ],
    };
  }
}

/** First index at or after `from` whose value is greater than `t`; the values ascend. Near answers are found fast. */
function lowerBound(values, t, from) {
  let step = 1;
  let low = from;
  while (low + step < values.length && values[low + step - 1] <= t) {
    low += step;
    step *= 2;
  }
  let high = Math.min(values.length, low + step);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}
