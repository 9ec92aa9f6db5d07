// SPDX-License-Identifier: Apache-2.0
// Through a list by arrows, round and round.

/** What comes after one of `count`, or before it; -1 is none of them, from which the first or the last is reached. */
export function nextIndex(at: number, by: 1 | -1, count: number): number {
  if (!count) return -1;
  return at < 0 && by < 0 ? count - 1 : (at + by + count) % count;
}
