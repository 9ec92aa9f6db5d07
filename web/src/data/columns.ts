// SPDX-License-Identifier: Apache-2.0
// Curves as the server sends them: a head in JSON and columns behind it (docs/series.md).
import type { Curve } from "../model/curve";

export const COLUMNS_TYPE = "application/vnd.aboard.columns";
const MAGIC = "ABCOLUMN";
const VERSION = 1;

interface Item {
  run: number | null;
  uid: string;
  logdir: string;
  tag: string;
  total: number;
  points: number;
  steps: "f8" | "i8";
  means?: boolean;
}

export interface Problem {
  run: string;
  code: string;
  message: string;
}

export interface Curves {
  items: Curve[];
  problems: Problem[];
  /** All that is said before the columns. */
  head: Record<string, unknown>;
}

export function readColumns(content: ArrayBuffer): Curves {
  const begin = new TextDecoder().decode(content.slice(0, 8));
  if (begin !== MAGIC) throw new Error("the answer is no columns of aboard");
  const length = new DataView(content).getUint32(8, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(content, 12, length))) as Record<string, unknown> & {
    version: number;
    items: Item[];
    problems?: Curves["problems"];
  };
  if (head.version !== VERSION) {
    throw new Error(`the columns are of version ${head.version}, this page reads ${VERSION}: load the page again`);
  }
  let at = Math.ceil((12 + length) / 8) * 8;
  const column = (points: number): Float64Array => {
    const found = new Float64Array(content, at, points);
    at += points * 8;
    return found;
  };
  const items = head.items.map((item) => {
    const bytes = at;
    const steps = column(item.points);
    const isLong = item.steps === "i8";
    const exact = isLong ? new BigInt64Array(content, bytes, item.points) : undefined;
    return {
      run: item.run ?? 0,
      uid: item.uid,
      logdir: item.logdir,
      tag: item.tag,
      total: item.total,
      ...(exact ? { exact } : {}),
      steps: exact ? Float64Array.from(exact, Number) : steps,
      walls: column(item.points),
      values: column(item.points),
      ...(item.means ? { parts: { means: column(item.points), counts: column(item.points) } } : {}),
    };
  });
  return { items, problems: head.problems ?? [], head };
}
