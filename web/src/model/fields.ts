// SPDX-License-Identifier: Apache-2.0
// Fields of runs in the words of the query language (docs/filters.md).

export const COLUMN_KINDS = {
  name: "text",
  number: "number",
  status: "status",
  experiment: "text",
  workspace: "text",
  user: "text",
  host: "text",
  created: "time",
  started: "time",
  ended: "time",
  heartbeat: "time",
  updated: "time",
  duration: "number",
  attempts: "number",
  files: "number",
  bytes: "number",
  exit_code: "number",
  reason: "text",
  note: "text",
  store: "text",
  uid: "text",
  experiment_number: "number",
} as const;

export type PlainField = keyof typeof COLUMN_KINDS;
export const METRIC_PARTS = ["last", "min", "max", "count", "step", "min_step", "max_step"] as const;
export type MetricPart = (typeof METRIC_PARTS)[number];

export type Field =
  | { kind: "plain"; name: PlainField }
  | { kind: "hparam"; name: string }
  | { kind: "metric"; name: string; part: MetricPart }
  | { kind: "tag"; name: string };

const BARE = /^[\p{L}_][\p{L}\p{N}_]*((\.|[/:@%+-]+)[\p{L}\p{N}_]+)*$/u;

/** A name as it stands behind `hparams.` and its like: in quotes where it has to be. */
export function serializeName(name: string): string {
  const isPart = (METRIC_PARTS as readonly string[]).includes(name.split(".").at(-1) ?? "");
  if (BARE.test(name) && !isPart) return name;
  return quoteText(name);
}

export function quoteText(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r")}"`;
}

export function serializeField(field: Field): string {
  if (field.kind === "plain") return field.name;
  if (field.kind === "metric") return `metrics.${serializeName(field.name)}.${field.part}`;
  return `${field.kind === "hparam" ? "hparams" : "tags"}.${serializeName(field.name)}`;
}

/** The field that a text names, as `serializeField` writes it; none for what it never writes. */
export function parseField(text: string): Field | undefined {
  if (text in COLUMN_KINDS) return { kind: "plain", name: text as PlainField };
  const dot = text.indexOf(".");
  const [root, rest] = [text.slice(0, dot), text.slice(dot + 1)];
  if (root === "hparams") return { kind: "hparam", name: unquoted(rest) };
  if (root === "tags") return { kind: "tag", name: unquoted(rest) };
  if (root !== "metrics") return undefined;
  const last = rest.lastIndexOf(".");
  const part = rest.slice(last + 1) as MetricPart;
  if (last > 0 && METRIC_PARTS.includes(part)) return { kind: "metric", name: unquoted(rest.slice(0, last)), part };
  return { kind: "metric", name: unquoted(rest), part: "last" };
}

function unquoted(name: string): string {
  if (!name.startsWith('"')) return name;
  return unescapeText(name.slice(1, -1));
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", '"': '"', "'": "'", "`": "`", "\\": "\\" };

/** What stands between quotes, as it is meant; before any other character a backslash is itself. */
export function unescapeText(written: string): string {
  return written.replace(/\\(.)/g, (whole, character: string) => ESCAPES[character] ?? whole);
}

const PART_TITLES: Record<MetricPart, string> = {
  last: "",
  min: "min",
  max: "max",
  count: "points",
  step: "step",
  min_step: "step of min",
  max_step: "step of max",
};
const TITLES: Record<string, string> = { bytes: "size", exit_code: "exit code", experiment_number: "experiment №" };

export function fieldTitle(id: string, field: Field | undefined): string {
  if (!field) return id;
  if (field.kind === "plain") return TITLES[field.name] ?? field.name;
  if (field.kind === "metric") return field.part === "last" ? field.name : `${field.name} ${PART_TITLES[field.part]}`;
  return field.name;
}
