// SPDX-License-Identifier: Apache-2.0
// What trainings said about moments of their runs.
import type { Told } from "../model/wire";
import { ask } from "./request";

export type Annotation = Told["Annotation"];

export function annotationsOf(uids: readonly string[]): Promise<Told["Annotations"]> {
  return ask("annotations", { query: { run: uids } });
}
