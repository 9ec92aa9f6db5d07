// SPDX-License-Identifier: Apache-2.0
// The columns of the table of runs as they are drawn: title, width, pinned or not.
import { type Field, fieldTitle, parseField } from "../../model/fields";
import { isNumeric } from "../../model/run_values";

export interface TableColumn {
  /** As it stands in the address. */
  id: string;
  title: string;
  /** None for all tags of a run. */
  field: Field | undefined;
  width: number;
  isPinned: boolean;
  isNumeric: boolean;
}

/** Pixels in which any number fits, with as few digits as need be. */
export const LEAST_WIDTH = 80;
const MOST_WIDTH = 900;
const USUAL: Record<string, number> = {
  name: 240,
  status: 108,
  note: 220,
  store: 220,
  uid: 230,
  tags: 180,
  created: 104,
};

export function tableColumns(
  ids: readonly string[],
  pinned: readonly string[],
  widths: readonly string[],
): TableColumn[] {
  const chosen = widthsOf(widths);
  const known = new Set(["name", ...ids]);
  const columns = [...known].flatMap((id) => {
    const field = id === "tags" ? undefined : parseField(id);
    if (id !== "tags" && !field) return [];
    const title = fieldTitle(id, field);
    const numeric = field !== undefined && isNumeric(field);
    const width = chosen.get(id) ?? USUAL[id] ?? (field?.kind === "metric" ? metricWidth(title) : numeric ? 104 : 120);
    const isPinned = id === "name" || pinned.includes(id);
    return [{ id, title, field, width, isPinned, isNumeric: numeric }];
  });
  return [...columns.filter((one) => one.isPinned), ...columns.filter((one) => !one.isPinned)];
}

/** Its end says which part of the metric stands there, so the title is shown whole where it is not very long. */
function metricWidth(title: string): number {
  return Math.min(220, Math.max(144, 32 + title.length * 8));
}

export function withWidth(widths: readonly string[], id: string, pixels: number): string[] {
  const chosen = widthsOf(widths);
  chosen.set(id, Math.round(within(pixels)));
  return [...chosen].map(([name, width]) => `${name}=${width}`);
}

function within(pixels: number): number {
  return Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, pixels));
}

function widthsOf(widths: readonly string[]): Map<string, number> {
  return new Map(
    widths.flatMap((text) => {
      const at = text.lastIndexOf("=");
      const pixels = Number(text.slice(at + 1));
      return at > 0 && pixels > 0 ? [[text.slice(0, at), within(pixels)] as const] : [];
    }),
  );
}
