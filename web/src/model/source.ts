// SPDX-License-Identifier: Apache-2.0
// What the page is over: the catalog of a server, or folders that `aboard view` shows. The server writes it into the
// document, so that the first frame is right without a request.

/** Folders have one workspace, and neither boards, experiments nor people. */
export interface FolderSource {
  title: string;
  workspace: string;
}

/** Nothing over the catalog of a server. */
export function folderSource(): FolderSource | undefined {
  if (typeof document === "undefined") return undefined;
  const { source, title = "", workspace = "" } = document.documentElement.dataset;
  return source === "folders" ? { title, workspace } : undefined;
}
