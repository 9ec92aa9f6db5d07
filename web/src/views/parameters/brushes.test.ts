// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Run } from "../../model/wire";
import { filterRuns, formatBrushes, parseBrushes } from "./brushes";

test("what was chosen on axes comes back from the address, whatever they are called", () => {
  const chosen = new Map([
    ["hparams.lr", [0.25, 0.5] as const],
    ['hparams."a~b"', [0, 1] as const],
  ]);
  expect(parseBrushes(formatBrushes(chosen))).toEqual(chosen);
});

test("what cannot be read chooses nothing", () => {
  expect(parseBrushes(["", "x~1~hparams.lr", "0~1"])).toEqual(new Map());
});

const RUNS = [0, 0.5, 1].map((lr) => ({ hparams: { lr } }) as unknown as Run);
const RATE = { id: "hparams.lr", place: (run: Run) => run.hparams["lr"] as number };
const NONE = { id: "hparams.seed", place: () => undefined };

test("runs in every chosen part are chosen, and those without a value are not", () => {
  expect(filterRuns(RUNS, [RATE, NONE], new Map())).toEqual(RUNS);
  expect(filterRuns(RUNS, [RATE, NONE], new Map([["hparams.lr", [0.4, 0.99]]]))).toEqual(RUNS.slice(1));
  expect(filterRuns(RUNS, [RATE, NONE], new Map([["hparams.seed", [0, 1]]]))).toEqual([]);
});

test("what was chosen on an axis that is not shown unchooses no run", () => {
  expect(filterRuns(RUNS, [RATE], new Map([["hparams.seed", [0, 0.1]]]))).toEqual(RUNS);
});
