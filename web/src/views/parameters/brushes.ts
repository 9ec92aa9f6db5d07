// SPDX-License-Identifier: Apache-2.0
// Parts of axes that somebody chose, as texts of an address: `0.25~0.5~hparams.lr`; and the runs in them.
import type { Run } from "../../model/wire";
import type { ParameterAxis } from "./axes";

/** From where to where, of an axis from 0 to 1. */
export type Brush = readonly [number, number];

export function parseBrushes(texts: readonly string[]): Map<string, Brush> {
  const found = new Map<string, Brush>();
  for (const text of texts) {
    const [from, to, ...id] = text.split("~");
    const brush = [Number(from), Number(to)] as const;
    if (brush.every(Number.isFinite) && id.length) found.set(id.join("~"), brush);
  }
  return found;
}

export function formatBrushes(brushes: ReadonlyMap<string, Brush>): string[] {
  return [...brushes].map(([id, [from, to]]) => `${from.toFixed(3)}~${to.toFixed(3)}~${id}`);
}

const REACH = 0.02; // what is at the edge of the chosen part is meant too

/** The runs in all chosen parts. What was chosen on an axis that is not shown waits until it is. */
export function filterRuns(
  runs: readonly Run[],
  axes: readonly Pick<ParameterAxis, "id" | "place">[],
  brushes: ReadonlyMap<string, Brush>,
): Run[] {
  return runs.filter((run) =>
    axes.every(({ id, place }) => {
      const brush = brushes.get(id);
      if (!brush) return true;
      const at = place(run);
      return at !== undefined && at >= brush[0] - REACH && at <= brush[1] + REACH;
    }),
  );
}
