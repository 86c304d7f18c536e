/**
 * Reads test vectors from Markdown (spec/vectors/README.md describes the form): the bytes that a client
 * sends on one connection, and the responses that it must get.
 */
import { readFileSync } from 'node:fs';

/** The folder of the vectors. */
export const VECTORS = new URL('../vectors/http/', import.meta.url);

export interface ExpectedResponse {
  readonly status: number;
  /** Required fields, as `Name: value`. */
  readonly fields: readonly (readonly [string, string])[];
  /** Names of forbidden fields. */
  readonly absent: readonly string[];
  /** One character per byte; undefined for any content. */
  readonly body: string | undefined;
}

export interface Vector {
  readonly title: string;
  /** A request sent first on another connection, for preparation. */
  readonly before: Buffer | undefined;
  readonly request: Buffer;
  /** Whether the client ends its side after the request. */
  readonly endsInput: boolean;
  readonly responses: readonly ExpectedResponse[];
  /** Whether the server ends the connection; undefined if either is allowed. */
  readonly closes: boolean | undefined;
  /** A request sent afterwards on another connection, and its expected response. */
  readonly after: Buffer | undefined;
  readonly afterResponses: readonly ExpectedResponse[];
}

/** Returns the vectors of a Markdown file, one per section with code blocks. */
export function readVectors(path: string): Vector[] {
  const sections = readFileSync(path, 'utf8').split(/^## /m).slice(1);
  return sections.map(readVector);
}

function readVector(section: string): Vector {
  const title = section.slice(0, section.indexOf('\n'));
  const blocks = [...section.matchAll(/^```(\S+)\n([\s\S]*?)^```$/gm)];
  const block = (name: string): string | undefined => blocks.find(([, each]) => each === name)?.[2];
  const expected = block('expect');
  const lastRequest = block('request-then-end');
  const request = lastRequest ?? block('request');
  if (request === undefined || expected === undefined) {
    throw new SyntaxError(`Cannot read vector "${title}": no request or no expect block`);
  }
  const { responses, closes } = readExpectation(expected);
  const before = block('before');
  const after = block('after');
  return {
    title,
    before: before === undefined ? undefined : readBytes(before),
    request: readBytes(request),
    endsInput: lastRequest !== undefined,
    responses,
    closes,
    after: after === undefined ? undefined : readBytes(after),
    afterResponses: readExpectation(block('expect-after') ?? '').responses,
  };
}

/** A line end is CR LF, unless a backslash precedes it; `\xNN` is a byte; `{text*N}` repeats. */
export function readBytes(block: string): Buffer {
  const text = block.replace(/\\\n/g, '\0').replace(/\n/g, '\r\n').replace(/\0/g, '');
  return Buffer.from(unescapeBytes(repeated(text)), 'latin1');
}

function repeated(text: string, end = ''): string {
  return text.replace(/\{([^{}]+)\*(\d+)\}/g, (_, each: string, count: string) =>
    `${each}${end}`.repeat(Number(count)),
  );
}

function unescapeBytes(text: string): string {
  return text.replace(/\\(r|n|t|x[0-9a-f]{2})/g, (_, code: string) =>
    code === 'r' ? '\r' : code === 'n' ? '\n' : code === 't' ? '\t' : byteOf(code),
  );
}

function byteOf(code: string): string {
  return String.fromCharCode(Number.parseInt(code.slice(1), 16));
}

function readExpectation(block: string): Pick<Vector, 'responses' | 'closes'> {
  const responses: ExpectedResponse[] = [];
  let current: { fields: [string, string][]; absent: string[]; body?: string } | undefined;
  let closes: boolean | undefined;
  for (const line of repeated(block, '\n').split('\n')) {
    if (line === 'closed' || line === 'open') closes = line === 'closed';
    else if (/^\d{3}$/.test(line)) {
      const next = { status: Number(line), fields: [], absent: [], body: undefined };
      responses.push(next);
      current = next as unknown as typeof current;
    } else if (line.startsWith('= ') || line === '=') {
      if (current) current.body = unescapeBytes(line.slice(2));
    } else if (line.startsWith('no ')) current?.absent.push(line.slice(3).toLowerCase());
    else if (line !== '') {
      const at = line.indexOf(': ');
      current?.fields.push([line.slice(0, at).toLowerCase(), unescapeBytes(line.slice(at + 2))]);
    }
  }
  return { responses, closes };
}
