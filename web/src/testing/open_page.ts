// SPDX-License-Identifier: Apache-2.0
// The whole page in a component test: mounted at an address, against a stub server.
import { mount, tick, unmount } from "svelte";
import { onTestFinished, vi } from "vitest";
import App from "../app/App.svelte";
import { connection } from "../data/connection.svelte";
import { notices } from "../ui/notices.svelte";
import { help } from "../ui/shortcuts.svelte";
import { applyTheme, theme } from "../ui/theme.svelte";
import type { StubServer } from "./stub_server";
import "../ui/theme.css";

let mounted: Record<string, unknown> | undefined;
let target: HTMLElement | undefined;

/** Open an address of the page. What the address and the browser's storage do not keep is gone, as after a load. */
export async function openPage(server: StubServer, address: string): Promise<void> {
  await closePage();
  vi.stubGlobal("fetch", server.fetch);
  onTestFinished(() => {
    if (server.unanswered.length) throw new Error(`Requests without a handler:\n${server.unanswered.join("\n")}`);
  });
  target = document.createElement("div");
  target.id = "page";
  document.body.replaceChildren(target);
  goTo(address);
  applyTheme();
  mounted = mount(App, { target });
  await tick();
}

/** Load the page again at the address that the browser has now. */
export async function reloadPage(server: StubServer): Promise<void> {
  dispatchEvent(new Event("pagehide")); // writes what of the address is still to be written
  dispatchEvent(new Event("pageshow"));
  await openPage(server, location.pathname + location.search);
}

/** Go to an address as the buttons Back and Forward do. */
export function goTo(address: string): void {
  history.pushState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}

export async function closePage(): Promise<void> {
  if (mounted) await unmount(mounted);
  mounted = undefined;
  target?.remove();
}

/** Everything that outlives a view: storage, theme, notices, the state of the connection. */
export function forgetVisit(): void {
  localStorage.clear();
  theme.choose("system");
  localStorage.clear();
  notices.items = [];
  help.open = false;
  connection.reset();
}

/** The query of the address, decoded. */
export function queryOf(): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(location.search));
}
