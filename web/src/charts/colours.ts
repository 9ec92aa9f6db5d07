// SPDX-License-Identifier: Apache-2.0
// Colours of runs: the same for a run wherever it is shown, told apart by the colour-blind, and not given twice among
// the runs that are seen together while there are enough of them.

// Hues of Okabe and Ito and of Paul Tol, one lightness for light grounds and one for dark ones.
const LIGHT = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#b58900",
  "#332288",
  "#56a3d9",
  "#882255",
  "#117733",
  "#aa4499",
  "#6b6b6b",
  "#994f00",
];
const DARK = [
  "#4fa8e8",
  "#ff8a3d",
  "#2fcf9f",
  "#f0a3cb",
  "#f2c744",
  "#9d8cff",
  "#8fd0ff",
  "#e3729f",
  "#6fce74",
  "#e07be0",
  "#b5b5b5",
  "#d99a4e",
];
export const COLOURS = LIGHT.length;

export function colour(index: number, isDark: boolean): string {
  return (isDark ? DARK : LIGHT)[((index % COLOURS) + COLOURS) % COLOURS] as string;
}

/** For each name the index of a colour: the one it wishes for, unless somebody before it has the same wish. */
export function assignColours(wishes: ReadonlyMap<string, number>): Map<string, number> {
  const given = new Map<string, number>();
  const uses = new Array<number>(COLOURS).fill(0);
  const give = (name: string, index: number): void => {
    uses[index] = (uses[index] ?? 0) + 1;
    given.set(name, index);
  };
  const names = [...wishes.keys()].sort((one, other) => wish(one) - wish(other) || (one < other ? -1 : 1));
  // First all wishes that can be granted: who comes or goes changes nobody's colour but of those who have to give way.
  for (const name of names) if (!uses[wish(name) % COLOURS]) give(name, wish(name) % COLOURS);
  for (const name of names) {
    if (given.has(name)) continue;
    const least = Math.min(...uses);
    let index = wish(name) % COLOURS;
    while ((uses[index] ?? 0) > least) index = (index + 1) % COLOURS;
    give(name, index);
  }
  return given;

  function wish(name: string): number {
    return wishes.get(name) ?? 0;
  }
}

/** Runs that follow each other have different colours; a run without a number, and a group, wishes by its text. */
export function runWish(run: { uid: string; number?: number | undefined }): number {
  return run.number ?? textWish(run.uid);
}

export function textWish(text: string): number {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return value >>> 0;
}

/** How lines of one run are told apart that belong to different logdirs. */
export const DASHES: readonly (readonly number[])[] = [[], [6, 4], [2, 3], [9, 4, 2, 4], [1, 5], [12, 3]];
