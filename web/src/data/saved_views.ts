// SPDX-License-Identifier: Apache-2.0
// Views that are saved for a workspace: places of the page with all that was chosen there.
import { EVERYWHERE } from "../model/routes";
import type { Page, Told } from "../model/wire";
import { ask } from "./request";

export type SavedView = Told["SavedView"];

export async function savedViews(workspace: string): Promise<SavedView[]> {
  const query = { workspace: workspace === EVERYWHERE ? undefined : workspace };
  return (await ask<Page<SavedView>>("saved-views", { query })).items;
}

export function saveView(view: Told["NewSavedView"]): Promise<SavedView> {
  return ask("saved-views", { method: "POST", body: view });
}

export function changeView(view: SavedView, change: { name?: string; address?: string }): Promise<SavedView> {
  return ask(`saved-views/${view.id}`, { method: "PATCH", body: change });
}

export function deleteView(view: SavedView): Promise<SavedView> {
  return ask(`saved-views/${view.id}`, { method: "DELETE" });
}
