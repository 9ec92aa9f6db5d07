// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { smoothed, type Smoothing } from "./smoothing";

const KINDS: Smoothing[] = ["exponential", "time", "mean", "gaussian", "median"];
const xs = Float64Array.from({ length: 200 }, (_, at) => at);

test("a flat curve stays as it is, and a rough one becomes calmer, with every kind", () => {
  const flat = new Float64Array(200).fill(3);
  const rough = xs.map((at) => at / 100 + Math.sin(at * at));
  const roughness = (ys: Float64Array) =>
    ys.slice(20).reduce((sum, y, at) => sum + Math.abs(y - (ys[at + 19] as number)), 0);
  for (const kind of KINDS) {
    for (const y of smoothed(kind, xs, flat, 0.8)) expect(y).toBeCloseTo(3, 9);
    expect(roughness(smoothed(kind, xs, rough, 0.8))).toBeLessThan(roughness(rough) / 3);
  }
});

test("NaN stays where it was and spoils nothing beside it", () => {
  const ys = new Float64Array(200).fill(1);
  ys[50] = NaN;
  ys[60] = Infinity;
  for (const kind of KINDS) {
    const out = smoothed(kind, xs, ys, 0.9);
    expect(out[50]).toBeNaN();
    expect(out[60]).toBe(Infinity);
    expect(out[51]).toBeCloseTo(1, 9);
    expect(out[199]).toBeCloseTo(1, 9);
  }
});

test("the exponential mean is TensorBoard's, which does not pull to zero", () => {
  const out = smoothed("exponential", xs.slice(0, 3), Float64Array.of(1, 2, 3), 0.5);
  expect([...out]).toEqual([1, 5 / 3, 17 / 7]);
});

test("a reduced curve is as smooth as the whole one", () => {
  const whole = Float64Array.from({ length: 1000 }, (_, at) => (at < 500 ? 0 : 1));
  const reduced = whole.filter((_, at) => at % 10 === 9);
  const all = smoothed("exponential", whole, whole, 0.98);
  const few = smoothed("exponential", reduced, reduced, 0.98, 10);
  for (const at of [55, 60, 80, 99]) expect(few[at]).toBeCloseTo(all[at * 10 + 9] as number, 6);
});

test("no points are no error", () => {
  for (const kind of KINDS) expect(smoothed(kind, new Float64Array(), new Float64Array(), 0.5).length).toBe(0);
});
