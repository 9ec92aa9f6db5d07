// SPDX-License-Identifier: Apache-2.0
// Colours of runs: the same for a run wherever it is shown, told apart by the colour-blind, and not given twice among
// the runs that are seen together while there are enough of them.

import { givenColour } from "../../model/run_colour";
import type { Run } from "../../model/wire";

// Hues of Okabe and Ito and of Paul Tol, one lightness for light grounds and one for dark ones; neighbours in hue are far apart.
const LIGHT = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#a39100",
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
  "#e5d84a",
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

/** The first colours differ most; the others are given when these are taken. */
const DISTINCT = 8;
const MOST_KEPT = 2000;

type Keeper = Pick<Storage, "getItem" | "setItem">;

/** Which colour each name has. A name keeps its colour, so that a run looks the same on every page. */
export class ColourRegistry {
  private readonly known = new Map<string, number>();
  /** The names that were shown last. */
  private shown: ReadonlySet<string> = new Set();

  /** With a key the colours survive a reload, as far as the browser stores anything. */
  constructor(
    private readonly key = "",
    private readonly keeper: Keeper | undefined = browserStorage(),
  ) {
    for (const [name, index] of this.stored()) this.known.set(name, index);
  }

  /**
   * For each name the index of its colour; `wishes` decide for names without one. Of two names with the same colour one
   * gets another while there is one that no other name has: the one that has just come. Those that are `fixed` have the
   * colours that somebody gave them.
   */
  assign(wishes: ReadonlyMap<string, number>, fixed: ReadonlyMap<string, number> = new Map()): Map<string, number> {
    const given = new Map<string, number>();
    if (!wishes.size) return given; // those that were shown last stay so
    const uses = new Array<number>(COLOURS).fill(0);
    const give = (name: string, index: number): void => {
      uses[index] = (uses[index] ?? 0) + 1;
      given.set(name, index);
    };
    for (const [name, index] of fixed) give(name, index);
    const others = [...wishes.keys()].filter((name) => !fixed.has(name));
    const names = others.sort(
      (one, other) =>
        Number(this.shown.has(other)) - Number(this.shown.has(one)) ||
        (wishes.get(one) ?? 0) - (wishes.get(other) ?? 0) ||
        (one < other ? -1 : 1),
    );
    const wish = (name: string): number => (wishes.get(name) ?? 0) % DISTINCT;
    for (const name of names) {
      const index = this.known.get(name);
      if (index !== undefined && !uses[index]) give(name, index);
    }
    // All wishes that can be granted come before those that cannot: they do not depend on who else is new.
    for (const name of names) if (!this.known.has(name) && !uses[wish(name)]) give(name, wish(name));
    for (const name of names) {
      if (given.has(name)) continue;
      const least = Math.min(...uses);
      const known = this.known.get(name);
      if (known !== undefined && least > 0) give(name, known);
      else give(name, leastUsed(uses, least, wish(name)));
    }
    this.shown = new Set(given.keys());
    this.keep(new Map([...given].filter(([name]) => !fixed.has(name))));
    return given;
  }

  private keep(given: ReadonlyMap<string, number>): void {
    const changed = [...given].filter(([name, index]) => this.known.get(name) !== index);
    for (const [name, index] of changed) this.known.set(name, index);
    if (!changed.length || !this.key) return;
    try {
      // Other tabs store theirs too.
      const all = [...new Map([...this.stored(), ...this.known])].slice(-MOST_KEPT);
      this.keeper?.setItem(this.key, JSON.stringify(Object.fromEntries(all)));
    } catch {
      // They hold until the page is closed.
    }
  }

  private stored(): [string, number][] {
    try {
      const found: unknown = JSON.parse((this.key && this.keeper?.getItem(this.key)) || "{}");
      return Object.entries(found as Record<string, number>).filter(([, at]) => Number.isInteger(at) && at in LIGHT);
    } catch {
      return [];
    }
  }
}

/** The first one from the wish on, of those that differ most where there is one. */
function leastUsed(uses: readonly number[], least: number, wish: number): number {
  for (let more = 0; more < DISTINCT; more++) {
    const index = (wish + more) % DISTINCT;
    if (uses[index] === least) return index;
  }
  return uses.indexOf(least);
}

function browserStorage(): Keeper | undefined {
  try {
    return localStorage;
  } catch {
    return undefined; // a browser that stores nothing
  }
}

export const runColours = new ColourRegistry("aboard.colours");
export const groupColours = new ColourRegistry();

type ColouredRun = Pick<Run, "uid" | "number" | "tags">;

/** The colours of runs that are seen together. */
export function assignRunColours(runs: readonly ColouredRun[]): Map<string, number> {
  const fixed = runs.flatMap((run) => {
    const index = givenColour(run);
    return index === undefined ? [] : [[run.uid, index] as const];
  });
  return runColours.assign(new Map(runs.map((run) => [run.uid, preferredColour(run)])), new Map(fixed));
}

/** Runs that follow each other have different colours; a run without a number, and a group, wishes by its text. */
function preferredColour(run: ColouredRun): number {
  return run.number ?? textColour(run.uid);
}

export function textColour(text: string): number {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return value >>> 0;
}

/** Of points that later attempts replaced. */
export const SUPERSEDED: readonly number[] = [3, 3];

/** How lines of one run are told apart that belong to different logdirs. */
export const DASHES: readonly (readonly number[])[] = [[], [6, 4], [2, 3], [9, 4, 2, 4], [1, 5], [12, 3]];
