// SPDX-License-Identifier: Apache-2.0
// Addresses of the API.
import { BASE } from "../model/routes";

export const PREFIX = `${BASE}/api/v1`;
export type Query = Record<string, string | number | boolean | readonly (string | number)[] | undefined | null>;

export function apiUrl(path: string, query: Query = {}): string {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "" || value === false) continue;
    const values = typeof value === "object" ? value : [value];
    for (const one of values) written.append(name, one === true ? "true" : String(one));
  }
  const text = written.toString();
  return `${PREFIX}/${path}${text ? `?${text}` : ""}`;
}
