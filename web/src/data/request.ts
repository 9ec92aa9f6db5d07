// SPDX-License-Identifier: Apache-2.0
// Sends requests to the API and turns failures into errors.
import { ApiError } from "../model/errors";
import { apiUrl, type Query } from "./address";
import { connection } from "./connection.svelte";
import { live } from "./live.svelte";
import { takePrefetched } from "./prefetch";

const AWAY = [502, 503, 504]; // what proxies answer for a server that is not there
const UNKNOWN = "unknown";

export interface RequestOptions {
  query?: Query;
  method?: "GET" | "HEAD" | "POST" | "PATCH" | "DELETE";
  body?: unknown;
  signal?: AbortSignal;
}

export async function fetchJson<T>(path: string, request: RequestOptions = {}): Promise<T> {
  const response = await sendRequest(path, request);
  return (await response.json()) as T;
}

/** The response itself, for what is not JSON. */
export async function sendRequest(path: string, request: RequestOptions = {}): Promise<Response> {
  const { method = "GET", body, query = {}, signal } = request;
  const options: RequestInit = { method, headers: { Accept: "application/json, */*" } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { ...options.headers, "Content-Type": "application/json" };
  }
  if (signal) options.signal = signal;
  let response: Response;
  try {
    const address = apiUrl(path, query);
    response = await ((method === "GET" && takePrefetched(address)) || fetch(address, options));
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
  if (response.ok) {
    connection.reportResponse();
    live.noteChange(response.headers.get("X-Changes"));
    return response;
  }
  const apiError = await readError(response);
  signal?.throwIfAborted();
  // Errors of the server itself have a code, except in responses to HEAD; others come from a proxy.
  const isUnreachable = AWAY.includes(response.status) && apiError.code === UNKNOWN;
  if (isUnreachable && method !== "HEAD") throw unreachable();
  if (!isUnreachable) connection.reportResponse();
  if (response.status === 401 && connection.state !== "login") {
    connection.requireLogin();
    live.restartStream();
  }
  throw apiError;
}

function unreachable(): ApiError {
  connection.reportFailure();
  return new ApiError(0, "unreachable", "Can't reach the server", "Retrying…");
}

async function readError(response: Response): Promise<ApiError> {
  const { status } = response;
  try {
    const details = ((await response.json()) as { error: Record<string, unknown> }).error;
    if (typeof details["code"] !== "string") throw new Error("not an error of the API");
    const place = (name: string): number | undefined => (typeof details[name] === "number" ? details[name] : undefined);
    const message = String(details["problem"] ?? details["message"]);
    return new ApiError(status, details["code"], message, String(details["hint"] ?? ""), place("start"), place("end"));
  } catch {
    return new ApiError(status, UNKNOWN, `The server answered with status ${status}`);
  }
}
