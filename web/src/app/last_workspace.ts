// SPDX-License-Identifier: Apache-2.0
// The workspace that was looked at last in this browser.
const KEY = "aboard.workspace";

export function lastWorkspace(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

export function rememberWorkspace(name: string): void {
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // A browser that keeps nothing begins with all runs.
  }
}
