// SPDX-License-Identifier: Apache-2.0
// Steps of media of several runs on one slider. Steps may go beyond 2^53, so they are kept as text and compared whole.
import type { WireNumber } from "../api/wire";

export function stepsTogether(lists: readonly (readonly WireNumber[])[]): string[] {
  const all = new Set(lists.flat().map(String));
  return [...all].sort(compareSteps);
}

export function compareSteps(one: string, other: string): number {
  const [first, second] = [BigInt(one), BigInt(other)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** The last entry that is not behind `step`; the first where all are; the last without a step. */
export function entryAt<T extends { step: WireNumber }>(entries: readonly T[], step: string): T | undefined {
  if (!isStep(step)) return entries.at(-1);
  const wanted = BigInt(step);
  return entries.findLast((entry) => BigInt(String(entry.step)) <= wanted) ?? entries[0];
}

export function isStep(text: string): boolean {
  return /^-?\d{1,19}$/.test(text);
}
