// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { pathInWorkspace, pathTo, routeOf, savedViewPath } from "./routes";

test("names with slashes, markup and other scripts come back from their address", () => {
  for (const name of ["a/b", "<b>&?#", "نص", "%41", "100%"]) {
    expect(routeOf(pathTo(name, "runs", name))).toEqual({ kind: "run", workspace: name, run: name });
  }
});

test("addresses that nobody made lead nowhere", () => {
  for (const path of ["/x", "/w/a/other", "/w/a/runs/1/2", "/w/a/compare/3"]) {
    expect(routeOf(path).kind).toBe("nowhere");
  }
  expect(routeOf("/w/%E0%A4%A/runs").kind).toBe("runs");
  expect(routeOf("/").kind).toBe("home");
});

test("an address is kept without its workspace and comes back in it", () => {
  const kept = pathInWorkspace("/w/my%20lab/compare", "?runs=1&tags=a%2Fb");
  expect(kept).toBe("compare?runs=1&tags=a%2Fb");
  expect(savedViewPath("new lab", kept)).toBe("/w/new%20lab/compare?runs=1&tags=a%2Fb");
});

test("a workspace alone shows its runs", () => {
  expect(pathInWorkspace("/w/lab", "")).toBe("runs");
});
