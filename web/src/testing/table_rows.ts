// SPDX-License-Identifier: Apache-2.0
// The table of runs, as component tests look at it.
import { expect } from "vitest";
import { page, type Locator } from "vitest/browser";

/** The names of the runs that are in the document, from top to bottom. */
export function rowNames(): string[] {
  return page
    .getByCss("[role=row] a.name")
    .elements()
    .map((name) => name.textContent.trim());
}

export function nameCell(name: string): Locator {
  return page.getByCss("[role=row] a.name").filter({ hasText: name });
}

export function rowOf(name: string): Locator {
  return page.getByRole("row").filter({ has: page.getByCss("a.name").filter({ hasText: name }) });
}

/** Wait until the line above the table begins with a text, such as `3 runs that match`. */
export async function countReads(text: string): Promise<void> {
  await expect
    .poll(() => page.getByCss(".message").query()?.textContent.replace(/\s+/g, " ").trim())
    .toMatch(RegExp(`^${text}`));
}
