// SPDX-License-Identifier: Apache-2.0
// The views of the page. Runs and their comparison come with it, because nearly everybody begins there; the others are
// loaded when they are first wanted.
import type { Component } from "svelte";
import ComparePage from "../compare/ComparePage.svelte";
import RunsPage from "../runs/RunsPage.svelte";
import type { Route } from "../routing/routes";

/* eslint-disable @typescript-eslint/no-explicit-any -- each view has properties of its own, which App gives it */
type Loader = () => Promise<{ default: Component<any> }>;

const LOADERS: Partial<Record<Route["kind"], Loader>> = {
  run: () => import("../run/RunPage.svelte"),
  boards: () => import("../boards/BoardsPage.svelte"),
  board: () => import("../boards/BoardPage.svelte"),
};
const loaded = new Map<string, Promise<Component<any>>>();

export function viewOf(kind: Route["kind"]): Component<any> | Promise<Component<any>> | undefined {
  if (kind === "runs") return RunsPage;
  if (kind === "compare") return ComparePage;
  const loader = LOADERS[kind];
  if (!loader) return undefined;
  let view = loaded.get(kind);
  if (!view) {
    view = loader().then((module) => module.default);
    view.catch(() => loaded.delete(kind)); // a page that was replaced by a newer one has other files
    loaded.set(kind, view);
  }
  return view;
}
