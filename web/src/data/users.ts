// SPDX-License-Identifier: Apache-2.0
// Who looks at the page, and what they may do where.
import type { Told } from "../model/wire";
import { ask } from "./request";

export type Me = Told["Person"];
export type Role = NonNullable<Me["most"]>;

const RANKS: Record<Role, number> = { viewer: 1, editor: 2, admin: 3 };

export function me(): Promise<Me> {
  return ask("me");
}

/** Capitals make no difference in names of workspaces. */
export function may(person: Me, role: Role, workspace: string): boolean {
  if (RANKS[person.most ?? "admin"] < RANKS[role]) return false;
  if (person.administrator) return true;
  const name = workspace.toLowerCase();
  const held = Object.entries(person.roles ?? {}).find(([one]) => one.toLowerCase() === name)?.[1];
  return held !== undefined && RANKS[held] >= RANKS[role];
}

/** Whether there is a login that a browser can end: the server of one person knows who it is. */
export async function hasLogin(): Promise<boolean> {
  return ["tokens", "oidc"].includes((await ask<Told["LoginMethods"]>("login")).mode);
}
