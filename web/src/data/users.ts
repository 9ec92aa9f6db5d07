// SPDX-License-Identifier: Apache-2.0
// The current user, and whether there is a login to end.
import type { User } from "../model/users";
import type { Schemas } from "../model/wire";
import { fetchJson } from "./request";

export function fetchCurrentUser(): Promise<User> {
  return fetchJson("me");
}

/** Whether there is a login that a browser can end: the server of one person knows who it is. */
export async function hasLogin(): Promise<boolean> {
  return ["tokens", "oidc"].includes((await fetchJson<Schemas["LoginMethods"]>("login")).mode);
}
