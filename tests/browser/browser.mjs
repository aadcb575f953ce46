// What every browser test needs: one browser, and pages that note every request, error and dialog.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { inflateSync } from "node:zlib";
import { chromium } from "playwright-core";

/** The sample, the same with a million slices, and a report in which nothing was measured. */
export const file = { sample: process.env.REPORT, million: process.env.MILLION, bare: process.env.BARE };
export const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
export async function launch() {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}
export const close = () => browser.close();

/** A page of its own at `url`; `seen` collects what must not happen. */
export async function show(url, options) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, reducedMotion: "reduce", ...options });
  const seen = { requests: [], errors: [], dialogs: [] };
  page.on("request", (r) => seen.requests.push(r.url()));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && seen.errors.push(m.text()));
  page.on("pageerror", (e) => seen.errors.push(e.message));
  page.on("dialog", (d) => { seen.dialogs.push(d.message()); d.dismiss(); });
  await page.goto(url);
  return { page, seen };
}

/** The report in a page of its own, all of it unfolded unless `folded`. */
export async function open({ which = "sample", folded = false, ...options } = {}) {
  const { page, seen } = await show(`file://${file[which]}`, options);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "yes");
  if (!folded) await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
  await frames(page);
  return { page, seen };
}

/** Waits until what was asked to be drawn is drawn: drawing happens in the next frame. */
export const frames = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Text of the inline JSON elements, read from the file, not from the page. */
function embedded(attribute) {
  const html = readFileSync(file.sample, "utf8");
  const [, rest] = html.split(`<script type="application/json" ${attribute}>`);
  return JSON.parse(rest.slice(0, rest.indexOf("</script>")));
}

export const report = () => embedded('id="report"');

/** The slices of one CPU of a policy's timeline, unpacked without the page's own code. */
export function slices(policy, cpu) {
  const packed = embedded(`data-timeline="${policy}"`);
  const from = packed.counts.slice(0, cpu).reduce((a, b) => a + b, 0);
  const unpacked = (name) => varints(inflateSync(Buffer.from(packed.columns[name], "base64")));
  const column = (name) => unpacked(name).slice(from, from + packed.counts[cpu]);
  const [gap, length, task, waited] = ["gap", "length", "task", "waited"].map(column);
  let at = 0n;
  return gap.map((g, i) => {
    const start = at + g;
    at = start + length[i];
    const { name, id } = packed.tasks[Number(task[i])];
    return { start, length: length[i], task: `${name} ${id}`, waited: waited[i] };
  });
}

function varints(bytes) {
  const numbers = [];
  let [value, shift] = [0n, 0n];
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) {
      numbers.push(value);
      [value, shift] = [0n, 0n];
    }
  }
  return numbers;
}
