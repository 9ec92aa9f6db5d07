// SPDX-License-Identifier: Apache-2.0
// Runs as the server describes them, made from the few facts that a test is about.
import type { Annotation, Run, Status, WireValue } from "../model/wire";
import type { PlainCurve } from "./encoded_columns";

/** When the first run was created; every further one is a minute later. */
const CREATED = Date.UTC(2026, 10, 1);

export interface RunFacts {
  name: string;
  workspace?: string;
  status?: Status;
  experiment?: string;
  hparams?: Record<string, WireValue>;
  /** The last values of metrics, as the table shows them. */
  metrics?: Record<string, readonly (number | "NaN")[]>;
  tags?: Record<string, string>;
  /** Values by tag, at the steps 0, 1, …; a tag such as `train:loss` is in the logdir `train`. */
  curves?: Record<string, readonly number[]>;
  /** Anything else that the server says of a run. */
  details?: Partial<Run>;
}

export function makeRun(number: number, facts: RunFacts): Run {
  const created = new Date(CREATED + number * 60_000).toISOString();
  const status = facts.status ?? "completed";
  return {
    uid: `01KSTUB${String(number).padStart(19, "0")}`,
    number,
    name: facts.name,
    workspace: facts.workspace ?? "lab",
    experiment: facts.experiment ?? "",
    user: "tester",
    status,
    created,
    started: created,
    ...(status === "running" ? {} : { ended: new Date(Date.parse(created) + 30_000).toISOString() }),
    hparams: facts.hparams ?? {},
    metrics: Object.fromEntries(Object.entries(facts.metrics ?? {}).map(([name, values]) => [name, metric(values)])),
    tags: facts.tags ?? {},
    notes: [],
    attempts: [{ number: 1, status, started: created }],
    ...facts.details,
  };
}

function metric(values: readonly (number | "NaN")[]): Run["metrics"][string] {
  const finite = values.filter((value) => value !== "NaN");
  const point = (value: number | "NaN") => ({ value, step: values.lastIndexOf(value), wall_time: CREATED / 1000 });
  return {
    last: point(values.at(-1) ?? "NaN"),
    ...(finite.length ? { min: point(Math.min(...finite)), max: point(Math.max(...finite)) } : {}),
    count: values.length,
  };
}

/** The curves of a run: a point a second from 1000 seconds after 1970 on. */
export function makeCurves(run: Run, curves: RunFacts["curves"] = {}): PlainCurve[] {
  return Object.entries(curves).map(([name, values]) => {
    const at = name.indexOf(":");
    return curveOf(run, at < 0 ? "" : name.slice(0, at), name.slice(at + 1), [...values.keys()], values);
  });
}

/** A curve at steps of its own. */
export function curveOf(
  run: Run,
  logdir: string,
  tag: string,
  steps: PlainCurve["steps"],
  values: readonly number[],
): PlainCurve {
  const { uid, workspace, number = 0, name = "" } = run;
  return { run: number, uid, name, workspace, logdir, tag, steps, walls: values.map((_, at) => 1000 + at), values };
}

export function annotation(run: Run, name: string, step: number, data: Annotation["data"] = {}): Annotation {
  return { run: run.uid, name, step, wall_time: 1000 + step, data };
}

/** A sweep over learning rates with two seeds each, and curves in two logdirs. */
export function sweepRuns(count = 8, points = 20): RunFacts[] {
  return Array.from({ length: count }, (_, index) => {
    const rate = [0.001, 0.01, 0.1, 1][index % 4] as number;
    const seed = Math.floor(index / 4);
    const loss = Array.from({ length: points }, (_, step) => Math.exp((-step * rate) / points) + seed);
    return {
      name: `sweep-${index}`,
      experiment: "rates",
      status: index === 1 ? ("failed" as const) : ("completed" as const),
      hparams: { lr: rate, seed, optimizer: index % 2 ? "adam" : "sgd" },
      metrics: { "train/loss": loss.slice(-5), "test/acc": [1 - rate / 2] },
      tags: index === 0 ? { best: "" } : {},
      curves: {
        "train:loss": loss,
        "train:optim/norm": [1, 2, 3],
        "test:loss": Array.from({ length: 10 }, (_, at) => 2 - rate + at / 10),
      },
    };
  });
}
