// SPDX-License-Identifier: Apache-2.0
// A server for component tests: answers requests of the page from handlers, whose answers have the types of the API.
import type { paths } from "../api/openapi";
import type { Told } from "../api/wire";

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
}

export type Handler<Json> = (request: StubRequest) => Json | Response | Promise<Json | Response>;

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

  /** Answer a route of the API; a later handler of the same route replaces an earlier one. */
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
    this.routes.unshift({ method, pattern: RegExp(`^${pattern}$`), names, handler });
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
    for (const route of this.routes) {
      const found = route.method === method && route.pattern.exec(pathname);
      if (!found) continue;
      const path = Object.fromEntries(route.names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? "")]));
      const request = { method, address, query: searchParams, path, body };
      this.requests.push(request);
      return until(init.signal, Promise.resolve(route.handler(request)).then(answerOf));
    }
    this.unanswered.push(`${method.toUpperCase()} ${address}`);
    return refuse(404, "not-found", `No handler for ${method} ${address}.`);
  };
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
  details: Partial<Told["Failure"]["error"]> = {},
): Response {
  const body: Told["Failure"] = { error: { code, message, hint: "", ...details } };
  return Response.json(body, { status });
}

/** An answer that waits until `release`. */
export class Held<T> {
  release: (value: T) => void = () => undefined;
  readonly promise = new Promise<T>((resolve) => (this.release = resolve));
}
