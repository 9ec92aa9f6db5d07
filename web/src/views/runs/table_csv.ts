// SPDX-License-Identifier: Apache-2.0
// The table of runs as CSV: the columns that are shown, with whole values.
import { csvLine } from "../../model/csv";
import { cellValue } from "../../model/run_values";
import type { Run } from "../../model/wire";
import type { TableColumn } from "./table_columns";

export function runsAsCsv(runs: readonly Run[], columns: readonly TableColumn[]): string {
  const head = csvLine(["number", ...columns.map((column) => column.id)]);
  const lines = runs.map((run) =>
    csvLine([
      run.number,
      ...columns.map((column) =>
        column.field
          ? cellValue(run, column.field)
          : Object.entries(run.tags)
              .map(([name, value]) => (value ? `${name}=${value}` : name))
              .join(" "),
      ),
    ]),
  );
  return [head, ...lines, ""].join("\n");
}
