// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Run } from "../../model/wire";
import { RunSelection } from "./run_selection.svelte";

const RUNS = ["a", "b", "c", "d", "e"].map((uid) => ({ uid }) as Run);
const [a, , c, d, e] = RUNS as [Run, Run, Run, Run, Run];

function order(picked: RunSelection): string {
  return picked.runs.map((run) => run.uid).join("");
}

test("a range stands in the order of the table behind what was selected before", () => {
  const picked = new RunSelection();
  picked.toggle(e);
  picked.toggle(a);
  picked.add([d]); // clicked with Shift
  expect(order(picked)).toBe("ead");
  picked.add(RUNS.slice(0, 4), d);
  expect(order(picked)).toBe("eabcd");
});

test("a run that was selected before the range keeps its place", () => {
  const picked = new RunSelection();
  picked.toggle(c);
  picked.add(RUNS.slice(0, 3));
  expect(order(picked)).toBe("cab");
});
