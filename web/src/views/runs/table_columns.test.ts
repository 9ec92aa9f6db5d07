// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { LEAST_WIDTH, tableColumns, withWidth } from "./table_columns";

test("no column is narrower than a number", () => {
  const widths = withWidth(["metrics.loss=10"], "hparams.lr", 5);
  const columns = tableColumns(["metrics.loss", "hparams.lr"], [], widths);
  expect(columns.slice(1).map((column) => column.width)).toEqual([LEAST_WIDTH, LEAST_WIDTH]);
});
