// SPDX-License-Identifier: Apache-2.0
// The table of runs as CSV: the columns that are shown, with whole values.
import type { Run } from "../api/wire";
import { cellValue } from "./cell_values";
import { csvLine } from "../charts/csv";
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
