// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { csvLine } from "./csv";

test("values keep their meaning", () => {
  expect(csvLine(["a,b", 'say "x"', 1.5, undefined, -2, NaN])).toBe('"a,b","say ""x""",1.5,,-2,NaN');
});

test("names cannot become formulas", () => {
  expect(csvLine(["=1+1", "@x", "-cmd", "-1"])).toBe("'=1+1,'@x,'-cmd,-1");
});
