// The HTML report in a real browser. Run with scripts/test-browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { axeSource, close, file, frames, launch, open, report, slices } from "./browser.mjs";

before(launch);
after(close);

const picture = (page) => page.evaluate(() => document.querySelector(".timeline canvas").toDataURL());

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await frames(page);
}

test("nothing is requested but the file itself, and nothing is logged", async () => {
  const { page, seen } = await open({ which: "million" });
  for (const select of await page.locator("select").all()) {
    const values = await select.locator("option").evaluateAll((options) => options.map((o) => o.value));
    await select.selectOption(values.at(-1));
  }
  await frames(page);
  assert.deepEqual(seen.requests, [`file://${file.million}`]);
  assert.deepEqual(seen.errors, []);
  await page.close();
});

test("broken invariants, lost events and a missing fidelity are said plainly", async () => {
  const { page } = await open({ which: "bare" });
  const notices = await page.locator("#notices").textContent();
  assert.match(notices, /Violated: affinity under rr at 1\.20 ms: task 7 ran on cpu 1/);
  assert.match(notices, /goodness run bare\.trace -p rr --seed 42/);
  assert.match(notices, /lost 12 events/);
  assert.match(await page.locator("#fidelity-box").textContent(), /^Not measured/);
  await page.close();
});

test("a report in which nothing was measured opens, says so, and answers keys", async () => {
  const { page, seen } = await open({ which: "bare" });
  assert.match(await page.locator("#conclusion").textContent(), /Nothing that could rank/);
  for (const gone of ["#ranking", "#metrics", "#latency", "#tasks"])
    assert.equal(await page.locator(gone).count(), 0, gone);
  await page.locator(".timeline").focus();
  await press(page, "+", "n", "p", "Enter", "ArrowDown", "ArrowDown", "End", "Escape");
  assert.match(await page.locator("#schedule-readout").textContent(), /^CPU 1: 0 slices/);
  assert.deepEqual(seen.errors, []);
  await page.close();
});

for (const [name, options] of Object.entries({
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  narrow: { colorScheme: "light", viewport: { width: 400, height: 800 } },
})) {
  test(`no accessibility rule is broken: ${name}`, async () => {
    const { page } = await open(options);
    await page.evaluate(axeSource);
    const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await page.evaluate((runOnly) => globalThis.axe.run(document, { runOnly }), runOnly);
    const found = violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target} ${n.failureSummary}`));
    assert.deepEqual(found, []);
    await page.close();
  });
}

test("a narrow screen never scrolls sideways as a whole", async () => {
  const { page } = await open({ viewport: { width: 400, height: 800 } });
  const width = await page.evaluate(() => document.scrollingElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} px wide`);
  await page.close();
});

test("markup in a task's name is shown as text and does nothing", async () => {
  const { page, seen } = await open();
  await page.fill("#task-filter", "<script>");
  const names = await page.locator("#task-table tbody th").allTextContents();
  assert.equal(names.length, 1);
  assert.ok(names[0].startsWith("<script>alert(1)</script> "), names[0]);
  await page.fill("#schedule-task", "<script>");
  await frames(page);
  assert.deepEqual(seen.dialogs, []);
  assert.equal(await page.evaluate(() => document.scripts.length), 2 + report().policies.length);
  await page.close();
});

test("on a phone the answer with its trust stands on the first screen, and details are folded", async () => {
  const { page } = await open({ viewport: { width: 390, height: 844 }, folded: true });
  const box = await page.locator("#conclusion").boundingBox();
  assert.ok(box.y + box.height <= 844, `it ends at ${box.y + box.height} px`);
  assert.match(await page.locator("#conclusion").textContent(), / cuts p99 .*replay error, 28\s%/);
  for (const folded of ["#metrics-table", "#task-table", "#reproduce-box"])
    assert.equal(await page.locator(folded).isVisible(), false, folded);
  await page.click("nav a[href='#tasks']");
  assert.equal(await page.locator("#task-table").isVisible(), true, "a link opens what it leads to");
  await page.close();
});

test("on a phone the ranking shows its verdicts and its caption whole", async () => {
  const { page } = await open({ viewport: { width: 390, height: 844 } });
  const edge = (selector) => page.locator(selector).evaluateAll((all) =>
    Math.max(...all.map((node) => node.getBoundingClientRect().right)));
  for (const selector of ["#rank-table .verdict", "caption"]) {
    assert.ok(await edge(selector) <= 390 - 15, `${selector} ends at ${await edge(selector)} px`);
  }
  // The columns of many policies do not fit: that table scrolls, which shows that the edge is measured.
  assert.ok(await edge("#metrics-table td") > 390);
  await page.close();
});

test("the ranking is in the order of its metric, whichever is chosen", async () => {
  const { page } = await open();
  const { policies } = report();
  for (const [metric, sign] of [["wakeup_latency_p99", 1], ["throughput", -1]]) {
    await page.selectOption("#rank-metric", metric);
    const shown = await page.locator("#rank-table tbody th").allTextContents();
    const sorted = [...policies].sort((a, b) => sign * (a.metrics[metric].value - b.metrics[metric].value));
    assert.deepEqual(shown.map((n) => n.split(":")[0]), sorted.map((p) => p.name), metric);
  }
  const verdict = await page.locator("#rank-table tr.reference .verdict").textContent();
  assert.equal(verdict, "reference");
  await page.close();
});

test("the whole page can be walked with Tab, and every stop has a name", async () => {
  const { page } = await open();
  const stops = [];
  for (let i = 0; i < 200; i++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const a = document.activeElement;
      if (!a || a === document.body) return null;
      const name = a.getAttribute("aria-label") || a.labels?.[0]?.textContent || a.textContent;
      const outline = getComputedStyle(a).outlineStyle;
      return { what: a.id || a.className || a.tagName, name: name?.trim(), outline, text: a.textContent.trim() };
    });
    if (!stop) break;
    stops.push(stop);
  }
  assert.equal(stops[0].what, "skip");
  assert.deepEqual(stops.filter((s) => !s.name).map((s) => s.what), []);
  assert.deepEqual(stops.filter((s) => s.outline === "none").map((s) => s.what), [], "focus is visible everywhere");
  const order = ["rank-metric", "curve-metric", "schedule-rows", "timeline", "task-policy", "task-filter"];
  const places = order.map((w) => stops.findIndex((s) => s.what === w));
  assert.ok(places.every((p, i) => p > (places[i - 1] ?? 0)), `${order} at ${places}`);
  await page.close();
});

test("the curves are read with arrow keys and switched in the legend", async () => {
  const { page } = await open();
  const slider = page.locator("[role=slider]");
  await slider.focus();
  const before = await slider.getAttribute("aria-valuetext");
  assert.match(before, /^p99: .*eevdf/);
  await press(page, "End");
  assert.match(await slider.getAttribute("aria-valuetext"), /^p99\.999/);
  await press(page, "ArrowDown");
  assert.notEqual(await slider.getAttribute("aria-valuetext"), before);
  const shown = await page.locator("#curve-chart polyline").count();
  const toggle = page.locator("#curve-legend button").first();
  await toggle.click();
  assert.equal(await toggle.getAttribute("aria-pressed"), "false");
  assert.equal(await page.locator("#curve-chart polyline").count(), shown - 1);
  await page.close();
});

test("tasks are sorted by any column, both ways, and filtered", async () => {
  const { page } = await open();
  const { policies } = report();
  const { tasks } = policies.find((p) => p.is_reference);
  await page.uncheck("#task-fold");
  const first = () => page.locator("#task-table tbody th").first().textContent();
  const name = (t) => `${t.name} ${t.id}`;
  const by = (key, sign) => [...tasks].sort((a, b) => sign * (a[key] - b[key]) || a.id - b.id)[0];
  assert.equal(await first(), name(by("cpu_time_ns", -1)));
  const waiting = page.locator("#task-table th", { hasText: "waiting" });
  await waiting.locator("button").click();
  assert.equal(await waiting.getAttribute("aria-sort"), "descending");
  assert.equal(await first(), name(by("wait_ns", -1)));
  await waiting.locator("button").click();
  assert.equal(await waiting.getAttribute("aria-sort"), "ascending");
  assert.equal(await first(), name(by("wait_ns", 1)));
  await page.fill("#task-filter", "RUSTC");
  const rows = await page.locator("#task-table tbody tr").count();
  assert.equal(rows, tasks.filter((t) => t.name === "rustc").length);
  await page.close();
});

test("tasks that are alike are one line with their sum, which opens", async () => {
  const { page } = await open();
  const { tasks } = report().policies.find((p) => p.is_reference);
  const alike = tasks.filter((t) => t.name === "rustc");
  const line = page.locator(".fold-row", { hasText: "rustc" });
  const button = line.locator("button");
  assert.equal(await button.textContent(), `rustc × ${alike.length}`);
  const switches = alike.reduce((sum, t) => sum + t.switches, 0).toLocaleString("en");
  assert.ok((await line.locator("td").allTextContents()).includes(switches), `${switches} switches together`);
  await button.click();
  assert.equal(await button.getAttribute("aria-expanded"), "true");
  assert.equal(await page.locator(".of-fold").count(), alike.length);
  await page.close();
});

test("a slice that is stepped to reads as it was recorded", async () => {
  const { page } = await open();
  const recorded = slices(0, 3);
  const [first, later] = [recorded[0], recorded[40]];
  await page.locator(".timeline").focus();
  await press(page, "ArrowDown", "ArrowDown", "ArrowDown", "n");
  const readout = page.locator("#schedule-readout");
  const text = await readout.textContent();
  assert.ok(text.includes(first.task) && text.includes("CPU 3"), `${text} for ${first.task}`);
  await press(page, ...Array(40).fill("n"));
  assert.ok((await readout.textContent()).includes(later.task));
  await press(page, "Enter");
  const box = await page.locator(".timeline").boundingBox();
  // The slice now fills the middle of the window: the pointer there finds it.
  await page.mouse.move(box.x + 58 + (box.width - 58) / 2, box.y + 56 + 3 * 30 + 15);
  const tip = await page.locator("#tooltip").textContent();
  assert.ok(tip.includes(later.task), `${tip} for ${later.task}`);
  await page.close();
});

test("a wait that is chosen tells who ran meanwhile, and a slice that began at once does not", async () => {
  const { page } = await open();
  const recorded = slices(0, 3);
  const ranBefore = ({ start, waited }) =>
    recorded.filter((it) => it.start < start && it.start + it.length > start - waited);
  const late = recorded.findIndex((it) => it.waited > 0n && ranBefore(it).length === 1);
  const prompt = recorded.findIndex((it) => it.waited === 0n);
  assert.ok(late >= 0 && prompt >= 0, "the sample has both");
  const { start, waited } = recorded[late];
  await page.locator(".timeline").focus();
  await press(page, "ArrowDown", "ArrowDown", "ArrowDown", ...Array(late + 1).fill("n"));
  const chain = page.locator("#schedule-chain");
  const link = await chain.locator("li").first().textContent();
  assert.ok(link.startsWith(recorded[late].task) && link.includes("for CPU 3"), link);
  assert.ok(link.includes(`There ran ${ranBefore(recorded[late])[0].task} `), link);
  const at = Math.round(Number(2n * start - waited) / 2);
  assert.equal(await chain.locator("pre code").textContent(),
    `goodness why made-up-web-server.trace --arm eevdf:kernel=6.12 --seed 1 --of all --at ${at}ns`);
  await press(page, ...Array(Math.abs(prompt - late)).fill(prompt > late ? "n" : "p"));
  assert.equal(await chain.isVisible(), false, "nothing was late");
  await page.close();
});

test("zooming and moving change the picture, Escape brings the whole run back", async () => {
  const { page } = await open();
  await page.locator(".timeline").focus();
  await frames(page);
  const whole = await picture(page);
  await press(page, "+", "+", "+");
  const zoomed = await picture(page);
  assert.notEqual(zoomed, whole);
  await press(page, "ArrowRight");
  assert.notEqual(await picture(page), zoomed);
  await press(page, "Escape");
  assert.equal(await picture(page), whole);
  await page.close();
});

test("the wheel scrolls the page until the timeline has been clicked, then zooms", async () => {
  const { page } = await open();
  const timeline = page.locator(".timeline");
  await timeline.scrollIntoViewIfNeeded();
  const box = await timeline.boundingBox();
  await page.mouse.move(box.x + 400, box.y + 120);
  const whole = await picture(page);
  await page.mouse.wheel(0, -40);
  await page.waitForTimeout(100);
  assert.equal(await picture(page), whole);
  const moved = await timeline.boundingBox();
  await page.mouse.click(moved.x + 400, moved.y + 120);
  await frames(page);
  const clicked = await picture(page);
  await page.mouse.wheel(0, -200);
  await frames(page);
  await page.waitForTimeout(100);
  assert.notEqual(await picture(page), clicked);
  await page.close();
});

test("highlighting a task changes the picture, an empty highlight restores it", async () => {
  const { page } = await open();
  const plain = await picture(page);
  await page.fill("#schedule-task", "mariadbd");
  await frames(page);
  assert.notEqual(await picture(page), plain);
  await page.fill("#schedule-task", "");
  await frames(page);
  assert.equal(await picture(page), plain);
  await page.close();
});

test("rows of the schedule are chosen and filtered, and those of arms stand under each other", async () => {
  const { page } = await open();
  const height = () => page.locator(".timeline canvas").evaluate((c) => c.getBoundingClientRect().height);
  await page.selectOption("#schedule-rows", "cpus");
  await frames(page);
  const ofCpus = await height();
  await page.locator("#schedule-arms button").nth(1).click();
  await page.waitForTimeout(300);
  const ofTwo = await height();
  assert.ok(ofTwo > ofCpus + 8 * 30, `${ofCpus} px, and ${ofTwo} px for two arms`);
  assert.match(await page.locator(".timeline").getAttribute("aria-label"), /under .+, .+, /);
  await page.locator("#schedule-arms button").nth(1).click();
  await page.selectOption("#schedule-rows", "tasks");
  await page.fill("#schedule-task", "/^rustc 41(0|1)/");
  await frames(page);
  const { tasks } = report().policies.find((p) => p.is_reference);
  const wanted = tasks.filter((t) => /^rustc 41(0|1)/.test(`${t.name} ${t.id}`)).length;
  const rows = Math.round((await height() - 60) / 16);
  assert.ok(wanted > 1 && rows === wanted, `${rows} rows for ${wanted} tasks`);
  await page.close();
});

test("wake-ups are arrows where they can be told apart", async () => {
  const { page } = await open();
  await page.locator(".timeline").focus();
  await press(page, ...Array(9).fill("+"));
  const withArrows = await picture(page);
  await page.uncheck("#schedule-arrows");
  await frames(page);
  await page.locator(".timeline").focus();
  await frames(page);
  assert.notEqual(await picture(page), withArrows);
  await page.close();
});

test("each picture is saved as an SVG file and as data", async () => {
  const { page } = await open();
  for (const box of ["#rank-save", "#curve-save", "#schedule-save"]) {
    const texts = [];
    for (const button of await page.locator(`${box} button`).all()) {
      const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
      texts.push(readFileSync(await download.path(), "utf8"));
    }
    assert.match(texts[0], /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/, box);
    assert.ok(texts[0].length > 2000 && texts[1].split("\n").length > 5, box);
  }
  await page.close();
});

test("in print the controls that do nothing on paper are gone and the tables are there", async () => {
  const { page } = await open();
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(paper, "rgb(255, 255, 255)", "paper is white also for those who read in the dark");
  for (const gone of ["nav", ".hint", "#schedule-task", "[data-move=in]"])
    assert.equal(await page.locator(gone).first().isVisible(), false, gone);
  assert.equal(await page.locator("#rank-table table").isVisible(), true);
  const pdf = await page.pdf({ format: "A4" });
  assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
  await page.close();
});

/** Times between 150 frames of zooming and moving through a million slices. */
async function frameTimes(page) {
  await page.locator(".timeline").scrollIntoViewIfNeeded();
  await page.locator(".timeline").focus();
  return page.evaluate(() => new Promise((done) => {
    const view = document.querySelector(".timeline");
    const box = view.getBoundingClientRect();
    const stamps = [];
    const step = (now) => {
      stamps.push(now);
      if (stamps.length > 150) return done(stamps.slice(1).map((s, i) => s - stamps[i]));
      const turn = { clientX: box.left + 500, clientY: box.top + 120, bubbles: true, cancelable: true };
      const zoom = stamps.length % 100 < 50 ? -60 : 60;
      const wheel = stamps.length % 3 ? { ...turn, deltaY: zoom } : { ...turn, deltaX: 40 };
      view.dispatchEvent(new WheelEvent("wheel", wheel));
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }));
}

test("frame times of a million slices are reported, with rows of tasks against rows of CPUs alone", async (t) => {
  const { page } = await open({ which: "million" });
  const medians = {};
  for (const rows of ["cpus", "both", "tasks"]) {
    await page.selectOption("#schedule-rows", rows);
    await frames(page);
    const times = (await frameTimes(page)).sort((a, b) => a - b);
    const at = (q) => times[Math.floor(q * (times.length - 1))];
    medians[rows] = at(0.5);
    const [median, p95, longest] = [0.5, 0.95, 1].map((q) => at(q).toFixed(1));
    const fluid = times.filter((ms) => ms < 17.5).length;
    t.diagnostic(`${rows}: frame time in ms: median ${median}, p95 ${p95}, longest ${longest}; ` +
      `${fluid} of ${times.length} frames within a 60th of a second`);
    assert.equal(times.length, 150);
  }
  t.diagnostic(`rows of tasks take ${(medians.both / medians.cpus).toFixed(2)} times the time of CPUs alone`);
  await page.close();
});
