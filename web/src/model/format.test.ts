// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { fitNumber, formatBytes, formatDuration, formatNumber, formatWireNumber } from "./format";

test("numbers are short and true", () => {
  const cases: [number, string][] = [
    [0, "0"],
    [0.1 + 0.2, "0.3"],
    [0.000123456, "0.00012346"],
    [0.0000123456, "1.235e-5"],
    [1234567, "1234567"],
    [1e21, "1e21"],
    [-0.5, "−0.5"],
    [NaN, "NaN"],
    [-Infinity, "−∞"],
    [3.14159265, "3.1416"],
  ];
  for (const [value, text] of cases) expect(formatNumber(value)).toBe(text);
});

test("integers beyond 2^53 keep all their digits", () => {
  expect(formatWireNumber("9007199254740993")).toBe("9007199254740993");
  expect(formatWireNumber("NaN")).toBe("NaN");
});

test("sizes and durations", () => {
  expect(formatBytes(0)).toBe("0 B");
  expect(formatBytes(1536)).toBe("1.5 KiB");
  expect(formatDuration(59.6)).toBe("60 s");
  expect(formatDuration(61)).toBe("1 min 1 s");
  expect(formatDuration(90000)).toBe("1 d 1 h");
  expect(formatDuration(0.0421)).toBe("42 ms");
});

test("a number in little room has fewer digits, and never a part of them", () => {
  const cases: [number, number, string][] = [
    [-0.0451234, 10, "−0.045123"],
    [-0.0451234, 7, "−0.0451"],
    [-0.0451234, 5, "−0.05"],
    [123.456, 4, "123"],
    [0.999999, 4, "1"],
    [9007199254740992, 9, "9.007e15"],
    [1234567, 6, "1.23e6"],
    [NaN, 1, "NaN"],
  ];
  for (const [value, letters, text] of cases)
    expect(fitNumber(value, 5, (shown) => shown.length <= letters)).toBe(text);
});
