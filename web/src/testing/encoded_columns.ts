// SPDX-License-Identifier: Apache-2.0
// Writes curves as the server does (docs/series.md), for answers of a stub server.
import { COLUMNS_TYPE, type Problem } from "../data/columns";

/** A curve of a run; steps beyond 2^53 are given as bigint. */
export interface PlainCurve {
  run: number;
  uid: string;
  name: string;
  workspace: string;
  logdir: string;
  tag: string;
  steps: readonly number[] | readonly bigint[];
  walls: readonly number[];
  values: readonly number[];
  /** How many points it has in the window before it is downsampled; as many as there are without it. */
  total?: number;
  means?: { means: readonly number[]; counts: readonly number[] };
}

interface Head {
  problems?: Problem[];
  [part: string]: unknown;
}

export function encodeColumns(curves: readonly PlainCurve[], head: Head = {}): ArrayBuffer {
  const items = curves.map(({ steps, walls: _, values, means, total, ...rest }) => ({
    ...rest,
    total: total ?? values.length,
    points: values.length,
    steps: typeof steps[0] === "bigint" ? "i8" : "f8",
    ...(means ? { means: true } : {}),
  }));
  const columns = curves.flatMap(({ steps, walls, values, means }) => [
    isLong(steps) ? BigInt64Array.from(steps) : Float64Array.from(steps),
    ...[walls, values, ...(means ? [means.means, means.counts] : [])].map((column) => Float64Array.from(column)),
  ]);
  const text = paddedJson({ version: 1, items, problems: [], ...head });
  const content = new Uint8Array(12 + text.length + columns.reduce((sum, column) => sum + column.byteLength, 0));
  content.set(new TextEncoder().encode("ABCOLUMN"));
  new DataView(content.buffer).setUint32(8, text.length, true);
  content.set(text, 12);
  let at = 12 + text.length;
  for (const column of columns) {
    content.set(new Uint8Array(column.buffer), at);
    at += column.byteLength;
  }
  return content.buffer;
}

export function columnsResponse(curves: readonly PlainCurve[], head: Head = {}): Response {
  return new Response(encodeColumns(curves, head), { headers: { "Content-Type": COLUMNS_TYPE } });
}

function isLong(steps: PlainCurve["steps"]): steps is readonly bigint[] {
  return typeof steps[0] === "bigint";
}

/** Columns begin at a multiple of eight. */
function paddedJson(head: unknown): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(head));
  const padded = new Uint8Array(Math.ceil((12 + text.length) / 8) * 8 - 12).fill(32);
  padded.set(text);
  return padded;
}
