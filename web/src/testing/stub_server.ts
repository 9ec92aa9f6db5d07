// SPDX-License-Identifier: Apache-2.0
// A server for component tests: answers requests of the page from handlers, whose answers have the types of the API.
import type { paths } from "../model/openapi";
import type { Schemas } from "../model/wire";

type Method = "get" | "post" | "patch" | "delete" | "head";
/** The JSON of a route; a route that answers with something else has a `Response`. */
type JsonOf<Route> = Route extends { responses: { 200: { content: { "application/json": infer Json } } } }
  ? Json
  : never;

export interface StubRequest {
  method: Method;
  /** With the query, as the page has sent it. */
  address: string;
  query: URLSearchParams;
  /** The parts of the path that the template names. */
  path: Record<string, string>;
  body: unknown;
  /** Aborted when the page takes the request back. */
  signal: AbortSignal | undefined;
}

type Answer<Json> = Json | Response | Promise<Json | Response>;
/** `next` is what the handler answers that the route had before. */
export type Handler<Json> = (request: StubRequest, next: () => Answer<Json>) => Answer<Json>;

interface Route {
  method: Method;
  pattern: RegExp;
  names: string[];
  handler: Handler<unknown>;
}

/** Marks answers with the change they know, so that the stream need not repeat what came before. */
const KNOWN = { "X-Changes": "stub-1" };

export class StubServer {
  readonly requests: StubRequest[] = [];
  /** Requests that no handler answers: the test fails with them. */
  readonly unanswered: string[] = [];
  private routes: Route[] = [];
  private isAway = false;

  /** Answer a route of the API; a later handler of the same route comes before an earlier one. */
  on<Path extends keyof paths, M extends Method & keyof paths[Path]>(
    method: M,
    path: Path,
    handler: Handler<JsonOf<paths[Path][M]>>,
  ): this {
    const names: string[] = [];
    const pattern = String(path).replace(/\{(\w+)\}/g, (_, name: string) => {
      names.push(name);
      return "([^/]+)";
    });
    const untyped = handler as Handler<unknown>; // what `next` answers comes from a handler of the same route
    this.routes.unshift({ method, pattern: RegExp(`^${pattern}$`), names, handler: untyped });
    return this;
  }

  /** Refuse every connection, as a server that does not run; or accept them again. */
  setAway(isAway: boolean): void {
    this.isAway = isAway;
  }

  /** The requests to a path so far, such as `/api/v1/runs`. */
  requestsTo(path: keyof paths, method: Method = "get"): StubRequest[] {
    return this.requests.filter(
      (one) => one.method === method && new URL(one.address, location.href).pathname === path,
    );
  }

  /** Takes the place of `fetch`. */
  readonly fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const address = input instanceof Request ? input.url : String(input);
    const { pathname, searchParams } = new URL(address, location.href);
    const method = (init.method ?? "GET").toLowerCase() as Method;
    const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    if (this.isAway) throw new TypeError("Failed to fetch");
    const request = { method, address, query: searchParams, body, signal: init.signal ?? undefined };
    const routes = this.routes.filter((one) => one.method === method && one.pattern.test(pathname));
    const answerFrom = ([route, ...others]: Route[]): Answer<unknown> => {
      if (!route) return this.missing(method, address);
      const parts = route.pattern.exec(pathname)?.slice(1) ?? [];
      const path = Object.fromEntries(route.names.map((name, at) => [name, decodeURIComponent(parts[at] ?? "")]));
      return route.handler({ ...request, path }, () => answerFrom(others));
    };
    this.requests.push({ ...request, path: {} });
    return until(init.signal, Promise.resolve(answerFrom(routes)).then(answerOf));
  };

  private missing(method: Method, address: string): Response {
    this.unanswered.push(`${method.toUpperCase()} ${address}`);
    return refuse(404, "not-found", `No handler for ${method} ${address}.`);
  }
}

function answerOf(answer: unknown): Response {
  return answer instanceof Response ? answer : Response.json(answer, { headers: KNOWN });
}

/** The answer, unless the page takes the request back before. */
function until(signal: AbortSignal | null | undefined, answer: Promise<Response>): Promise<Response> {
  if (!signal) return answer;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    answer.then(resolve, reject);
  });
}

/** An error of the API. */
export function refuse(
  status: number,
  code: string,
  message: string,
  details: Partial<Schemas["Failure"]["error"]> = {},
): Response {
  const body: Schemas["Failure"] = { error: { code, message, hint: "", ...details } };
  return Response.json(body, { status });
}

/** An answer that waits until `release`. */
export class Held<T> {
  release: (value: T) => void = () => undefined;
  readonly promise = new Promise<T>((resolve) => (this.release = resolve));
}
