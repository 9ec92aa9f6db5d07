// SPDX-License-Identifier: Apache-2.0
// The router: the browser's address as reactive state, and the state of views in its query.
import { type Parts, readState, type StateOf, writeState } from "../model/query_codec";
import { routeOf } from "../model/routes";
import { ThrottledWriter } from "./throttled_writer";

class Router {
  path = $state(location.pathname);
  query = $state(location.search);
  readonly route = $derived(routeOf(this.path));
  private readonly history = new ThrottledWriter((address: string) => history.replaceState(null, "", address));

  constructor() {
    addEventListener("popstate", () => {
      this.history.forget(); // it was meant for the step of the history that was left
      this.look();
    });
    addEventListener("pagehide", () => this.history.flush());
  }

  /** The whole address of what is seen, which that of the browser may be a moment behind. */
  get link(): string {
    return location.origin + this.path + this.query;
  }

  /** Go to another address; it becomes a step of the browser's history. */
  go(address: string): void {
    this.history.flush();
    this.history.forget(); // if it was refused: it must not replace the new address later
    history.pushState(null, "", address);
    this.look();
    document.querySelector("main")?.scrollTo(0, 0);
  }

  /** Change the address without a step of the history, for what changes all the time. */
  replace(query: URLSearchParams): void {
    const written = query.toString();
    this.query = written && `?${written}`;
    this.history.put(this.path + this.query);
  }

  private look(): void {
    this.path = location.pathname;
    this.query = location.search;
  }
}

export const router = new Router();

/** The state of a view, which lives in the address and nowhere else. */
export class ViewState<P extends Parts> {
  constructor(private readonly parts: P) {}

  readonly now: StateOf<P> = $derived.by(() => readState(this.parts, new URLSearchParams(router.query)));

  set(change: Partial<StateOf<P>>): void {
    router.replace(writeState(this.parts, { ...this.now, ...change }));
  }

  /** The address of another place with a state. */
  address(path: string, state: Partial<StateOf<P>>): string {
    const usual = readState(this.parts, new URLSearchParams());
    const written = writeState(this.parts, { ...usual, ...state }).toString();
    return written ? `${path}?${written}` : path;
  }
}

/** Follows a link inside of the page without loading it anew; new tabs and other addresses are the browser's. */
export function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element | null)?.closest?.("a");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (routeOf(link.pathname).kind === "nowhere") return;
  event.preventDefault();
  if (link.hash) {
    document.getElementById(link.hash.slice(1))?.focus(); // a place within the view that is there
    return;
  }
  router.go(link.pathname + link.search);
}
