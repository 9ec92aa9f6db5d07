// SPDX-License-Identifier: Apache-2.0
// What the first view can do without waits until that is drawn.

const MOST = 1000; // milliseconds, for a page that never rests

/** Do it when the browser has nothing else to do; what is returned takes that back. */
export function whenIdle(doing: () => void): () => void {
  if (!("requestIdleCallback" in globalThis)) {
    const timer = setTimeout(doing, MOST / 5);
    return () => clearTimeout(timer);
  }
  const idle = requestIdleCallback(doing, { timeout: MOST });
  return () => cancelIdleCallback(idle);
}
