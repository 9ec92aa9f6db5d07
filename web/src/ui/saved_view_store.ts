// SPDX-License-Identifier: Apache-2.0
// What the panel of saved views reads and writes.
import type { User } from "../model/users";
import type { SavedView, Schemas } from "../model/wire";

export interface SavedViewStore {
  user(): Promise<User>;
  list(workspace: string): Promise<SavedView[]>;
  save(view: Schemas["NewSavedView"]): Promise<SavedView>;
  change(view: SavedView, change: { name?: string; address?: string }): Promise<SavedView>;
  remove(view: SavedView): Promise<SavedView>;
}
