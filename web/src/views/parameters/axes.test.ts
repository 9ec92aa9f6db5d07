// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { MetricPoint, Run } from "../../model/wire";
import { distinguishingHparams, makeAxis } from "./axes";

const run = (hparams: Run["hparams"], loss?: MetricPoint["value"]): Run => ({
  uid: "u",
  workspace: "w",
  status: "completed",
  created: "",
  hparams,
  tags: {},
  notes: [],
  attempts: [],
  metrics: loss === undefined ? {} : { loss: { last: { value: loss, step: 1, wall_time: 1 }, count: 1 } },
});

test("learning rates stand apart on a logarithmic axis, and what is missing has no place", () => {
  const runs = [0.001, 0.01, 0.1].map((lr) => run({ lr }));
  const axis = makeAxis("hparams.lr", runs);
  expect(axis?.isLog).toBe(true);
  expect(runs.map((one) => axis?.place(one)?.toFixed(2))).toEqual(["0.00", "0.50", "1.00"]);
  expect(axis?.place(run({}))).toBeUndefined();
});

test("texts have places too, and NaN has none", () => {
  const runs = [run({ opt: "sgd" }, 1), run({ opt: "adam" }, "NaN")];
  expect(makeAxis("hparams.opt", runs)?.ticks.map((tick) => tick.text)).toEqual(["adam", "sgd"]);
  expect(makeAxis("metrics.loss.last", runs)?.place(runs[1] as Run)).toBeUndefined();
});

test("only hyperparameters that differ tell something", () => {
  expect(distinguishingHparams([run({ lr: 1, same: 2 }), run({ lr: 2, same: 2 })])).toEqual(["hparams.lr"]);
});
