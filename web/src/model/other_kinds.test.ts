// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { SharedTag } from "../data/series";
import { otherKindsNotice } from "./other_kinds";

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
