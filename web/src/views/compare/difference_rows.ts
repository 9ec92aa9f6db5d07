// SPDX-License-Identifier: Apache-2.0
// What runs are, side by side: rows of values, and whether they differ.
import { formatBytes, formatDuration, formatTime, formatValue, formatWireNumber } from "../../model/format";
import { flattenDetails, runDuration } from "../../model/run_values";
import { type Run, toNumber, type WireValue } from "../../model/wire";

export interface Cell {
  text: string;
  /** For rows of numbers, so that a difference can be told. */
  number?: number;
}

export interface Row {
  group: string;
  name: string;
  cells: (Cell | undefined)[];
  differs: boolean;
}

type Values = Map<string, Cell>;

export function differenceRows(runs: readonly Run[]): Row[] {
  const groups: [string, (run: Run) => Values][] = [
    // First what explains, then what it led to: metrics may be hundreds.
    ["Hyperparameters", hparams],
    ["Metrics", metrics],
    ["Tags", tags],
    ["Run", facts],
    ["Code", (run) => detail(run, "code")],
    ["Packages", packages],
    ["Python", (run) => detail(run, "python", ["packages"])],
    ["Machine", (run) => detail(run, "machine")],
    ["Command", command],
  ];
  return groups.flatMap(([group, read]) => {
    const sides = runs.map(read);
    const names = [...new Set(sides.flatMap((side) => [...side.keys()]))];
    return names.map((name) => {
      const cells = sides.map((side) => side.get(name));
      return { group, name, cells, differs: cells.some((cell) => !isSame(cell, cells[0])) };
    });
  });
}

/** Numbers are the same when they are, not when they look alike; long integers only stand whole in their text. */
export function isSame(one: Cell | undefined, other: Cell | undefined): boolean {
  return one?.text === other?.text && Object.is(one?.number, other?.number);
}

function metrics(run: Run): Values {
  const found: Values = new Map();
  for (const [name, metric] of Object.entries(run.metrics)) {
    found.set(`${name} last`, numberCell(metric.last.value));
    if (metric.min) found.set(`${name} min`, numberCell(metric.min.value));
    if (metric.max) found.set(`${name} max`, numberCell(metric.max.value));
  }
  return found;
}

function numberCell(value: number | string): Cell {
  return { text: formatWireNumber(value), number: toNumber(value) };
}

function valueCell(value: WireValue): Cell {
  return typeof value === "number" ? { text: formatValue(value), number: value } : { text: formatValue(value) };
}

function hparams(run: Run): Values {
  return new Map(Object.entries(run.hparams).map(([name, value]) => [name, valueCell(value)]));
}

function tags(run: Run): Values {
  return new Map(Object.entries(run.tags).map(([name, value]) => [name, { text: value || "✓" }]));
}

function facts(run: Run): Values {
  const duration = runDuration(run);
  const details: [string, Cell | undefined][] = [
    ["status", { text: run.status }],
    ["experiment", run.experiment ? { text: run.experiment } : undefined],
    ["user", run.user ? { text: run.user } : undefined],
    ["host", run.host ? { text: run.host } : undefined],
    ["started", run.started ? { text: formatTime(run.started) } : undefined],
    ["duration", duration === undefined ? undefined : { text: formatDuration(duration) }],
    ["attempts", { text: String(run.attempts.length), number: run.attempts.length }],
    ["exit code", run.exit_code === undefined ? undefined : { text: String(run.exit_code) }],
    ["reason", run.reason ? { text: run.reason } : undefined],
    ["size", run.bytes === undefined ? undefined : { text: formatBytes(toNumber(run.bytes)) }],
  ];
  return new Map(details.flatMap(([name, cell]) => (cell ? [[name, cell] as const] : [])));
}

/** The newest attempt says what it was started with. */
function lastDetail(run: Run, name: string): unknown {
  return run.attempts.findLast((attempt) => attempt[name] !== undefined)?.[name];
}

function detail(run: Run, name: string, without: string[] = []): Values {
  const found: Values = new Map();
  const details = lastDetail(run, name);
  if (typeof details !== "object" || details === null) return found;
  for (const [key, value] of flattenDetails(details as Record<string, unknown>)) {
    if (!without.some((one) => key === one || key.startsWith(`${one}.`))) found.set(key, { text: String(value) });
  }
  return found;
}

function packages(run: Run): Values {
  const python = lastDetail(run, "python") as { packages?: Record<string, string> } | undefined;
  return new Map(Object.entries(python?.packages ?? {}).map(([name, version]) => [name, { text: String(version) }]));
}

function command(run: Run): Values {
  const found: Values = new Map();
  for (const name of ["command", "folder"]) {
    const details = lastDetail(run, name);
    if (typeof details === "string") found.set(name, { text: details });
  }
  return found;
}

/** How far a number is from that of the reference. */
export function delta(cell: Cell | undefined, reference: Cell | undefined): string {
  if (cell?.number === undefined || reference?.number === undefined) return "";
  const by = cell.number - reference.number;
  if (!Number.isFinite(by) || by === 0) return "";
  const sign = by > 0 ? "+" : "−";
  const share = reference.number !== 0 ? ` (${sign}${Math.abs((by / reference.number) * 100).toPrecision(3)} %)` : "";
  return `${sign}${formatWireNumber(Math.abs(by))}${share}`;
}
