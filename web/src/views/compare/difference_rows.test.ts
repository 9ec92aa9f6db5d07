// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Run } from "../../model/wire";
import { delta, differenceRows } from "./difference_rows";

function run(number: number, more: Partial<Run>): Run {
  return {
    uid: `u${number}`,
    number,
    workspace: "w",
    status: "completed",
    created: "2026-11-01T00:00:00Z",
    hparams: {},
    metrics: {},
    tags: {},
    notes: [],
    attempts: [],
    ...more,
  };
}

test("rows say what differs, and what a run lacks", () => {
  const attempts = (torch: string) => [
    {
      number: 1,
      status: "completed" as const,
      python: { version: "3.11", packages: { torch } },
      code: { commit: "abc" },
    },
  ];
  const rows = differenceRows([
    run(1, { hparams: { lr: 0.1, depth: 3 }, attempts: attempts("2.1") }),
    run(2, { hparams: { lr: 0.2 }, attempts: attempts("2.2") }),
  ]);
  const of = (name: string) => rows.find((row) => row.name === name);
  expect(of("lr")).toMatchObject({ differs: true, group: "Hyperparameters" });
  expect(of("depth")?.cells[1]).toBeUndefined();
  expect(of("torch")).toMatchObject({ differs: true, group: "Packages" });
  expect(of("commit")).toMatchObject({ differs: false, group: "Code" });
  expect(of("packages.torch")).toBeUndefined();
});

test("a difference is told as a number and a share", () => {
  expect(delta({ text: "", number: 1.1 }, { text: "", number: 1 })).toMatch(/^\+0\.1 \(\+10\.0 %\)$/);
  expect(delta({ text: "", number: 1 }, { text: "", number: 0 })).toBe("+1");
  expect(delta({ text: "a" }, { text: "b" })).toBe("");
  expect(delta({ text: "", number: NaN }, { text: "", number: 0 })).toBe("");
});
