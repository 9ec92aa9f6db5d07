// SPDX-License-Identifier: Apache-2.0
// The places of the page: which address shows what.

/** The path below which the server is reached, which it writes into the document. */
export const BASE =
  typeof document === "undefined" ? "" : (document.documentElement.dataset["base"] ?? "").replace(/^\.|\/$/g, "");

/** Stands in addresses for all workspaces together; no workspace can be called so. */
export const EVERYWHERE = "*";

export type Route =
  | { kind: "home" }
  | { kind: "runs"; workspace: string }
  | { kind: "compare"; workspace: string }
  | { kind: "run"; workspace: string; run: string }
  | { kind: "boards"; workspace: string }
  | { kind: "board"; workspace: string; board: string }
  | { kind: "tensorboard"; workspace: string }
  | { kind: "nowhere"; path: string };

export function routeOf(path: string): Route {
  const inner = innerPath(path);
  if (inner === undefined) return { kind: "nowhere", path };
  const parts = inner.split("/").filter(Boolean).map(decoded);
  const [root, workspace, what, which] = parts;
  if (root === undefined) return { kind: "home" };
  if (root !== "w" || parts.length > 4) return { kind: "nowhere", path };
  if (workspace === undefined) return { kind: "home" };
  if (what === undefined || (what === "runs" && which === undefined)) return { kind: "runs", workspace };
  if (what === "runs" && which !== undefined) return { kind: "run", workspace, run: which };
  if ((what === "compare" || what === "tensorboard") && which === undefined) return { kind: what, workspace };
  if (what === "boards") {
    return which === undefined ? { kind: "boards", workspace } : { kind: "board", workspace, board: which };
  }
  return { kind: "nowhere", path };
}

export function pathTo(workspace: string, ...below: string[]): string {
  return [`${BASE}/w`, ...[workspace, ...below].map((part) => encodeURIComponent(part).replaceAll("%2A", "*"))].join(
    "/",
  );
}

/** A path of this server without what leads to it; nothing for one of another application of the same site. */
export function innerPath(path: string): string | undefined {
  return path.startsWith(`${BASE}/`) ? path.slice(BASE.length) : undefined;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // an address that somebody typed
  }
}

/** What follows the workspace in the address of a view. */
export function pathInWorkspace(path: string, query: string): string {
  const below = (innerPath(path) ?? path).split("/").slice(3).join("/") || "runs";
  return below + query;
}

export function savedViewPath(workspace: string, address: string): string {
  return `${pathTo(workspace)}/${address}`;
}
