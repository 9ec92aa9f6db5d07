// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { addressBelow, addressOfView } from "./view_address";

test("an address is kept without its workspace and comes back in it", () => {
  const kept = addressBelow("/w/my%20lab/compare", "?runs=1&tags=a%2Fb");
  expect(kept).toBe("compare?runs=1&tags=a%2Fb");
  expect(addressOfView("new lab", kept)).toBe("/w/new%20lab/compare?runs=1&tags=a%2Fb");
});

test("a workspace alone shows its runs", () => {
  expect(addressBelow("/w/lab", "")).toBe("runs");
});
