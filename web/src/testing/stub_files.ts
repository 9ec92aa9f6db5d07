// SPDX-License-Identifier: Apache-2.0
// Files of runs on a stub server. The newest one below log/ is what a run printed.
import type { Run } from "../model/wire";
import type { StubRuns } from "./stub_runs";
import { refuse } from "./stub_server";

export class StubFiles {
  private readonly texts = new Map<string, Map<string, string>>();

  constructor({ server }: StubRuns) {
    const missing = (): Response => refuse(404, "UnknownFileError", "There is no such file.");
    server.on("get", "/api/v1/runs/{run}/files", ({ path, query }) => {
      const paths = [...this.of(path["run"]).keys()].filter((one) => one.startsWith(query.get("prefix") ?? "")).sort();
      const items = paths.map((one) => ({ path: one, bytes: this.of(path["run"]).get(one)?.length ?? 0 }));
      return { items, next: null };
    });
    server.on("get", "/api/v1/runs/{run}/files/content", ({ path, query }) => {
      const text = this.of(path["run"]).get(query.get("path") ?? "");
      return text === undefined ? missing() : new Response(text);
    });
    server.on("get", "/api/v1/runs/{run}/log", ({ path, query }) => {
      const files = this.of(path["run"]);
      const log = query.get("path") ?? [...files.keys()].filter((one) => one.endsWith(".log")).at(-1) ?? "";
      const text = files.get(log);
      if (text === undefined) return missing();
      const tail = Number(query.get("tail"));
      const end = tail
        ? text
            .split(/(?<=\n)/)
            .slice(-tail)
            .join("").length
        : 0;
      const offset = tail ? text.length - end : Number(query.get("offset") ?? 0);
      return { path: log, offset, next: text.length, size: text.length, text: text.slice(offset) };
    });
  }

  put(run: Run, path: string, text: string): this {
    this.texts.set(run.uid, new Map(this.of(run.uid)).set(path, text));
    return this;
  }

  private of(uid = ""): Map<string, string> {
    return this.texts.get(uid) ?? new Map<string, string>();
  }
}
