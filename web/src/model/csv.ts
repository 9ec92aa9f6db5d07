// SPDX-License-Identifier: Apache-2.0
// Lines of CSV that a spreadsheet reads as data and never as a formula.

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

export function csvLine(values: readonly unknown[]): string {
  return values.map(csvCell).join(",");
}

function csvCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(value);
  let text = String(value);
  // A text that begins so would be run by spreadsheets; a quote before it makes it text again.
  if (/^[=+\-@\t\r]/.test(text) && !NUMBER.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
