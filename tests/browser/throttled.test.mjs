// A task that is out of quota is shown so: in the legend, in its row, and under the pointer.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { close, frames, launch, open } from "./browser.mjs";

before(launch);
after(close);

/** Zooms to the first slice of a task that waited for more than twice as long as it ran: the picture begins with that
 * wait. Returns the place of the picture. */
async function beforeASlice(page, task) {
  await page.selectOption("#schedule-rows", "tasks");
  await page.fill("#schedule-task", task);
  await frames(page);
  await page.locator(".timeline").focus();
  await page.keyboard.press("ArrowDown");
  const readout = page.locator("#schedule-readout");
  const ns = (text, words) => {
    const [, value, unit] = text.match(new RegExp(`${words} ([0-9.]+) (ns|µs|ms|s)`)) ?? [];
    return Number(value ?? 0) * { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[unit ?? "ns"];
  };
  for (let i = 0; i < 200; i++) {
    await page.keyboard.press("n");
    const text = await readout.textContent();
    if (text.includes(task) && ns(text, "after waiting") > 2 * ns(text, "runs")) break;
  }
  await page.keyboard.press("Enter");
  await frames(page);
  return page.locator(".timeline").boundingBox();
}

test("a throttled task has a state of its own, and one without a quota has not", async () => {
  const { page, seen } = await open();
  assert.match(await page.locator("#schedule-states").textContent(), /throttled: its group is out of quota/);
  for (const [task, is] of [["apache2 4205", true], ["apache2 4212", false]]) {
    const box = await beforeASlice(page, task);
    const said = [];
    for (let y = 60; y < box.height; y += 6) {
      await page.mouse.move(box.x + 58 + (box.width - 58) * 0.2, box.y + y);
      said.push(await page.locator("#tooltip").textContent());
    }
    const own = said.filter((text) => text.startsWith(task));
    assert.ok(own.length > 0, `${task}: ${said.join(" | ")}`);
    assert.equal(own.some((text) => text.includes("is throttled: its group is out of quota")), is, own.join(" | "));
    await page.keyboard.press("Escape");
  }
  assert.deepEqual(seen.errors, []);
  await page.close();
});
