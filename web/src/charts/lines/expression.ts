// SPDX-License-Identifier: Apache-2.0
// Metrics that are computed from others: `val/loss - train/loss`. A name may hold slashes and minus signs, so the
// longest name that is known wins; others stand in backticks.

export type Node =
  | { kind: "number"; value: number }
  | { kind: "metric"; name: string }
  | { kind: "call"; name: FunctionName; arguments: Node[] }
  | { kind: "negative"; of: Node }
  | { kind: "binary"; sign: "+" | "-" | "*" | "/" | "^"; left: Node; right: Node };

const FUNCTIONS = {
  log: Math.log,
  log10: Math.log10,
  exp: Math.exp,
  sqrt: Math.sqrt,
  abs: Math.abs,
  min: Math.min,
  max: Math.max,
} as const;
type FunctionName = keyof typeof FUNCTIONS;

export class DerivedError extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

const LONGEST = 500;

export function parseDerived(text: string, known: readonly string[]): Node {
  if (text.length > LONGEST)
    throw new DerivedError(`it has ${text.length} characters; ${LONGEST} are allowed`, LONGEST);
  return new Parser(text, known).whole();
}

export function metricsIn(node: Node): string[] {
  switch (node.kind) {
    case "number":
      return [];
    case "metric":
      return [node.name];
    case "call":
      return [...new Set(node.arguments.flatMap(metricsIn))];
    case "negative":
      return metricsIn(node.of);
    case "binary":
      return [...new Set([...metricsIn(node.left), ...metricsIn(node.right)])];
  }
}

export function evaluate(node: Node, value: (name: string) => number): number {
  switch (node.kind) {
    case "number":
      return node.value;
    case "metric":
      return value(node.name);
    case "call":
      return FUNCTIONS[node.name](...(node.arguments.map((one) => evaluate(one, value)) as [number]));
    case "negative":
      return -evaluate(node.of, value);
    case "binary": {
      const [left, right] = [evaluate(node.left, value), evaluate(node.right, value)];
      if (node.sign === "+") return left + right;
      if (node.sign === "-") return left - right;
      if (node.sign === "*") return left * right;
      return node.sign === "/" ? left / right : left ** right;
    }
  }
}

class Parser {
  private at = 0;
  private depth = 0;
  private readonly known: readonly string[];

  constructor(
    private readonly text: string,
    known: readonly string[],
  ) {
    this.known = [...known].sort((one, other) => other.length - one.length);
  }

  whole(): Node {
    const node = this.sum();
    this.space();
    if (this.at < this.text.length) throw this.wrong(`'${this.text[this.at]}' is not expected here`);
    return node;
  }

  private sum(): Node {
    let left = this.product();
    for (let sign = this.sign("+-"); sign; sign = this.sign("+-")) {
      left = { kind: "binary", sign: sign as "+" | "-", left, right: this.product() };
    }
    return left;
  }

  private product(): Node {
    let left = this.power();
    for (let sign = this.sign("*/"); sign; sign = this.sign("*/")) {
      left = { kind: "binary", sign: sign as "*" | "/", left, right: this.power() };
    }
    return left;
  }

  private power(): Node {
    const left = this.single();
    return this.sign("^") ? { kind: "binary", sign: "^", left, right: this.power() } : left;
  }

  private single(): Node {
    this.space();
    if (++this.depth > 100) throw this.wrong("it has too many brackets");
    if (this.sign("-")) return { kind: "negative", of: this.power() };
    if (this.sign("(")) {
      const inside = this.sum();
      if (!this.sign(")")) throw this.wrong("')' is missing");
      return inside;
    }
    const name = this.metric();
    if (name !== undefined) return { kind: "metric", name };
    return this.number() ?? this.call();
  }

  private metric(): string | undefined {
    const rest = this.text.slice(this.at);
    const ticked = /^`([^`]+)`/.exec(rest);
    if (ticked) {
      this.at += ticked[0].length;
      return ticked[1];
    }
    const found = this.known.find((name) => rest.startsWith(name) && !/^[\p{L}\p{N}_]/u.test(rest.slice(name.length)));
    if (found !== undefined && Object.hasOwn(FUNCTIONS, found) && rest[found.length] === "(") return undefined;
    this.at += found?.length ?? 0;
    return found;
  }

  private number(): Node | undefined {
    const found = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?/i.exec(this.text.slice(this.at));
    if (!found) return undefined;
    this.at += found[0].length;
    return { kind: "number", value: Number(found[0]) };
  }

  private call(): Node {
    const word = /^[\p{L}_][^\s()+*^,]*/u.exec(this.text.slice(this.at))?.[0];
    if (word === undefined)
      throw this.wrong(this.at < this.text.length ? "a metric is expected here" : "it ends too early");
    if (!Object.hasOwn(FUNCTIONS, word) || this.text[this.at + word.length] !== "(") {
      const names = Object.keys(FUNCTIONS).join(", ");
      throw this.wrong(`there is no metric '${word}' in these runs, and functions are ${names}`);
    }
    this.at += word.length + 1;
    const given = [this.sum()];
    while (this.sign(",")) given.push(this.sum());
    if (!this.sign(")")) throw this.wrong("')' is missing");
    return { kind: "call", name: word as FunctionName, arguments: given };
  }

  private sign(wanted: string): string | undefined {
    this.space();
    const character = this.text[this.at];
    if (character === undefined || !wanted.includes(character)) return undefined;
    this.at += 1;
    return character;
  }

  private space(): void {
    while (this.text[this.at] === " ") this.at += 1;
  }

  private wrong(message: string): DerivedError {
    return new DerivedError(message, this.at);
  }
}
