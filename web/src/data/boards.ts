// SPDX-License-Identifier: Apache-2.0
// Boards: selections of runs that are served as TensorBoard.
import { BASE, EVERYWHERE } from "../model/routes";
import type { Page, Run, Schemas, WithDefaults } from "../model/wire";
import { fetchJson } from "./request";

export type Board = WithDefaults<Schemas["BoardInfo"]>;
export type BoardLine = WithDefaults<Schemas["BoardLine"]>;

/** Where a browser opens it. */
export function boardUrl(board: Board): string {
  return BASE + board.uri;
}

export function listBoards(workspace: string, all: boolean, after = ""): Promise<Page<Board>> {
  return fetchJson("boards", {
    query: {
      workspace: workspace === EVERYWHERE ? undefined : workspace,
      all,
      after,
      limit: 100,
      sort_by: "started",
      order: "desc",
    },
  });
}

/** Where boards may run as processes of their own, the server's own choice first. */
export function boardExecutors(): Promise<string[]> {
  executors ??= fetchJson<{ board_executors: string[] }>("info").then((info) => info.board_executors);
  executors.catch(() => (executors = undefined)); // asked again by who wants to know next
  return executors;
}
let executors: Promise<string[]> | undefined; // settled as long as the server runs

/** Of a board with an executor a stock TensorBoard is started there; without, the server answers itself. */
export async function openBoard(workspace: string, runs: readonly Run[], executor = ""): Promise<Board> {
  const place = workspace === EVERYWHERE ? runs[0]?.workspace : workspace;
  const sources = runs.map((run) => `run${run.number}`);
  const body = { sources, executor, ...(place ? { workspace: place } : {}) };
  return (await fetchJson<{ board: Board }>("boards", { method: "POST", body })).board;
}

export function boardAction(board: Board, action: "start" | "stop" | "kill"): Promise<unknown> {
  return fetchJson(`boards/${encodeURIComponent(board.id)}/${action}`, { method: "POST", body: {} });
}

export function deleteBoard(board: Board): Promise<unknown> {
  return fetchJson(`boards/${encodeURIComponent(board.id)}`, { method: "DELETE" });
}

export function boardLogs(board: Board): Promise<Page<BoardLine>> {
  return fetchJson(`boards/${encodeURIComponent(board.id)}/logs`, { query: { tail: 200 } });
}

export function getBoard(id: string): Promise<Board> {
  return fetchJson(`boards/${encodeURIComponent(id)}`);
}

/** Opens boards for the button that several views have. */
export const boardLauncher = {
  executors: boardExecutors,
  async open(workspace: string, runs: readonly Run[], executor: string): Promise<Board & { url: string }> {
    const board = await openBoard(workspace, runs, executor);
    return { ...board, url: boardUrl(board) };
  },
};
