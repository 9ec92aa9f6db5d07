// SPDX-License-Identifier: Apache-2.0
// Which runs are plotted: the first few of the list, and what a person has shown or hidden apart from that.

export interface Plotted {
  first: number;
  shown: readonly string[];
  hidden: readonly string[];
}

export function isPlotted(plotted: Plotted, index: number, number: number | undefined): boolean {
  const name = String(number);
  if (plotted.shown.includes(name)) return true;
  return index < plotted.first && !plotted.hidden.includes(name);
}

export function togglePlotted(plotted: Plotted, index: number, number: number): Pick<Plotted, "shown" | "hidden"> {
  const name = String(number);
  const without = (names: readonly string[]): string[] => names.filter((one) => one !== name);
  if (isPlotted(plotted, index, number)) {
    const hidden = index < plotted.first ? [...without(plotted.hidden), name] : without(plotted.hidden);
    return { shown: without(plotted.shown), hidden };
  }
  const shown = index < plotted.first ? without(plotted.shown) : [...without(plotted.shown), name];
  return { shown, hidden: without(plotted.hidden) };
}
