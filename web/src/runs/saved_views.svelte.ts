// SPDX-License-Identifier: Apache-2.0
// Named views of a workspace, kept in this browser: each is an address, so it can be given to others too.
import { BASE } from "../api/address";

export interface SavedView {
  name: string;
  address: string;
}

export class SavedViewList {
  items = $state.raw<SavedView[]>([]);
  private readonly key: string;

  constructor(workspace: string) {
    this.key = `aboard${BASE}.views.${workspace}`;
    this.items = this.read();
  }

  keep(name: string, address: string): boolean {
    this.items = [...this.items.filter((one) => one.name !== name), { name, address }];
    return this.write();
  }

  forget(name: string): void {
    this.items = this.items.filter((one) => one.name !== name);
    this.write();
  }

  private read(): SavedView[] {
    try {
      const read: unknown = JSON.parse(localStorage.getItem(this.key) ?? "[]");
      if (!Array.isArray(read)) return [];
      // An address that leads elsewhere was not written here.
      return read.filter(
        (one: SavedView) =>
          typeof one?.name === "string" && typeof one.address === "string" && one.address.startsWith(`${BASE}/w/`),
      );
    } catch {
      return [];
    }
  }

  private write(): boolean {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.items));
      return true;
    } catch {
      return false;
    }
  }
}
