// SPDX-License-Identifier: Apache-2.0
// The types of this page beside those of the API's document: every field that is read here is one that the server tells.
// Nothing of this file is in the built page; it fails to compile when the two disagree.
import type { Board, BoardLine } from "./boards";
import type { HistogramEntry, LogPart, MediaEntry, RunFile } from "./files";
import type { components } from "./openapi";
import type { FieldNames, RunMarks } from "./runs";
import type { SharedTag, SharedTags } from "./series";
import type { MetricPoint, Run, RunsChanged, Status, Workspace } from "./wire";

type Told = components["schemas"];
type NamedKeys<T> = keyof { [K in keyof T as string extends K ? never : K]: T[K] };
/** Fields that are read here and that the server never tells. */
type Unknown<Server, Here> = Exclude<NamedKeys<Here>, keyof Server>;

function none<_Fields extends never>(): void {
  // The type is the check.
}

none<Unknown<Told["Run"], Run>>();
none<Exclude<Told["Run"]["status"], Status> | Exclude<Status, NonNullable<Told["Run"]["status"]>>>();
none<Unknown<Told["MetricPoint"], MetricPoint>>();
none<Unknown<Told["RunsChanged"], RunsChanged>>();
none<Unknown<Told["RunMarks"], RunMarks>>();
none<Unknown<Told["FieldNames"], FieldNames>>();
none<Unknown<Told["Workspace"], Workspace>>();
none<Unknown<Told["SharedTag"], SharedTag>>();
none<Unknown<Told["SharedTags"], SharedTags>>();
none<Unknown<Told["RunFile"], RunFile>>();
none<Unknown<Told["LogPart"], LogPart>>();
none<Unknown<Told["MediaEntry"], MediaEntry>>();
none<Unknown<Told["HistogramEntry"], HistogramEntry>>();
none<Unknown<Told["BoardInfo"], Board>>();
none<Unknown<Told["BoardLine"], BoardLine>>();
