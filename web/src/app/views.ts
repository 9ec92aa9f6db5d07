// SPDX-License-Identifier: Apache-2.0
// The views of the page. Runs and their comparison come with it, because nearly everybody begins there; the others are
// loaded when they are first wanted.
import type { Component } from "svelte";
import type { Route } from "../model/routes";
import ComparePage from "../views/compare/ComparePage.svelte";
import RunsPage from "../views/runs/RunsPage.svelte";

/* eslint-disable @typescript-eslint/no-explicit-any -- each view has properties of its own, which App gives it */
type Loader = () => Promise<{ default: Component<any> }>;

const LOADERS: Partial<Record<Route["kind"], Loader>> = {
  run: () => import("../views/run/RunPage.svelte"),
  boards: () => import("../views/boards/BoardsPage.svelte"),
  board: () => import("../views/boards/BoardPage.svelte"),
};
/** The tabs of a comparison that are views themselves; charts come with the page. */
export const COMPARE_TABS: Record<string, Loader> = {
  differences: () => import("../views/compare/DifferencesTab.svelte"),
  media: () => import("../views/media/MediaTab.svelte"),
  parameters: () => import("../views/parameters/ParametersTab.svelte"),
};
const loaded = new Map<string, Promise<Component<any>>>();

export function findView(kind: Route["kind"]): Component<any> | Promise<Component<any>> | undefined {
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
