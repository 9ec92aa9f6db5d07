// SPDX-License-Identifier: Apache-2.0
// The current user and their roles.
import type { Schemas } from "./wire";

export type User = Schemas["Person"];
export type Role = NonNullable<User["most"]>;

const RANKS: Record<Role, number> = { viewer: 1, editor: 2, admin: 3 };

/** Capitals make no difference in names of workspaces. */
export function hasRole(person: User, role: Role, workspace: string): boolean {
  if (RANKS[person.most ?? "admin"] < RANKS[role]) return false;
  if (person.administrator) return true;
  const name = workspace.toLowerCase();
  const held = Object.entries(person.roles ?? {}).find(([one]) => one.toLowerCase() === name)?.[1];
  return held !== undefined && RANKS[held] >= RANKS[role];
}
