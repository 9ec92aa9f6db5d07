// SPDX-License-Identifier: Apache-2.0
// Boards of a stub server.
import type { Board } from "../data/boards";
import type { Schemas } from "../model/wire";
import type { StubRuns } from "./stub_runs";

export function makeBoard(id: string, facts: Partial<Board> = {}): Board {
  return {
    id,
    name: `board ${id}`,
    owner: "tester",
    description: "",
    state: "running",
    kind: "server",
    workspace: "lab",
    sources: ["run1"],
    where: "",
    template: "",
    live: false,
    experiments: [],
    runs: [1],
    run_count: 1,
    created: "2026-11-01T00:00:00Z",
    started: "2026-11-01T00:00:00Z",
    last_used: null,
    ended: null,
    expires: null,
    exit_status: "",
    reason: "",
    idle_timeout: null,
    max_runtime: null,
    settings: {},
    uri: `/boards/${id}/`,
    ...facts,
  };
}

/** Answer for boards; the list that is returned is what the server has. */
export function answerBoards(lab: StubRuns, boards: Board[] = []): Board[] {
  const { server } = lab;
  const change = (id: string | undefined, facts: Partial<Board>): Board => {
    const at = boards.findIndex((board) => board.id === id);
    boards[at] = { ...(boards[at] as Board), ...facts };
    return boards[at];
  };
  server.on("get", "/api/v1/boards", () => ({ items: [...boards], next: null }));
  server.on("post", "/api/v1/boards", ({ body }) => {
    const { sources = [], executor = "" } = body as Schemas["NewBoard"];
    const board = makeBoard(String(boards.length + 1), {
      sources,
      kind: executor ? "process" : "server",
      settings: executor ? { executor } : {},
    });
    boards.push(board);
    return { board, reopened: false };
  });
  server.on("post", "/api/v1/boards/{board}/stop", ({ path }) => change(path["board"], { state: "stopped" }));
  server.on("post", "/api/v1/boards/{board}/start", ({ path }) => change(path["board"], { state: "running" }));
  server.on("delete", "/api/v1/boards/{board}", ({ path }) => {
    const [gone] = boards.splice(
      boards.findIndex((board) => board.id === path["board"]),
      1,
    );
    return gone as Board;
  });
  server.on("get", "/api/v1/boards/{board}/logs", () => ({
    items: [{ id: 1, at: "2026-11-01T00:00:00Z", level: "INFO" as const, text: "The board is open" }],
    next: null,
  }));
  return boards;
}
