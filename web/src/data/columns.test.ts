// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { readColumns } from "./columns";

function written(head: unknown, columns: (Float64Array | BigInt64Array)[]): ArrayBuffer {
  let json = JSON.stringify(head);
  while ((12 + new TextEncoder().encode(json).length) % 8) json += " ";
  const text = new TextEncoder().encode(json);
  const start = 12 + text.length;
  const out = new Uint8Array(start + columns.reduce((sum, one) => sum + one.byteLength, 0));
  out.set(new TextEncoder().encode("ABCOLUMN"));
  new DataView(out.buffer).setUint32(8, text.length, true);
  out.set(text, 12);
  let at = start;
  for (const column of columns) {
    out.set(new Uint8Array(column.buffer), at);
    at += column.byteLength;
  }
  return out.buffer;
}

const item = (steps: string, points: number) => ({
  run: 7,
  uid: "u",
  logdir: "é",
  tag: "loss",
  total: 9,
  points,
  steps,
});

test("columns are read as they were written", () => {
  const content = written({ version: 1, items: [item("f8", 2), item("f8", 0), item("f8", 1)], problems: [] }, [
    ...[Float64Array.of(1, 2), Float64Array.of(10, 20), Float64Array.of(NaN, 0.5)],
    ...[Float64Array.of(5), Float64Array.of(50), Float64Array.of(-Infinity)],
  ]);
  const [first, empty, last] = readColumns(content).items;
  expect([...(first?.steps ?? [])]).toEqual([1, 2]);
  expect([...(first?.values ?? [])]).toEqual([NaN, 0.5]);
  expect(first).toMatchObject({ run: 7, logdir: "é", total: 9 });
  expect(empty?.values.length).toBe(0);
  expect([...(last?.walls ?? [])]).toEqual([50]);
});

test("means of what points stand for are behind the values of those curves that have them", () => {
  const columns = [1, 2, 3, 4, 5, 6, 7, 8].map((value) => Float64Array.of(value));
  const items = [{ ...item("f8", 1), means: true }, item("f8", 1)];
  const [reduced, whole] = readColumns(written({ version: 1, items }, columns)).items;
  expect(reduced?.parts).toEqual({ means: Float64Array.of(4), counts: Float64Array.of(5) });
  expect(whole?.parts).toBeUndefined();
  expect(whole?.values[0]).toBe(8);
});

test("steps beyond 2^53 keep their digits", () => {
  const long = 2n ** 53n + 1n;
  const content = written({ version: 1, items: [item("i8", 1)] }, [
    BigInt64Array.of(long),
    Float64Array.of(1),
    Float64Array.of(2),
  ]);
  expect(readColumns(content).items[0]?.exact?.[0]).toBe(long);
});

test("what is something else is refused", () => {
  expect(() => readColumns(new ArrayBuffer(20))).toThrow(/no columns/);
  expect(() => readColumns(written({ version: 2, items: [] }, []))).toThrow(/version 2/);
});
