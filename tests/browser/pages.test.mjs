// Pages of why, diff, tune, teach and sweeps in a real browser: everything is on the screen, wide and narrow, light and
// dark. Run with scripts/test-browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { axeSource, close, launch, show } from "./browser.mjs";

before(launch);
after(close);

/** Texts that leave their drawing, and whether the page is wider than the screen. */
const outside = (page) =>
  page.evaluate(() => {
    const found = [];
    for (const svg of document.querySelectorAll("svg")) {
      const frame = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        if (!box.width) continue; // not shown on a phone
        if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
          found.push(text.textContent);
      }
    }
    const width = document.documentElement.scrollWidth;
    if (width > window.innerWidth) found.push(`the page is ${width} px wide`);
    return found;
  });

for (const name of ["grid", "drawn", "one", "why", "why-recorded", "diff", "tune", "teach"])
  for (const width of [1400, 390])
    for (const colorScheme of ["light", "dark"])
      test(`${name} at ${width} px, ${colorScheme}: nothing is off the screen and no rule is broken`, async () => {
        const url = `file://${process.env.PAGES}/${name}.html`;
        const { page, seen } = await show(url, { viewport: { width, height: 900 }, colorScheme });
        const { bottom } = await page.evaluate(() => document.querySelector("#conclusion").getBoundingClientRect());
        assert.ok(bottom < 900, `the answer ends at ${bottom} px`);
        await page.evaluate(() => document.querySelectorAll("details").forEach((it) => { it.open = true; }));
        assert.deepEqual(await outside(page), []);
        await page.evaluate(axeSource);
        const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
        const broken = await page.evaluate((runOnly) => axe.run({ runOnly }), runOnly);
        assert.deepEqual(broken.violations.map((it) => [it.id, it.nodes.map((node) => node.target).slice(0, 3)]), []);
        assert.deepEqual([seen.requests, seen.errors], [[url], []]);
        const path = `${process.env.SHOTS}/${name}-${width}-${colorScheme}.png`;
        if (process.env.SHOTS) await page.screenshot({ path, fullPage: true });
        await page.close();
      });

test("a text beyond its drawing would be found", async () => {
  const { page } = await show(`file://${process.env.PAGES}/grid.html`, { viewport: { width: 390, height: 900 } });
  await page.evaluate(() => { document.querySelector("svg text").textContent = "long ".repeat(400); });
  assert.notDeepEqual(await outside(page), []);
  await page.close();
});

test("in print what is folded on the screen is there with its heading", async () => {
  const { page } = await show(`file://${process.env.PAGES}/diff.html`);
  const shown = () => page.evaluate(() => [...document.querySelectorAll("details:not([open])")].map((fold) =>
    ["summary", "summary + *"].map((part) => fold.querySelector(`:scope > ${part}`).checkVisibility())));
  const folds = await shown();
  assert.ok(folds.length && folds.every(([heading, text]) => heading && !text), "on the screen they are folded");
  await page.emulateMedia({ media: "print" });
  assert.deepEqual(await shown(), folds.map(() => [true, true]));
  await page.close();
});

test("a lesson is stepped through with buttons and keys", async () => {
  const { page } = await show(`file://${process.env.PAGES}/teach.html`);
  const said = () => page.locator("#said-0").textContent();
  assert.match(await said(), /^0 ms: /);
  await page.keyboard.press("ArrowRight");
  await page.click("#last");
  assert.match(await page.locator("#time").textContent(), /^21 ms/);
  assert.match(await said(), /C runs/);
  await page.close();
});
