// SPDX-License-Identifier: Apache-2.0
// Boards: selections of runs that are served as TensorBoard.
import { EVERYWHERE } from "../routing/routes";
import { BASE } from "./address";
import { ask } from "./http";
import type { Page, Run } from "./wire";

export interface Board {
  id: string;
  name: string;
  owner: string;
  description: string;
  state: string;
  kind: string;
  workspace: string;
  sources: string[];
  where: string;
  template: string;
  live: boolean;
  run_count: number | null;
  created: string;
  started: string | null;
  last_used: string | null;
  ended: string | null;
  expires: string | null;
  exit_status: string;
  reason: string;
  uri: string;
}

/** Where a browser opens it. */
export function boardAddress(board: Board): string {
  return BASE + board.uri;
}

export interface NewBoard {
  sources?: string[];
  where?: string;
  workspace?: string;
  description?: string;
  zone?: number;
}

export interface BoardLine {
  id: number;
  at: string;
  level: string;
  text: string;
}

export function listBoards(workspace: string, all: boolean, after = ""): Promise<Page<Board>> {
  return ask("boards", {
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

export async function openBoard(workspace: string, runs: readonly Run[]): Promise<Board> {
  const place = workspace === EVERYWHERE ? runs[0]?.workspace : workspace;
  const body = { sources: runs.map((run) => `run${run.number}`), ...(place ? { workspace: place } : {}) };
  return (await ask<{ board: Board }>("boards", { method: "POST", body })).board;
}

export function boardAction(board: Board, action: "start" | "stop" | "kill"): Promise<unknown> {
  return ask(`boards/${encodeURIComponent(board.id)}/${action}`, { method: "POST", body: {} });
}

export function deleteBoard(board: Board): Promise<unknown> {
  return ask(`boards/${encodeURIComponent(board.id)}`, { method: "DELETE" });
}

export function boardLogs(board: Board): Promise<Page<BoardLine>> {
  return ask(`boards/${encodeURIComponent(board.id)}/logs`, { query: { tail: 200 } });
}

export function getBoard(id: string): Promise<Board> {
  return ask(`boards/${encodeURIComponent(id)}`);
}
