// SPDX-License-Identifier: Apache-2.0
// Views that are saved for a workspace: places of the page with all that was chosen there.
import { EVERYWHERE } from "../model/routes";
import type { Page, SavedView, Schemas } from "../model/wire";
import { fetchJson } from "./request";
import { fetchCurrentUser } from "./users";

export const savedViewStore = {
  user: fetchCurrentUser,

  async list(workspace: string): Promise<SavedView[]> {
    const query = { workspace: workspace === EVERYWHERE ? undefined : workspace };
    return (await fetchJson<Page<SavedView>>("saved-views", { query })).items;
  },

  save(view: Schemas["NewSavedView"]): Promise<SavedView> {
    return fetchJson("saved-views", { method: "POST", body: view });
  },

  change(view: SavedView, change: { name?: string; address?: string }): Promise<SavedView> {
    return fetchJson(`saved-views/${view.id}`, { method: "PATCH", body: change });
  },

  remove(view: SavedView): Promise<SavedView> {
    return fetchJson(`saved-views/${view.id}`, { method: "DELETE" });
  },
};
