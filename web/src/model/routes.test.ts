// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { pathTo, routeOf } from "./routes";

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
