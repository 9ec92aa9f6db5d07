// SPDX-License-Identifier: Apache-2.0
// Runs and their curves in memory, and a stub server that answers for them as the real one does.
import type { Annotation, Run, RunsChanged, Schemas, WireValue } from "../model/wire";
import { columnsResponse, type PlainCurve } from "./encoded_columns";
import { makeCurves, makeRun, type RunFacts } from "./run_fixtures";
import { compare, pointsOf, sharedTags, type StubMedia } from "./stub_curves";
import { refuse, StubServer } from "./stub_server";

const NUMBERS = /^number in \[([\d, ]+)\]$/;
const MOST_CHARTS = 12;

export class StubRuns {
  readonly server = new StubServer();
  runs: Run[] = [];
  curves: PlainCurve[] = [];
  /** Points that later attempts replaced. */
  superseded: PlainCurve[] = [];
  annotations: Annotation[] = [];
  /** What runs logged that is no scalar; `answerMedia` answers for its contents. */
  media: StubMedia[] = [];
  /** What filters mean. The stub reads no filter: a test names the ones that the page is to send. */
  private readonly filters = new Map<string, ((run: Run) => boolean) | Response>();
  person: Schemas["Person"] = { name: "tester", administrator: true };

  constructor(facts: readonly RunFacts[] = []) {
    for (const one of facts) this.add(one);
    this.answerRuns();
    this.answerCurves();
    this.answerRest();
  }

  add(facts: RunFacts): Run {
    const run = makeRun(this.runs.length + 1, facts);
    this.runs.push(run);
    this.curves.push(...makeCurves(run, facts.curves));
    return run;
  }

  /** Say which runs a filter matches, or how it is refused. */
  filter(where: string, matches: ((run: Run) => boolean) | Response): this {
    this.filters.set(where, matches);
    return this;
  }

  named(name: string): Run {
    const found = this.runs.find((run) => run.name === name);
    if (!found) throw new Error(`No run is called ${name}.`);
    return found;
  }

  number(name: string): number {
    return this.named(name).number ?? 0;
  }

  /** Change a run; the page is not notified. */
  change(uid: string, change: Partial<Run>): Run {
    const at = this.runs.findIndex((run) => run.uid === uid);
    const run = { ...(this.runs[at] as Run), ...change };
    this.runs[at] = run;
    return run;
  }

  private answerRuns(): void {
    const { server } = this;
    server.on("get", "/api/v1/runs", ({ query }) => {
      const found = this.listed(query);
      return found instanceof Response ? found : pageOf(found, query);
    });
    server.on("get", "/api/v1/run-marks", ({ query }) => {
      const found = this.listed(query);
      if (found instanceof Response) return found;
      const every = Number(query.get("every"));
      const marks = Array.from({ length: Math.max(0, Math.ceil(found.length / every) - 1) }, (_, at) =>
        String((at + 1) * every),
      );
      return { count: found.length, every, marks };
    });
    server.on("get", "/api/v1/runs/{run}", ({ path }) => {
      const name = decodeURIComponent(path["run"] ?? "");
      const found = this.runs.find((run) => [run.uid, String(run.number), `run${run.number}`, run.name].includes(name));
      return found ?? refuse(404, "UnknownRunError", `There is no run ${name}.`);
    });
    server.on("get", "/api/v1/fields", ({ query }) => {
      const runs = this.inWorkspace(query);
      const names = (part: (run: Run) => object) => [...new Set(runs.flatMap((run) => Object.keys(part(run))))].sort();
      return {
        hparams: names((run) => run.hparams),
        metrics: names((run) => run.metrics),
        tags: names((run) => run.tags),
      };
    });
    server.on("patch", "/api/v1/runs", ({ body }) => {
      const { runs, set_tags = {}, remove_tags = [], note, ...change } = body as Schemas["RunChange"];
      return this.each(runs, (run) => {
        const tags = Object.entries({ ...run.tags, ...set_tags }).filter(([name]) => !remove_tags.includes(name));
        const given = Object.entries(change).filter(([, value]) => value !== null && value !== undefined);
        return {
          ...(Object.fromEntries(given) as Partial<Run>),
          tags: Object.fromEntries(tags),
          notes: note ? [...run.notes, { text: note }] : run.notes,
        };
      });
    });
    server.on("post", "/api/v1/runs/delete", ({ body }) =>
      this.each((body as Schemas["RunBatch"]).runs, () => ({ deleted: new Date().toISOString() })),
    );
    server.on("post", "/api/v1/runs/restore", ({ body }) => {
      const uids = (body as Schemas["RunBatch"]).runs;
      for (const run of this.runs) if (uids.includes(run.uid)) delete run.deleted;
      return this.each(uids, () => ({}));
    });
  }

  private each(uids: readonly string[], change: (run: Run) => Partial<Run>): RunsChanged {
    const changed = this.runs.filter((run) => uids.includes(run.uid));
    return { items: changed.map((run) => this.change(run.uid, change(run))), problems: [] };
  }

  private inWorkspace(query: URLSearchParams): Run[] {
    const workspaces = query.getAll("workspace");
    return this.runs.filter((run) => !workspaces.length || workspaces.includes(run.workspace));
  }

  /** The runs of a list in its order, or why it cannot be read. */
  private listed(query: URLSearchParams): Run[] | Response {
    const where = query.get("where") ?? "";
    const numbers = NUMBERS.exec(where)?.[1]?.split(",").map(Number);
    const matches = numbers
      ? (run: Run) => numbers.includes(run.number ?? 0)
      : where
        ? this.filters.get(where)
        : () => true;
    if (!matches) {
      this.server.unanswered.push(`the filter ${where}`);
      return refuse(400, "FilterError", `The test says nothing about the filter ${where}.`);
    }
    if (matches instanceof Response) return matches.clone();
    const isBin = query.get("bin") === "true";
    const found = this.inWorkspace(query).filter((run) => Boolean(run.deleted) === isBin && matches(run));
    const sort = query.get("sort") ?? "-created";
    const field = sort.replace(/^-/, "");
    found.sort((one, other) => compare(fieldOf(one, field), fieldOf(other, field)));
    return sort.startsWith("-") ? found.reverse() : found;
  }

  private answerCurves(): void {
    const { server } = this;
    server.on("get", "/api/v1/tags", ({ query }) => this.tagsOf(this.meant(query)));
    server.on("get", "/api/v1/series", ({ query }) => {
      const curves = query.get("superseded") === "true" ? this.superseded : this.curves;
      return columnsResponse(pointsOf(this.meant(query), curves, query));
    });
    server.on("get", "/api/v1/charts", ({ query }) => {
      const found = this.listed(query);
      if (found instanceof Response) return found;
      const runs = pageOf(found, query);
      const hidden = query.getAll("hidden").map(Number);
      const plotted = runs.items.filter((run) => !hidden.includes(run.number ?? 0));
      const tags = this.tagsOf(plotted);
      const scalars = new Set(tags.items.filter((tag) => tag.kind === "scalar").map((tag) => tag.tag));
      const first = new Set([...query.getAll("tag").filter((tag) => scalars.has(tag)), ...scalars]);
      const charts = [...first].slice(0, Math.min(MOST_CHARTS, Number(query.get("charts") ?? 6)));
      const wanted = new URLSearchParams(query);
      wanted.delete("tag");
      const curves = pointsOf(plotted, this.curves, wanted).filter((curve) => charts.includes(curve.tag));
      return columnsResponse(curves, { runs, tags, charts });
    });
    server.on("get", "/api/v1/annotations", ({ query }) => {
      const uids = query.getAll("run");
      return { items: this.annotations.filter((one) => uids.includes(one.run)), left_out: 0, problems: [] };
    });
  }

  private tagsOf(runs: readonly Run[]): ReturnType<typeof sharedTags> {
    return sharedTags(runs, this.curves, this.media, this.superseded);
  }

  /** The runs that a query names, in its order: windows are given in the same order. */
  private meant(query: URLSearchParams): Run[] {
    return query
      .getAll("run")
      .flatMap((name) => this.runs.find((run) => String(run.number) === name || run.uid === name) ?? []);
  }

  private answerRest(): void {
    const { server } = this;
    server.on("get", "/api/v1/workspaces", () => {
      const names = [...new Set(this.runs.map((run) => run.workspace))];
      return { items: names.map((name) => ({ name, created: "2026-11-01T00:00:00Z" })), next: null };
    });
    server.on("get", "/api/v1/me", () => this.person);
    server.on("get", "/api/v1/login", () => ({ mode: "private" }));
    server.on("get", "/api/v1/info", () => ({
      version: "0",
      api: 1,
      pid: 1,
      private: true,
      started: "2026-11-01T00:00:00Z",
      catalog: "",
      board_executors: ["local"],
    }));
    server.on("get", "/api/v1/stores", () => ({ items: [], next: null }));
    server.on("get", "/api/v1/saved-views", () => ({ items: [], next: null }));
    server.on("get", "/healthz", () => new Response("ok"));
  }
}

function pageOf(found: readonly Run[], query: URLSearchParams): { items: Run[]; next: string | null } {
  const start = Number(query.get("after") ?? 0);
  const end = start + Number(query.get("limit") ?? 100);
  return { items: found.slice(start, end), next: end < found.length ? String(end) : null };
}

function fieldOf(run: Run, field: string): WireValue | undefined {
  if (field.startsWith("hparams.")) return run.hparams[field.slice(8)];
  const metric = /^metrics\.(.+)\.(last|min|max)$/.exec(field);
  if (metric) return run.metrics[metric[1] as string]?.[metric[2] as "last" | "min" | "max"]?.value;
  return run[field] as WireValue | undefined;
}
