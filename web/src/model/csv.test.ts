// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { csvLine } from "./csv";

test("values keep their meaning", () => {
  expect(csvLine(["a,b", 'say "x"', 1.5, undefined, -2, NaN])).toBe('"a,b","say ""x""",1.5,,-2,NaN');
});

test("names cannot become formulas", () => {
  expect(csvLine(["=1+1", "@x", "-cmd"])).toBe("'=1+1,'@x,'-cmd");
  expect(csvLine(["-2+3+cmd|' /C calc'!A0", "-1-A1", "+1+1", "\t=1", "-"])).toBe(
    "'-2+3+cmd|' /C calc'!A0,'-1-A1,'+1+1,'\t=1,'-",
  );
});

test("numbers that were written as text stay numbers", () => {
  expect(csvLine(["-1", "-1.5e-7", "-.5", "+2", "-3."])).toBe("-1,-1.5e-7,-.5,+2,-3.");
});
