/**
 * Random requests, made from an OpenAPI document: valid ones, and such with one fault. The caller
 * knows what no document contains: users, and the names of things that exist.
 */
import fc from 'fast-check';
import type { DescribedParameter, Operation, ReadDocument } from './described-interface.ts';

/** Weight of a known value beside a random one. */
const KNOWN_WEIGHT = 6;
/** Length of a query or field that exceeds the limit of a member, in bytes. */
const TOO_LONG = 33_000;
/** Length of content that exceeds the limit of a member; it is announced and not sent. */
const CONTENT_TOO_LONG = 2_000_000_000;

export interface Known {
  readonly user: string;
  readonly password: string;
  /** Values of parameters, encoded, by name. The caller may add some. */
  readonly values: Readonly<Record<string, string[]>>;
  /** Status of an invalid value. */
  readonly badValueStatus: number;
}

export interface RandomRequest {
  readonly operation: Operation;
  readonly fault: Fault | undefined;
  /** One character a byte. */
  readonly bytes: string;
}

export interface Fault {
  readonly name: string;
  /** The status that the fault has; undefined if the document does not describe it. */
  readonly status: number | undefined;
  /** Whether a login fails, so that the member counts it. */
  readonly isFailedLogin?: true;
}

/** A request before it is written. */
interface Draft {
  readonly method: string;
  /** Values of the parameters in the path, encoded, in their order. */
  readonly values: string[];
  query: string;
  version: string;
  host: string;
  readonly fields: string[];
  content: string | undefined;
}

interface FaultRule extends Fault {
  appliesTo(operation: Operation): boolean;
  change(draft: Draft, operation: Operation): void;
}

export function randomRequest(
  document: ReadDocument,
  known: Known,
  operations: readonly Operation[],
): fc.Arbitrary<RandomRequest> {
  const rules = faultRules(known);
  return fc.constantFrom(...operations).chain((operation) => {
    const { security, path, method } = operation;
    const faults = rules.filter((rule) => rule.appliesTo(operation));
    const accepted = Object.keys(document.responseOf(operation, 200)?.content ?? {});
    return fc
      .record({
        values: fc.tuple(
          ...parametersIn(operation, 'path').map((each) => pathValueOf(each, known)),
        ),
        fieldLines: fc.tuple(...parametersIn(operation, 'header').map(fieldLineOf)),
        content: contentOf(operation, known),
        accept: fc.constantFrom('', ...accepted),
        fault: fc.option(fc.constantFrom(...faults), { nil: undefined, freq: 2 }),
      })
      .map(({ values, fieldLines, content, accept, fault }): RandomRequest => {
        const fields = fieldLines.filter((line) => line !== undefined);
        if (accept !== '') fields.push(`Accept: ${accept}`);
        if (content?.type !== undefined) fields.push(`Content-Type: ${content.type}`);
        if (security.length > 0) fields.push(basicField(known.user, known.password));
        const draft: Draft = {
          method,
          values: [...values],
          query: '',
          version: '1.1',
          host: 'localhost',
          fields,
          content: content?.text,
        };
        fault?.change(draft, operation);
        return { operation, fault, bytes: textOf(document.server + path, draft) };
      });
  });
}

function pathValueOf({ name, schema }: DescribedParameter, known: Known): fc.Arbitrary<string> {
  // A positive number of seconds waits.
  if (schema.type === 'integer') return fc.integer({ min: -9, max: 0 }).map(String);
  return oftenKnown(PATH_TEXT, known.values[name]);
}

/** A line of the field with any or a likely value, or none. */
function fieldLineOf({ name, schema }: DescribedParameter): fc.Arbitrary<string | undefined> {
  const likely = schema.type === 'integer' ? ['0', '60', '-1'] : ['*', '"0123456789abcdef"', 'x'];
  const values = fc.constantFrom(...likely, 'bytes=0-2', 'bytes=-1', 'bytes=9-', '');
  return fc.option(values, { nil: undefined, freq: 2 }).map((value) => {
    return value === undefined ? undefined : `${name}: ${value}`;
  });
}

function parametersIn(
  { parameters = [] }: Operation,
  place: DescribedParameter['in'],
): readonly DescribedParameter[] {
  return parameters.filter((each) => each.in === place);
}

interface Content {
  readonly type: string | undefined;
  readonly text: string;
}

/** The content of a request; operations without described content also get some, which is ignored. */
function contentOf(
  { requestBody, method }: Operation,
  known: Known,
): fc.Arbitrary<Content | undefined> {
  const [[described, form] = []] = Object.entries(requestBody?.content ?? {});
  if (described === FORM_TYPE) return formOf(form?.schema, known);
  if (described === LINES_TYPE) return fc.oneof(SOME_LINES, SOME_CONTENT);
  if (described !== 'text/plain' || form === undefined) {
    return method === 'POST' ? SOME_CONTENT : ANY_CONTENT;
  }
  const names = /`(.*)`/.exec(requestBody?.description ?? '')?.[1]?.split('&') ?? [];
  const examples = Object.values(form.examples ?? {}).map(({ value }) => value);
  const listed = [form.example, ...examples].filter((each) => typeof each === 'string');
  const random = fc
    .tuple(...names.slice(2).map((name) => oftenKnown(FORM_TEXT, known.values[name])))
    .map((values) => values.join('&'));
  const example = fc.constantFrom(...listed).map((each) => each.split('&').slice(2).join('&'));
  return fc
    .oneof({ weight: 2, arbitrary: random }, { weight: 1, arbitrary: example })
    .map((rest) => {
      const parts = [known.user, known.password].map(encodeURIComponent);
      if (names.length > 2) parts.push(rest);
      return { type: described, text: parts.join('&') };
    });
}

/** Names and values, of which some are missing. */
function formOf(schema: object = {}, known: Known): fc.Arbitrary<Content> {
  const parts = Object.keys('properties' in schema ? (schema.properties as object) : {}).map(
    (name) => {
      const value = oftenKnown(FORM_TEXT, known.values[name]).map((text) => `${name}=${text}`);
      return fc.option(value, { nil: undefined, freq: 5 });
    },
  );
  return fc.tuple(...parts).map((pairs) => {
    return { type: FORM_TYPE, text: pairs.filter((pair) => pair !== undefined).join('&') };
  });
}

const FORM_TYPE = 'application/x-www-form-urlencoded';
const LINES_TYPE = 'application/x-ndjson';
const SOME_LINES = fc
  .constantFrom(
    '',
    '{"key":"k"}',
    '{"key":"k"}\n{"keyBase64":"aw=="}\n',
    '{"op":"set","key":"k","value":"v"}',
  )
  .map((text) => ({ type: LINES_TYPE, text }));
const PATH_TEXT = fc.string({ unit: 'binary', minLength: 1, maxLength: 9 }).map(encodeURIComponent);
const FORM_TEXT = fc.string({ unit: 'binary', maxLength: 9 }).map(encodeURIComponent);
const SOME_CONTENT = fc.record({
  type: fc.constantFrom(undefined, 'text/plain', 'Application/X; a="b"'),
  text: fc.uint8Array({ maxLength: 99 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
});
const ANY_CONTENT = fc.option(SOME_CONTENT, { nil: undefined, freq: 4 });

function oftenKnown(
  any: fc.Arbitrary<string>,
  known: readonly string[] = [],
): fc.Arbitrary<string> {
  if (known.length === 0) return any;
  return fc.oneof(any, { weight: KNOWN_WEIGHT, arbitrary: fc.constantFrom(...known) });
}

/** The faults of requests. */
function faultRules({ badValueStatus, user }: Known): readonly FaultRule[] {
  const always = () => true;
  const isForm = ({ requestBody }: Operation) => requestBody?.content['text/plain'] !== undefined;
  const has = (type: string) => (operation: Operation) => placeOf(operation, type) >= 0;
  const needsLogin = ({ security }: Operation) => security.length > 0;
  const value = (type: string, text: string) => (draft: Draft, operation: Operation) => {
    draft.values[placeOf(operation, type)] = text;
  };
  const field = (line: string) => (draft: Draft) => {
    draft.fields.push(line);
  };
  const login = (line: string | undefined) => (draft: Draft) => {
    const at = draft.fields.findIndex((each) => each.startsWith('Authorization'));
    draft.fields.splice(at, 1, ...(line === undefined ? [] : [line]));
  };
  const form = (count: number, parts: readonly string[]) => (draft: Draft) => {
    const all = (draft.content ?? '').split('&');
    draft.content = [...parts, ...all.slice(count)].join('&');
  };
  const set = (change: Partial<Draft>) => (draft: Draft) => {
    Object.assign(draft, change);
  };
  const rule = (
    name: string,
    status: number | undefined,
    appliesTo: FaultRule['appliesTo'],
    change: FaultRule['change'],
  ): FaultRule => ({ name, status, appliesTo, change });
  const failedLogin = (...of: Parameters<typeof rule>): FaultRule => {
    return { ...rule(...of), isFailedLogin: true };
  };
  return [
    rule('an escape in the path', 400, has('string'), value('string', '%zz')),
    rule('an empty name', undefined, has('string'), value('string', '')),
    ...['x', '1.5', '2147483648', '%2B1', '1e3'].map((text) =>
      rule(`the integer ${text}`, badValueStatus, has('integer'), value('integer', text)),
    ),
    rule('too few parameters', 400, isForm, (draft) => {
      draft.content = (draft.content ?? '').split('&', 1).join();
    }),
    rule('an escape in the form', 400, isForm, form(1, ['%zz'])),
    failedLogin('a wrong user in the form', 403, isForm, form(2, ['nobody', 'x'])),
    rule('no login', 401, needsLogin, login(undefined)),
    failedLogin('a wrong password', 401, needsLogin, login(basicField(user, 'wrong'))),
    rule('a content coding', 415, always, field('Content-Encoding: gzip')),
    rule('an expectation', 417, always, field('Expect: nothing')),
    rule('two content types', 400, always, field('Content-Type: a/b\r\nContent-Type: a/b')),
    rule('content that is too long', 413, always, (draft) => {
      draft.content = undefined;
      draft.fields.push(`Content-Length: ${CONTENT_TOO_LONG}`);
    }),
    rule(
      'another host',
      403,
      ({ tags }) => !tags.includes('HEALTH_CHECK'),
      set({ host: 'example.org' }),
    ),
    rule('the page of another site', 403, always, field('Origin: http://example.org')),
    rule('a long target', 414, always, set({ query: `?${'x'.repeat(TOO_LONG)}` })),
    rule('a long field', 431, always, field(`X: ${'x'.repeat(TOO_LONG)}`)),
    rule('another version', 505, always, set({ version: '2.0' })),
  ];
}

/** The place of the first parameter of the type; -1 if there is none. */
function placeOf(operation: Operation, type: string): number {
  return parametersIn(operation, 'path').findIndex(({ schema }) => schema.type === type);
}

function textOf(template: string, draft: Draft): string {
  const { method, values, query, version, host, fields, content } = draft;
  const rest = [...values];
  const target = template.replace(/\{\w+\}/g, () => rest.shift() ?? '') + query;
  return textOfRequest(`${method} ${target}`, fields, content, version, host);
}

/** Returns a request; `line`: method and target. */
export function textOfRequest(
  line: string,
  fields: readonly string[],
  content?: string,
  version = '1.1',
  host = 'localhost',
): string {
  const length = content === undefined ? [] : [`Content-Length: ${content.length}`];
  const head = [`${line} HTTP/${version}`, `Host: ${host}`, ...fields, ...length];
  return `${head.join('\r\n')}\r\n\r\n${content ?? ''}`;
}

export function basicField(user: string, password: string): string {
  return `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
