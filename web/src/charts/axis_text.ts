// SPDX-License-Identifier: Apache-2.0
// Numbers along the axes of charts.
import { shownDuration, shownNumber } from "../numbers/shown";

export type XKind = "step" | "relative" | "wall" | "metric";

/** Distances between the numbers of an axis of steps, of which there are no halves. */
export const STEP_INCREMENTS = Array.from({ length: 19 }, (_, power) =>
  [1, 2, 5].map((digit) => digit * 10 ** power),
).flat();

/** As few digits as tell the numbers of an axis apart. */
export function axisNumber(value: number, increment: number): string {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-5)) return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
  for (const [unit, letter] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (size >= unit * 10 || (size >= unit && unit > 1e3)) return `${trimmed(value / unit, increment / unit)}${letter}`;
  }
  return trimmed(value, increment);
}

function trimmed(value: number, increment: number): string {
  const digits = digitsOf(increment);
  return value.toFixed(digits).replace("-", "−");
}

/** A place on the axis, in full. */
export function placeText(kind: XKind, x: number, exact?: bigint): string {
  if (kind === "step") return `step ${exact !== undefined ? exact.toString() : shownNumber(x, 8)}`;
  if (kind === "relative") return `${shownDuration(Math.max(0, x)) || "0 s"} after the start`;
  if (kind === "wall") return new Date(x * 1000).toLocaleString();
  return shownNumber(x, 6);
}

export function axisText(kind: XKind, value: number, increment: number): string {
  if (kind !== "relative") return axisNumber(value, increment);
  return value === 0 ? "0" : shownDuration(Math.abs(value));
}

/** How many digits behind the point an increment needs: 2 for 0.25. */
function digitsOf(increment: number): number {
  for (let digits = 0; digits < 10; digits++) {
    const scaled = Math.abs(increment) * 10 ** digits;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * Math.max(1, scaled)) return digits;
  }
  return 10;
}
