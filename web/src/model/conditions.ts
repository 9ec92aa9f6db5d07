// SPDX-License-Identifier: Apache-2.0
// Filters that are clicked together: they write the text that a person could have typed.
import { COLUMN_KINDS, type Field, quoteText, serializeField } from "./fields";
import type { WireValue } from "./wire";

export type Operator = "==" | "!=" | "<" | ">" | "<=" | ">=" | "contains" | "is none" | "is not none";

/** A value as the language writes it. */
export function literal(value: WireValue, field: Field): string {
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") return String(value);
  const text = String(value);
  const isNumber = field.kind === "metric" || (field.kind === "plain" && COLUMN_KINDS[field.name] === "number");
  if (isNumber && /^-?\d+$/.test(text)) return text;
  if (isNumber && text === "Infinity") return "inf";
  if (isNumber && text === "-Infinity") return "-inf";
  return quoteText(text);
}

/** The runs whose name or number is looked for, as lists beside charts find them. */
export function nameCondition(wanted: string): string {
  const pattern = wanted.trim().replace(/[\\%_]/g, "\\$&");
  const number = /^(?:run)?(\d{1,15})$/i.exec(wanted.trim())?.[1];
  const isNamed = `name ilike ${quoteText(`%${pattern}%`)}`;
  return number ? `(${isNamed} or number == ${number})` : isNamed;
}

export function condition(field: Field, operator: Operator, value: WireValue | undefined): string {
  const name = serializeField(field);
  if (operator === "is none" || operator === "is not none") return `${name} ${operator}`;
  if (value === undefined || value === null) return `${name} is ${operator === "!=" ? "not " : ""}none`;
  if (value === "NaN" && field.kind !== "plain" && field.kind !== "tag") {
    return `${name} is ${operator === "!=" ? "not " : ""}nan`;
  }
  return `${name} ${operator} ${literal(value, field)}`;
}

/** The conditions that a filter asks for together: the parts between its outermost `and`s. */
export function conjuncts(where: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const word of where.matchAll(
    /"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[()[\]]|(?:and|or)(?![^\s"'()[\]])|[^\s"'()[\]]+/gi,
  )) {
    const text = word[0].toLowerCase();
    if (text === "(" || text === "[") depth += 1;
    else if (text === ")" || text === "]") depth -= 1;
    else if (text === "or" && depth === 0) return [where.trim()];
    else if (text === "and" && depth === 0) {
      parts.push(where.slice(from, word.index).trim());
      from = word.index + 3;
    }
  }
  const last = where.slice(from).trim();
  return [...new Set([...parts, last])].filter(Boolean);
}

export function withCondition(where: string, added: string): string {
  const parts = conjuncts(where);
  if (parts.includes(added)) return where;
  const before = parts.length === 1 && hasLooseOr(where) ? `(${where.trim()})` : where.trim();
  return before ? `${before} and ${added}` : added;
}

export function withoutCondition(where: string, removed: string): string {
  return conjuncts(where)
    .filter((part) => part !== removed)
    .join(" and ");
}

function hasLooseOr(where: string): boolean {
  return conjuncts(`${where} and x`).length === 1;
}
