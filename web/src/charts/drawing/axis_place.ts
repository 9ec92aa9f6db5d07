// SPDX-License-Identifier: Apache-2.0
// Where a number stands on an axis, in pixels: plain arithmetic, because it is asked for every point of every line.

export function axisPlace(
  [from, to]: readonly [number, number],
  isLog: boolean,
  begin: number,
  length: number,
): (value: number) => number {
  if (isLog) {
    const low = Math.log10(from);
    const perDecade = length / (Math.log10(to) - low);
    return (value) => begin + (Math.log10(value) - low) * perDecade;
  }
  const perUnit = length / (to - from);
  return (value) => begin + (value - from) * perUnit;
}
