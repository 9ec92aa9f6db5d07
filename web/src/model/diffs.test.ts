// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { compareDiffs } from "./diffs";

const part = (name: string, index: string, line: string): string =>
  `diff --git a/${name} b/${name}\nindex ${index} 100644\n--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n${line}\n`;

test("files that were changed alike do not differ, whatever git calls their bytes", () => {
  const one = part("same.py", "1..2", "+lr = 1") + part("train.py", "3..4", "+width = 2");
  const other =
    part("same.py", "1..9", "+lr = 1") + part("train.py", "3..4", "+width = 3") + part("new.py", "0..5", "+x");
  expect(compareDiffs(one, other).map(({ name, differs, sides }) => [name, differs, !!sides[0], !!sides[1]])).toEqual([
    ["new.py", true, false, true],
    ["same.py", false, true, true],
    ["train.py", true, true, true],
  ]);
});

test("a name with spaces and no diff at all", () => {
  expect(compareDiffs(part("a b.py", "1..2", "+x"), "")[0]?.name).toBe("a b.py");
  expect(compareDiffs("", "")).toEqual([]);
});
