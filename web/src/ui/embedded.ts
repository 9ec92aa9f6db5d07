// SPDX-License-Identifier: Apache-2.0
// The page in a frame of a notebook: without the top bar and without anything that edits; the server refuses changes.

/** Whether the address says so; views rewrite the query, so it is read once. */
export const isEmbedded = new URLSearchParams(location.search).get("embed") === "1";

/** In a frame, links lead to a tab of the browser, where the whole page is. */
export function openLinkInTab(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.("a");
  if (!link || event.defaultPrevented || link.hasAttribute("download")) return;
  event.preventDefault();
  window.open(link.href, "_blank", "noopener");
}
