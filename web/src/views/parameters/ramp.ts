// SPDX-License-Identifier: Apache-2.0
// Colours from low to high that the colour-blind tell apart: blue to orange through grey.

const STOPS: readonly (readonly [number, number, number])[] = [
  [0, 98, 178],
  [88, 149, 190],
  [150, 150, 150],
  [219, 140, 68],
  [204, 85, 0],
];

export function ramp(share: number | undefined): string {
  if (share === undefined || !Number.isFinite(share)) return "var(--ink-faint)";
  const at = Math.min(1, Math.max(0, share)) * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  const [from, to] = [STOPS[low], STOPS[low + 1]] as [readonly number[], readonly number[]];
  const mixed = from.map((part, channel) => Math.round(part + ((to[channel] ?? 0) - part) * (at - low)));
  return `rgb(${mixed.join(" ")})`;
}
