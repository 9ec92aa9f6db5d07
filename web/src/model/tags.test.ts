// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { sectionsOf, wantedTags } from "./tags";

test("tags with the same beginning stand together", () => {
  const sections = sectionsOf(["acc", "loss", "train/a", "train/b/c", "/odd"]);
  expect(sections.map((one) => [one.name, one.tags.length])).toEqual([
    ["", 3],
    ["train", 2],
  ]);
});

test("with very many tags only the first sections are open", () => {
  const tags = Array.from({ length: 20_000 }, (_, at) => `s${Math.floor(at / 20)}/t${at}`);
  const sections = sectionsOf(tags);
  expect(sections.length).toBe(1000);
  expect(sections.filter((one) => one.isOpen).length).toBe(2);
});

test("a pattern is a regular expression, or text with a word about it", () => {
  expect(wantedTags("^val/").test("val/loss")).toBe(true);
  const odd = wantedTags("loss(");
  expect(odd.test("my loss(x)")).toBe(true);
  expect(odd.error).toContain("regular expression");
});
