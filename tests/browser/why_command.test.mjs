// The command of a chosen wait, without a browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const source = readFileSync(new URL("../../crates/report/web/timeline_chain.js", import.meta.url), "utf8");
const whyCommand = new Function(`${source}; return whyCommand;`)();

/** The command for a wait at 7 ns in the report that `command` made. */
const why = (command, label = "eevdf") => whyCommand({ details: { command } }, label, 7);

for (const [command, wanted] of [
  ["goodness compare x.gz -p eevdf -v", "x.gz -p eevdf --of all --at 7ns"],
  ["goodness compare -qv x.gz", "x.gz --arm eevdf --of all --at 7ns"],
  ["goodness compare -v -- x.gz", "x.gz --arm eevdf --of all --at 7ns"],
  ["goodness compare --lenient -- -x.gz", "--arm eevdf --lenient --of all --at 7ns -- -x.gz"],
  ["goodness compare -peevdf x.gz", "x.gz -p eevdf --of all --at 7ns"],
  ["goodness compare -qp eevdf x.gz", "x.gz -p eevdf --of all --at 7ns"],
  ["goodness compare --seed=3 x.gz --runs 4", "x.gz --arm eevdf --seed=3 --of all --at 7ns"],
  ["goodness compare 'it'\\''s mine.gz' --seed 3", "'it'\\''s mine.gz' --arm eevdf --seed 3 --of all --at 7ns"],
]) {
  test(`"${command}" leads to "goodness why ${wanted}"`, () => assert.equal(why(command), `goodness why ${wanted}`));
}

test("there is no command for several inputs, for arms of inputs and for other commands", () => {
  for (const none of ["goodness compare a.gz b.gz", "goodness compare a.gz -- b.gz", "goodness compare a.gz --as-arms",
    "goodness race a.gz"]) {
    assert.equal(why(none), null, none);
  }
});
