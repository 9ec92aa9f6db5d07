// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { axisPlace } from "./axis_place";

test("ends and middle of an axis stand where they belong, also from the bottom up", () => {
  const across = axisPlace([10, 20], false, 5, 100);
  expect([10, 15, 20].map(across)).toEqual([5, 55, 105]);
  const up = axisPlace([-1, 1], false, 300, -200);
  expect([-1, 0, 1].map(up)).toEqual([300, 200, 100]);
});

test("on a logarithmic axis decades are equally long", () => {
  const place = axisPlace([1, 1000], true, 0, 300);
  expect([1, 10, 100, 1000].map((value) => Math.round(place(value)))).toEqual([0, 100, 200, 300]);
});
