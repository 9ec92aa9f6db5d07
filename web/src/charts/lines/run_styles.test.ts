// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Run } from "../../model/wire";
import { runStyles } from "./run_styles";

function run(number: number, more: Partial<Run> = {}): Run {
  return {
    uid: `uid${number}`,
    number,
    name: `run${number}`,
    status: "completed",
    created: "2026-01-01T00:00:00Z",
    hparams: {},
    tags: {},
    metrics: {},
    notes: [],
    attempts: [],
    ...more,
  } as unknown as Run;
}

const adam = run(1, { hparams: { optimizer: "adam" } });
const sgd = run(2, { hparams: { optimizer: "sgd" } });

function groups(...runs: Run[]): (string | undefined)[] {
  return [...runStyles(runs, "hparams.optimizer", false).values()].map((look) => look.group);
}

test("a run whose hyperparameters have not arrived belongs to no group yet", () => {
  const times = { started: "2026-01-01T00:00:00Z", heartbeat: "2026-01-01T00:00:30Z" };
  const fresh = run(3, { status: "running", ...times });
  const look = runStyles([adam, fresh], "hparams.optimizer", false).get("uid3");
  expect(look).toMatchObject({ group: undefined, isWaiting: true });
  // One that has others, one that runs for long, and one that has ended log no more of them.
  expect(groups(run(4, { ...fresh, hparams: { lr: 1 } }))).toEqual(["none"]);
  expect(groups(run(5, { ...fresh, heartbeat: "2026-01-01T00:05:00Z" }))).toEqual(["none"]);
  expect(groups(run(6, { ...fresh, status: "failed" }))).toEqual(["none"]);
  expect(runStyles([fresh], "status", false).get("uid3")?.group).toBe("running");
});

test("a group keeps its colour when others come, and a run its own whatever is grouped", () => {
  const before = runStyles([adam, sgd], "hparams.optimizer", false);
  const others = Array.from({ length: 6 }, (_, at) => run(10 + at, { hparams: { optimizer: `other${at}` } }));
  const after = runStyles([...others, adam, sgd], "hparams.optimizer", false);
  for (const uid of ["uid1", "uid2"]) expect(after.get(uid)?.colour).toBe(before.get(uid)?.colour);
  const together = runStyles([adam, sgd, ...others], "", false);
  for (const one of [adam, sgd, ...others])
    expect(runStyles([one], "", false).get(one.uid)?.colour).toBe(together.get(one.uid)?.colour);
});
