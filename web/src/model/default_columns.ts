// SPDX-License-Identifier: Apache-2.0
// The columns of a table that nobody has chosen any for: what tells its runs apart.
import { serializeField } from "./fields";
import type { FieldNames } from "./wire";

const MOST_METRICS = 3;
const MOST_HPARAMS = 4;
const TELLING =
  /(val|valid|test|eval)[/_.]?.*(loss|acc|score|f1|reward|error|err|auc|bleu|map)|accuracy|loss|reward|score/i;

/** `isFolders`: the runs have no experiments and mostly no users. */
export function defaultColumns(fields: Pick<FieldNames, "hparams" | "metrics">, isFolders = false): string[] {
  const telling = [...fields.metrics].sort((one, other) => rank(one) - rank(other) || one.localeCompare(other));
  const main = telling.slice(0, 1);
  return [
    "status",
    ...(isFolders ? [] : ["experiment"]),
    ...telling
      .slice(0, MOST_METRICS)
      .map((name) =>
        serializeField({ kind: "metric", name, part: /acc|reward|score|f1|auc|bleu|map/i.test(name) ? "max" : "min" }),
      ),
    ...fields.hparams.slice(0, MOST_HPARAMS).map((name) => serializeField({ kind: "hparam", name })),
    "tags",
    ...(isFolders ? [] : ["user"]),
    isFolders ? "started" : "created",
    "duration",
    ...(isFolders ? [...main.map((name) => serializeField({ kind: "metric", name, part: "count" })), "bytes"] : []),
  ];
}

function rank(name: string): number {
  if (/^(system|hw)\//.test(name)) return 9;
  const isHeldOut = /(val|valid|test|eval)/i.test(name);
  if (TELLING.test(name)) return isHeldOut ? 0 : 1;
  return isHeldOut ? 2 : 3;
}
