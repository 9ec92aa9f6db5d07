// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { evenParts, smooth, type Smoothing } from "./smoothing";

const KINDS: Smoothing[] = ["exponential", "time", "mean", "gaussian", "median"];
const xs = Float64Array.from({ length: 200 }, (_, at) => at);

test("a flat curve stays as it is, and a rough one becomes calmer, with every kind", () => {
  const flat = new Float64Array(200).fill(3);
  const rough = xs.map((at) => at / 100 + Math.sin(at * at));
  const roughness = (ys: Float64Array) =>
    ys.slice(20).reduce((sum, y, at) => sum + Math.abs(y - (ys[at + 19] as number)), 0);
  for (const kind of KINDS) {
    for (const y of smooth(kind, xs, flat, 0.8)) expect(y).toBeCloseTo(3, 9);
    expect(roughness(smooth(kind, xs, rough, 0.8))).toBeLessThan(roughness(rough) / 3);
  }
});

test("NaN stays where it was and spoils nothing beside it", () => {
  const ys = new Float64Array(200).fill(1);
  ys[50] = NaN;
  ys[60] = Infinity;
  for (const kind of KINDS) {
    const out = smooth(kind, xs, ys, 0.9);
    expect(out[50]).toBeNaN();
    expect(out[60]).toBe(Infinity);
    expect(out[51]).toBeCloseTo(1, 9);
    expect(out[199]).toBeCloseTo(1, 9);
  }
});

test("the exponential mean is TensorBoard's, which does not pull to zero", () => {
  const out = smooth("exponential", xs.slice(0, 3), Float64Array.of(1, 2, 3), 0.5);
  expect([...out]).toEqual([1, 5 / 3, 17 / 7]);
});

test("a reduced curve is as smooth as the whole one", () => {
  const whole = Float64Array.from({ length: 1000 }, (_, at) => (at < 500 ? 0 : 1));
  const reduced = whole.filter((_, at) => at % 10 === 9);
  const all = smooth("exponential", whole, whole, 0.98);
  const few = smooth("exponential", reduced, reduced, 0.98, evenParts(reduced, 10));
  for (const at of [55, 60, 80, 99]) expect(few[at]).toBeCloseTo(all[at * 10 + 9] as number, 6);
});

/** Of a curve its points at these places, and what is since the place before each. */
function reducedTo(places: readonly number[], whole: Float64Array) {
  const parts = places.map((place, at) => whole.subarray(at ? (places[at - 1] as number) + 1 : 0, place + 1));
  const sum = (part: Float64Array) => part.reduce((all, y) => all + y, 0);
  return {
    xs: Float64Array.from(places),
    ys: Float64Array.from(places, (place) => whole[place] as number),
    parts: {
      means: Float64Array.from(parts, (part) => sum(part) / part.length),
      counts: Float64Array.from(parts, (part) => part.length),
    },
  };
}

test("peaks that a curve was reduced to do not lift its level", () => {
  const whole = new Float64Array(100_000).fill(0.1);
  for (let at = 500; at < whole.length; at += 1000) whole[at] = 10;
  const places = Array.from({ length: 100 }, (_, at) => [0, 250, 500, 750, 999].map((more) => at * 1000 + more)).flat();
  const { xs: steps, ys, parts } = reducedTo(places, whole);
  for (const kind of ["exponential", "time", "mean", "gaussian"] as const) {
    for (const amount of [0.5, 0.9]) {
      const out = smooth(kind, steps, ys, amount, parts);
      expect(out.reduce((sum, y) => sum + y, 0) / out.length).toBeCloseTo(0.11, 1);
      expect(Math.max(...out)).toBeLessThan(0.2);
    }
  }
});

test("parts of any size come to what the whole curve does", () => {
  const whole = Float64Array.from({ length: 1000 }, (_, at) => (at < 400 ? 1 : 3));
  const { xs: steps, ys, parts } = reducedTo([0, 1, 99, 100, 399, 400, 650, 651, 652, 999], whole);
  const few = smooth("exponential", steps, ys, 0.99, parts);
  const all = smooth("exponential", whole, whole, 0.99);
  steps.forEach((step, at) => expect(few[at]).toBeCloseTo(all[step] as number, 9));
});

test("a window has as many points of the whole curve to either side, however these were reduced", () => {
  const whole = Float64Array.from({ length: 20_000 }, (_, at) => at);
  const places = Array.from({ length: 20 }, (_, at) => [0, 1, 300, 310, 999].map((more) => at * 1000 + more)).flat();
  const { xs: steps, ys, parts } = reducedTo(places, whole);
  for (const kind of ["mean", "gaussian"] as const) {
    for (const amount of [0.3, 0.9]) {
      const few = smooth(kind, steps, ys, amount, parts);
      const middles = steps.map((step, at) => step - (parts.counts[at] as number) / 2);
      for (let at = 30; at < 70; at++)
        expect(Math.abs((few[at] as number) - (middles[at] as number))).toBeLessThan(150);
    }
  }
});

test("one huge value spoils only what is near it", () => {
  const ys = new Float64Array(200).fill(0.5);
  ys[20] = 1e18;
  const out = smooth("mean", xs, ys, 0.5);
  expect(out[20]).toBeGreaterThan(1e16);
  for (const y of [...out.slice(0, 10), ...out.slice(40)]) expect(y).toBe(0.5);
});

test("no points are no error", () => {
  for (const kind of KINDS) expect(smooth(kind, new Float64Array(), new Float64Array(), 0.5).length).toBe(0);
});
