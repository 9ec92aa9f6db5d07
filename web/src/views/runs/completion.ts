// SPDX-License-Identifier: Apache-2.0
// What may come next in a filter: fields, operators, values and words between conditions.
import {
  COLUMN_KINDS,
  type Field,
  METRIC_PARTS,
  parseField,
  type PlainField,
  quoteText,
  serializeField,
  serializeName,
  unescapeText,
} from "../../model/fields";
import { type FieldNames, STATUSES } from "../../model/wire";

export interface Suggestion {
  text: string;
  note: string;
}

export interface Completion {
  /** The part of the text that a suggestion replaces. */
  from: number;
  to: number;
  items: Suggestion[];
  /** The values that would help here, and only the server knows. */
  request: ValueRequest | undefined;
}

export interface ValueRequest {
  field: string;
  prefix: string;
}

/** What the server told: values as a filter writes them, the most frequent first. */
export interface LoadedValues extends ValueRequest {
  texts: readonly string[];
}

const OPERATORS: Suggestion[] = [
  { text: "==", note: "equal" },
  { text: "!=", note: "different" },
  { text: "<", note: "less" },
  { text: "<=", note: "at most" },
  { text: ">", note: "more" },
  { text: ">=", note: "at least" },
  { text: "in [", note: "one of" },
  { text: "contains", note: "part of the text" },
  { text: "like", note: "% is any text" },
  { text: "is none", note: "has none" },
  { text: "is not none", note: "has one" },
  { text: "is nan", note: "is NaN" },
];
const MOST = 12;
const WORD =
  /"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[^\s"'()[\],<>=!]+(?:"(?:\\.|[^"\\])*"?[^\s"'()[\],<>=!]*)*|[<>=!]+|[()[\],]/g;

export function complete(text: string, caret: number, fields: FieldNames, loaded?: LoadedValues): Completion {
  const before = [...text.slice(0, caret).matchAll(WORD)].map((match) => ({ text: match[0], at: match.index }));
  const last = before.at(-1);
  const isWithin = last !== undefined && last.at + last.text.length === caret && /[^()[\],<>=!]/.test(last.text);
  const typed = isWithin ? last.text : "";
  const from = isWithin ? last.at : caret;
  const words = (isWithin ? before.slice(0, -1) : before).map((word) => word.text);
  const request = valueRequest(typed, words, fields);
  const texts = request && request.field === loaded?.field ? loaded.texts : [];
  return { from, to: caret, items: suggestions(typed, words, fields, texts).slice(0, MOST), request };
}

function suggestions(typed: string, words: string[], fields: FieldNames, loaded: readonly string[]): Suggestion[] {
  const previous = words.at(-1)?.toLowerCase();
  if (previous === undefined || ["and", "or", "not", "("].includes(previous)) {
    return matching(typed, [
      ...fieldSuggestions(typed, fields),
      ...(previous === "not" ? [] : [{ text: "not", note: "" }]),
    ]);
  }
  const field = parseField(words.at(-1) ?? "");
  if (field && !isValuePlace(words.slice(0, -1))) return matching(typed, OPERATORS);
  const place = valuePlace(words);
  if (place) {
    const fitting = loaded.filter((text) => isFit(text, place.operator)).map((text) => ({ text, note: "" }));
    return matching(inDoubleQuotes(typed), [...values(place.field), ...fitting]);
  }
  return matching(typed, [
    { text: "and", note: "both must hold" },
    { text: "or", note: "one must hold" },
  ]);
}

const ORDERS = ["<", "<=", ">", ">="];
const TEXT_SEARCHES = ["contains", "startswith", "endswith"];
const PATTERNS = ["like", "ilike"];
const COMPARISONS = ["==", "=", "!=", "<>", ...ORDERS, ...TEXT_SEARCHES, ...PATTERNS];
const VALUED: readonly PlainField[] = ["name", "workspace", "experiment", "user", "host", "store"];

function isValuePlace(words: string[]): boolean {
  return COMPARISONS.includes(words.at(-1)?.toLowerCase() ?? "");
}

/** The field whose value is to be written now, and what it is compared by. */
function valuePlace(words: string[]): { field: Field; operator: string } | undefined {
  const open = words.lastIndexOf("[");
  const isList = open > 1 && words.lastIndexOf("]") < open && words[open - 1]?.toLowerCase() === "in";
  if (!isList && !isValuePlace(words)) return undefined;
  const at = isList ? open - 1 : words.length - 1;
  const isNegated = words[at - 1]?.toLowerCase() === "not";
  const field = parseField(words[isNegated ? at - 2 : at - 1] ?? "");
  return field && { field, operator: words[at]?.toLowerCase() ?? "" };
}

function valueRequest(typed: string, words: string[], fields: FieldNames): ValueRequest | undefined {
  const place = valuePlace(words);
  if (!place || PATTERNS.includes(place.operator) || !hasValues(place.field, fields) || isClosed(typed))
    return undefined;
  return { field: serializeField(place.field), prefix: isQuoted(typed) ? unescapeText(typed.slice(1)) : typed };
}

/** Whether the server has values of a field; of a name that no run has it would refuse to tell any. */
function hasValues(field: Field, fields: FieldNames): boolean {
  if (field.kind === "plain") return VALUED.includes(field.name);
  if (field.kind === "metric") return false;
  return (field.kind === "hparam" ? fields.hparams : fields.tags).includes(field.name);
}

function isFit(text: string, operator: string): boolean {
  if (TEXT_SEARCHES.includes(operator)) return isQuoted(text);
  return !(ORDERS.includes(operator) && (text === "true" || text === "false"));
}

function isQuoted(text: string): boolean {
  return /^["']/.test(text);
}

function isClosed(text: string): boolean {
  return /^(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')$/s.test(text);
}

/** The beginning of a text in quotes as suggestions have it. */
function inDoubleQuotes(typed: string): string {
  return isQuoted(typed) && !isClosed(typed) ? quoteText(unescapeText(typed.slice(1))).slice(0, -1) : typed;
}

function values(field: Field): Suggestion[] {
  if (field.kind === "plain" && field.name === "status") return STATUSES.map((one) => ({ text: `"${one}"`, note: "" }));
  if (field.kind === "plain" && COLUMN_KINDS[field.name] === "time") {
    return ["now - 1h", "now - 1d", "now - 7d", "now - 30d"].map((text) => ({ text, note: "" }));
  }
  if (field.kind === "plain" && field.name === "duration")
    return ["10m", "1h", "1d"].map((text) => ({ text, note: "" }));
  if (field.kind === "plain" && field.name === "bytes") return ["1MB", "1GB"].map((text) => ({ text, note: "" }));
  return [];
}

function fieldSuggestions(typed: string, fields: FieldNames): Suggestion[] {
  const metric = fields.metrics.find((name) =>
    typed.toLowerCase().startsWith(`metrics.${serializeName(name)}.`.toLowerCase()),
  );
  if (metric !== undefined) {
    return METRIC_PARTS.map((part) => ({ text: `metrics.${serializeName(metric)}.${part}`, note: PART_NOTES[part] }));
  }
  return [
    ...Object.entries(COLUMN_KINDS).map(([text, note]) => ({ text, note })),
    ...fields.hparams.map((name) => ({ text: `hparams.${serializeName(name)}`, note: "hyperparameter" })),
    ...fields.metrics.map((name) => ({ text: `metrics.${serializeName(name)}`, note: "metric" })),
    ...fields.tags.map((name) => ({ text: `tags.${serializeName(name)}`, note: "tag" })),
    ...(fields.tags.length ? [] : [{ text: "tags.", note: "tag" }]),
  ];
}

const PART_NOTES: Record<(typeof METRIC_PARTS)[number], string> = {
  last: "newest value",
  min: "smallest value",
  max: "largest value",
  count: "number of values",
  step: "last step",
  min_step: "step of the smallest",
  max_step: "step of the largest",
};

/** Those that begin with what was typed, then those that have it somewhere. */
function matching(typed: string, items: Suggestion[]): Suggestion[] {
  const wanted = typed.toLowerCase();
  const starts = items.filter((one) => one.text.toLowerCase().startsWith(wanted) && one.text !== typed);
  if (!wanted) return starts;
  return [...starts, ...items.filter((one) => one.text.toLowerCase().indexOf(wanted) > 0)];
}
