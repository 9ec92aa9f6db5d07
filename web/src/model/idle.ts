// SPDX-License-Identifier: Apache-2.0
// Work that the first view does not need waits until that is drawn.

const MOST = 1000; // milliseconds, for a page that is never idle

/** Run a function when the browser is idle; the returned function cancels it. */
export function whenIdle(doing: () => void): () => void {
  if (!("requestIdleCallback" in globalThis)) {
    const timer = setTimeout(doing, MOST / 5);
    return () => clearTimeout(timer);
  }
  const idle = requestIdleCallback(doing, { timeout: MOST });
  return () => cancelIdleCallback(idle);
}
