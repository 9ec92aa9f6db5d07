// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { withoutEntities } from "./entities";
import { safeLink } from "./safe_link";

test("entities are read, what is none stays", () => {
  expect(withoutEntities("a &lt;b&gt; &amp;amp; &#65;&#x42; &nope; &#0; &#1114112; & x")).toBe(
    "a <b> &amp; AB &nope; &#0; &#1114112; & x",
  );
});

test("links lead to other sites only", () => {
  expect(safeLink("https://example.org/a b")).toBe("https://example.org/a%20b");
  expect(safeLink("mailto:a@example.org")).toBe("mailto:a@example.org");
  for (const bad of [
    "javascript:alert(1)",
    " JavaScript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "//x",
    "/w/lab",
    "",
  ])
    expect(safeLink(bad)).toBeUndefined();
});
