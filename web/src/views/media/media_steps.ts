// SPDX-License-Identifier: Apache-2.0
// Steps of media of several runs on one slider. Steps may go beyond 2^53, so they are kept as text and compared whole.
import type { WireNumber } from "../../model/wire";

export function mergeSteps(lists: readonly (readonly WireNumber[])[]): string[] {
  const all = new Set(lists.flat().map(String));
  return [...all].sort(compareSteps);
}

export function compareSteps(one: string, other: string): number {
  const [first, second] = [BigInt(one), BigInt(other)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Where the last of these steps is that is not behind `step`; the first where all are, the last without a step. */
export function stepIndex(steps: readonly WireNumber[], step: string): number {
  if (!isStep(step)) return steps.length - 1;
  const wanted = BigInt(step);
  return Math.max(
    0,
    steps.findLastIndex((one) => BigInt(String(one)) <= wanted),
  );
}

/** The entry that was there at a step. */
export function entryAt<T extends { step: WireNumber }>(entries: readonly T[], step: string): T | undefined {
  const steps = entries.map((entry) => entry.step);
  return entries[stepIndex(steps, step)];
}

export function isStep(text: string): boolean {
  return /^-?\d{1,19}$/.test(text);
}
