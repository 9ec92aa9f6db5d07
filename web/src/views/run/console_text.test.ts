// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { consoleLines, splitAtMatch } from "./console_text";

test("colours go, progress bars show their end", () => {
  expect(consoleLines("\u001b[31mred\u001b[0m\n10%\r50%\r100%\r\nend\n")).toEqual(["red", "100%", "end"]);
  expect(consoleLines("")).toEqual([]);
  expect(consoleLines("<b>\n\n")).toEqual(["<b>", ""]);
});

test("what is looked for is found whatever its capitals", () => {
  expect(splitAtMatch("An Error here", "error")).toEqual({ before: "An ", hit: "Error", after: " here" });
  expect(splitAtMatch("fine", "error")).toBeUndefined();
});
