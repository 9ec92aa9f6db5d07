// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { groupIntoSections, matchTags, otherKindsNotice } from "./tags";
import type { SharedTag } from "./wire";

test("tags with the same beginning stand together", () => {
  const sections = groupIntoSections(["acc", "loss", "train/a", "train/b/c", "/odd"], 10);
  expect(sections.map((one) => [one.name, one.tags.length])).toEqual([
    ["", 3],
    ["train", 2],
  ]);
});

test("a few tags stand together, whatever they begin with", () => {
  const [section, ...others] = groupIntoSections(["acc", "train/loss", "val/loss"]);
  expect(section?.tags).toEqual(["acc", "train/loss", "val/loss"]);
  expect(others).toEqual([]);
  expect(groupIntoSections([])).toEqual([]);
});

test("with very many tags only the first sections are open", () => {
  const tags = Array.from({ length: 20_000 }, (_, at) => `s${Math.floor(at / 20)}/t${at}`);
  const sections = groupIntoSections(tags);
  expect(sections.length).toBe(1000);
  expect(sections.filter((one) => one.isOpen).length).toBe(2);
});

test("a pattern is a regular expression, or text with a word about it", () => {
  expect(matchTags("^val/").test("val/loss")).toBe(true);
  const odd = matchTags("loss(");
  expect(odd.test("my loss(x)")).toBe(true);
  expect(odd.error).toContain("regular expression");
});

function tag(name: string, kind: string, other_kinds: string[]): SharedTag {
  return { tag: name, kind, logdirs: [""], runs: 1, superseded: 0, other_kinds };
}

test("a tag with one kind of data has no notice", () => {
  expect(otherKindsNotice([tag("loss", "scalar", []), tag("other", "scalar", ["image"])], "loss", "scalar")).toBe("");
});

test("a notice names the kinds that are not shown", () => {
  const tags = [tag("sample", "scalar", ["image"]), tag("sample", "image", ["scalar", "tensor"])];
  expect(otherKindsNotice(tags, "sample", "scalar")).toBe(
    "This tag also holds images, which are not shown. Log each kind of data under its own tag.",
  );
  expect(otherKindsNotice(tags, "sample", "image")).toContain("also holds scalars and text or tensors,");
});
