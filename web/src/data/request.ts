// SPDX-License-Identifier: Apache-2.0
// Asks the server, and turns what goes wrong into words.
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

export async function fetchJson<T>(path: string, asked: RequestOptions = {}): Promise<T> {
  const answer = await sendRequest(path, asked);
  return (await answer.json()) as T;
}

/** The answer itself, for what is not JSON. */
export async function sendRequest(path: string, asked: RequestOptions = {}): Promise<Response> {
  const { method = "GET", body, query = {}, signal } = asked;
  const options: RequestInit = { method, headers: { Accept: "application/json, */*" } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { ...options.headers, "Content-Type": "application/json" };
  }
  if (signal) options.signal = signal;
  let answer: Response;
  try {
    const address = apiUrl(path, query);
    answer = await ((method === "GET" && takePrefetched(address)) || fetch(address, options));
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
  if (answer.ok) {
    connection.answered();
    live.knows(answer.headers.get("X-Changes"));
    return answer;
  }
  const refused = await refusal(answer);
  signal?.throwIfAborted();
  // The server itself says what is wrong, except where an answer has no body.
  const isAway = AWAY.includes(answer.status) && refused.code === UNKNOWN;
  if (isAway && method !== "HEAD") throw unreachable();
  if (!isAway) connection.answered();
  if (answer.status === 401 && connection.state !== "login") {
    connection.loginNeeded();
    live.loginEnded();
  }
  throw refused;
}

function unreachable(): ApiError {
  connection.lost();
  return new ApiError(0, "unreachable", "The server does not answer", "It is asked again until it does.");
}

async function refusal(answer: Response): Promise<ApiError> {
  const { status } = answer;
  try {
    const said = ((await answer.json()) as { error: Record<string, unknown> }).error;
    if (typeof said["code"] !== "string") throw new Error("not an error of the API");
    const place = (name: string): number | undefined => (typeof said[name] === "number" ? said[name] : undefined);
    const message = String(said["problem"] ?? said["message"]);
    return new ApiError(status, said["code"], message, String(said["hint"] ?? ""), place("start"), place("end"));
  } catch {
    return new ApiError(status, UNKNOWN, `The server answered with status ${status}`);
  }
}
