// SPDX-License-Identifier: Apache-2.0
// Addresses of saved views: they are kept without their workspace, which may be renamed.
import { innerPath, pathTo } from "./routes";

/** What follows the workspace in the address of a view. */
export function addressBelow(path: string, query: string): string {
  const below = (innerPath(path) ?? path).split("/").slice(3).join("/") || "runs";
  return below + query;
}

export function addressOfView(workspace: string, address: string): string {
  return `${pathTo(workspace)}/${address}`;
}
