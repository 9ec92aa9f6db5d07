// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { placeOverlay } from "./overlay";

const VIEW = { width: 1000, height: 600 };
const button = (left: number, top: number) => ({ left, top, right: left + 20, bottom: top + 20 });

test("a panel stands below its button, aligned with its left or right end", () => {
  expect(placeOverlay(button(100, 50), { width: 200, height: 150 }, VIEW)).toEqual({ left: 100, top: 74 });
  expect(placeOverlay(button(500, 50), { width: 200, height: 150 }, VIEW, true)).toEqual({ left: 320, top: 74 });
});

test("a panel is inside of the window wherever its button is", () => {
  for (const left of [0, 400, 980, 1200])
    for (const top of [0, 300, 580]) {
      const panel = { width: 200, height: 150 };
      for (const toRight of [false, true]) {
        const found = placeOverlay(button(left, top), panel, VIEW, toRight);
        expect(found.left).toBeGreaterThanOrEqual(8);
        expect(found.left + panel.width).toBeLessThanOrEqual(992);
        expect(found.top).toBeGreaterThanOrEqual(8);
        expect(found.top + panel.height).toBeLessThanOrEqual(592);
      }
    }
});

test("a panel without room below stands above its button and does not cover it", () => {
  expect(placeOverlay(button(100, 550), { width: 200, height: 150 }, VIEW)).toEqual({ left: 100, top: 396 });
});

test("a panel that is larger than the window begins inside of it", () => {
  expect(placeOverlay(button(900, 50), { width: 2000, height: 900 }, VIEW)).toEqual({ left: 8, top: 8 });
});
