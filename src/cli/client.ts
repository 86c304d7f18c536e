/**
 * Runs the client commands. Most send one request to a member. The content of the response is written
 * to standard output unchanged, an error to standard error. The exit code is the kind of result.
 * Tested by client-commands.spec.ts.
 */
import { percentEncoded } from '../base/percent-encoding.ts';
import {
  callMember,
  type MemberLocation,
  type MemberRequest,
  type MemberResponse,
  type OpenResponse,
  openMember,
  UnreachableError,
  wholeResponse,
  withKeptConnection,
} from '../client/member-client.ts';
import { POLL_SECONDS_MAX } from '../data/data-routes.ts';
import { ROUTES } from '../member/routes.ts';
import type { Route } from '../surface/route.ts';
import { BY } from '../v1/v1-routes.ts';
import {
  type KeyOptions,
  passwordOfEnvironment,
  readKey,
  readPassword,
  readText,
  readValue,
  refuseReplaced,
} from './command-input.ts';
import {
  EXIT_ABSENT,
  EXIT_CLEAN,
  EXIT_REFUSED,
  EXIT_UNREACHABLE,
  type ExitCode,
} from './exit-code.ts';
import { type AddressOptions, locateMember } from './member-address.ts';
import { type CallResponse, type MemberCall, variablesOf } from './member-calls.ts';
import { print, printLine, type Streams } from './output.ts';
import { refusalReason } from './refusal-text.ts';

/** Flags of every client command. */
export interface ClientOptions extends AddressOptions {
  readonly pathSegment: string;
  readonly user?: string;
  readonly clusterName: string;
  readonly json?: true;
}

/**
 * The name of a flag in messages: the flag itself, or the variable from which its value was read.
 */
type NameOfFlag = (flag: keyof ClientOptions) => string;

/** The source of a value, and the content type stored with it. */
export interface ValueOptions {
  readonly file?: string;
  readonly contentType?: string;
}

/** The flags of conditions. */
export interface ConditionOptions {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
}

/** The flags of a value that is set, with its lifetime in seconds and its conditions. */
export interface SetOptions extends ValueOptions, ConditionOptions {
  readonly ttl?: string;
  readonly maxIdle?: string;
}

/** The further parts of a request of a row. */
type RequestParts = Partial<
  Pick<MemberRequest, 'body' | 'contentType' | 'fields' | 'waitSeconds' | 'signal'>
> & {
  /** Parameters in the query; without those that are undefined. */
  readonly query?: Readonly<Record<string, string | undefined>>;
};

/** The member has refused a request, which ends the command. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly response: MemberResponse;
  readonly call: MemberRequest;

  constructor(response: MemberResponse, call: MemberRequest) {
    super(`Refused with ${response.status}`);
    this.response = response;
    this.call = call;
  }
}

/** Runs a command; if no member responds, or it refuses a request, prints that. */
export async function runClient(
  streams: Streams,
  options: ClientOptions,
  nameOf: NameOfFlag,
  work: (client: Client) => Promise<ExitCode>,
): Promise<ExitCode> {
  const client = new Client(streams, options, nameOf);
  try {
    return await work(client);
  } catch (error) {
    if (error instanceof RefusedError) return await client.refuse(error.response, error.call);
    if (!(error instanceof UnreachableError)) throw error;
    streams.stderr.write(`${error.message}\n`);
    return EXIT_UNREACHABLE;
  }
}

/**
 * Methods return the exit code. They throw TypeError or RangeError for errors of the command line, and
 * reject with UnreachableError.
 */
export class Client {
  readonly #streams: Streams;
  readonly #options: ClientOptions;
  readonly #nameOf: NameOfFlag;
  #location: MemberLocation | undefined;
  #password: string | undefined;
  /** Whether the member has refused a request without a login. */
  #mustLogIn = false;

  constructor(streams: Streams, options: ClientOptions, nameOf: NameOfFlag) {
    this.#streams = streams;
    this.#options = options;
    this.#nameOf = nameOf;
    if (!/^[A-Za-z0-9\-_.~]+$/.test(options.pathSegment)) {
      const seen = `${nameOf('pathSegment')} ${JSON.stringify(options.pathSegment)}`;
      throw new TypeError(`Cannot use ${seen}: not letters, digits, "-", "_", "." and "~"`);
    }
  }

  async getEntry(map: string, words: readonly string[], options: KeyOptions): Promise<ExitCode> {
    const { key } = await readOnlyKey(words, options);
    return await this.#printValue(this.requestOf(ROUTES.getEntry, [map, key]));
  }

  /** `words`: the key, unless a flag sets it, then the value, unless it has another source. */
  async setEntry(
    map: string,
    words: readonly string[],
    options: KeyOptions & SetOptions,
  ): Promise<ExitCode> {
    const { key, rest } = await readKey(words, options);
    const [value, tooMany] = rest;
    if (tooMany !== undefined) throw keyTwice(words, options);
    refuseReplaced('value', value);
    const fields = fieldsOf(options);
    const row = isEmpty(fields) ? ROUTES.setEntry : ROUTES.putV1Entry;
    return await this.#send(this.requestOf(row, [map, key], { fields }), value, options, false);
  }

  async deleteEntry(
    map: string,
    words: readonly string[],
    options: KeyOptions & ConditionOptions,
  ): Promise<ExitCode> {
    const { key } = await readOnlyKey(words, options);
    const fields = fieldsOf(options);
    const row = isEmpty(fields) ? ROUTES.deleteEntry : ROUTES.deleteV1Entry;
    return await this.#do(this.requestOf(row, [map, key], { fields }));
  }

  /** Adds to an entry and prints the sum. `by`: a 64-bit integer. */
  async addToEntry(
    map: string,
    words: readonly string[],
    { by, ...options }: KeyOptions & { readonly by: string },
  ): Promise<ExitCode> {
    const { key } = await readOnlyKey(words, options);
    const body = Buffer.from(`${BY}=${percentEncoded(by)}`);
    const call = this.requestOf(ROUTES.addToEntry, [map, key], { body });
    const response = await this.#request(call);
    if (response.status !== 200) return await this.refuse(response, call);
    const value = response.body.toString();
    await this.printResult(value, { value, etag: response.field('etag') });
    return EXIT_CLEAN;
  }

  async clearMap(map: string): Promise<ExitCode> {
    return await this.#do(this.requestOf(ROUTES.clearMap, [map]));
  }

  async offer(queue: string, value: string | undefined, options: ValueOptions): Promise<ExitCode> {
    refuseReplaced('value', value);
    return await this.#send(this.requestOf(ROUTES.offer, [queue]), value, options, true);
  }

  /** `timeout` in seconds. */
  async poll(queue: string, timeout: string): Promise<ExitCode> {
    const waitSeconds = Number(timeout);
    if (!/^-?\d+$/.test(timeout) || waitSeconds > POLL_SECONDS_MAX) {
      const seen = JSON.stringify(timeout);
      throw new RangeError(`Cannot use --timeout ${seen}: not an integer up to 2^31-1`);
    }
    const parts = [queue, String(waitSeconds)];
    return await this.#printValue(this.requestOf(ROUTES.poll, parts, { waitSeconds }));
  }

  /** Prints the number of entries or items. `row`: of a map or of a queue. */
  async printSize(row: Route, name: string): Promise<ExitCode> {
    const call = this.requestOf(row, [name]);
    const response = await this.#request(call);
    if (response.status !== 200) return await this.refuse(response, call);
    const text = response.body.toString();
    await this.printResult(text, { size: Number(text) });
    return EXIT_CLEAN;
  }

  /** Makes a call and prints its response; see responseTo. */
  async callMember([row, show]: MemberCall, ...words: readonly string[]): Promise<ExitCode> {
    const value = await this.responseTo(row, ...words);
    if (typeof value === 'number') return value;
    await this.printResult(show(value), value);
    return EXIT_CLEAN;
  }

  /**
   * Returns the response to a call, or the exit code if it is a refusal, which has been printed.
   * `words`: the variable parts of the path, and then the parameters of a POST.
   */
  async responseTo(row: Route, ...words: readonly string[]): Promise<CallResponse | ExitCode> {
    const isRead = row.method === 'GET';
    const variable = words.slice(0, variablesOf(row).length);
    const parameters = words.slice(variable.length);
    for (const text of variable) refuseReplaced('name', text);
    const request = isRead
      ? this.requestOf(row, variable)
      : this.requestOf(row, variable, { body: await this.#parameters(row, parameters) });
    const response = await (isRead ? this.#request(request) : this.#call(request));
    if (response.status !== 200) return await this.refuse(response, request);
    const hasContent = response.body.length > 0;
    const value = (hasContent ? response.json() : { done: true }) as CallResponse;
    // Members with --compatibility return 200 for some failures.
    return value.status === 'fail' ? await this.refuse(response, request) : value;
  }

  /** A call with credentials and arguments in its content. */
  async #parameters({ parameters }: Route, words: readonly string[]): Promise<Buffer> {
    for (const text of words) refuseReplaced('parameter', text);
    const { user, clusterName } = this.#options;
    const texts: (string | Buffer)[] = [
      user ?? clusterName,
      user === undefined ? '' : await this.#passwordOf(user),
    ];
    for (const [index, { kind }] of parameters.entries()) {
      const word = words[index];
      texts.push(kind === 'document' ? await readText(this.#streams, word) : (word ?? ''));
    }
    return Buffer.from(texts.map(percentEncoded).join('&'));
  }

  /** Prints the text of a row as it is, whether or not the output is to be JSON. */
  async printText(row: Route): Promise<ExitCode> {
    const call = this.requestOf(row);
    const response = await this.#request(call);
    if (response.status !== 200) return await this.refuse(response, call);
    await printLine(this.#streams, response.body.toString().trimEnd());
    return EXIT_CLEAN;
  }

  /** The response for a yes or no part of health has no content. */
  async health(part: string | undefined): Promise<ExitCode> {
    const whole = this.requestOf(ROUTES.health);
    const path = part === undefined ? whole.path : `${whole.path}/${percentEncoded(part)}`;
    const call = { ...whole, path };
    const response = await this.#request(call);
    const isNo = isBare503(response);
    if (response.status !== 200 && !isNo) return await this.refuse(response, call);
    const value = response.body.length > 0 ? response.json() : !isNo;
    await this.printResult(inWords(value), value);
    return isNo ? EXIT_ABSENT : EXIT_CLEAN;
  }

  async #printValue(call: MemberRequest): Promise<ExitCode> {
    const response = await this.#request(call);
    if (response.status !== 200 && response.status !== 204)
      return await this.refuse(response, call);
    const isFound = response.status === 200;
    if (this.#options.json) {
      const { contentType = null, body } = response;
      const value = isFound ? { contentType, base64: body.toString('base64') } : {};
      await this.printResult('', { found: isFound, ...value });
    } else if (isFound) {
      await print(this.#streams, response.body);
    }
    return isFound ? EXIT_CLEAN : EXIT_ABSENT;
  }

  async #send(
    request: MemberRequest,
    value: string | undefined,
    { file, contentType }: ValueOptions,
    canBeFull: boolean,
  ): Promise<ExitCode> {
    if (contentType !== undefined && !/^[\t -~]*$/.test(contentType)) {
      const seen = JSON.stringify(contentType);
      throw new TypeError(`Cannot use --content-type ${seen}: not printable ASCII`);
    }
    const body = await readValue(this.#streams, value, file);
    const type = contentType === undefined ? {} : { contentType };
    return await this.#do({ ...request, body, ...type }, canBeFull);
  }

  /** A call whose response has no content. A full queue is a 503 without a message. */
  async #do(call: MemberRequest, canBeFull = false): Promise<ExitCode> {
    const response = await this.#request(call);
    const isFull = canBeFull && isBare503(response);
    if (!isDone(response) && !isFull) return await this.refuse(response, call);
    const { json } = this.#options;
    const done = { done: true, etag: response.field('etag') };
    if (json) await this.printResult('', isFull ? { full: true } : done);
    else if (isFull) this.#streams.stderr.write('The queue is full\n');
    return isFull ? EXIT_ABSENT : EXIT_CLEAN;
  }

  /** Prints a refusal and returns its exit code. */
  async refuse(response: MemberResponse, call: MemberRequest): Promise<ExitCode> {
    const { status } = response;
    const message = refusalReason(response, call, this.#options);
    if (this.#options.json) await this.printResult('', { status, message });
    else this.#streams.stderr.write(`Refused with ${status}${message && `: ${message}`}\n`);
    return isOfEntry(response, call) ? EXIT_ABSENT : EXIT_REFUSED;
  }

  /** Prints `words` for people, none as nothing, or a line of JSON. */
  async printResult(words: string, value: unknown): Promise<void> {
    if (words === '' && !this.#options.json) return;
    await printLine(this.#streams, this.#options.json ? JSON.stringify(value) : words);
  }

  /** Returns the request of a row. `variable`: the variable parts of its path. */
  requestOf(
    row: Route,
    variable: readonly (Buffer | string)[] = [],
    { query = {}, ...parts }: RequestParts = {},
  ): MemberRequest {
    if (row.permission.kind !== undefined) checkName(row, variable[0]);
    const left = variable.values();
    const path = row.path.replace(/\{\w+\}/g, () => percentEncoded(left.next().value ?? ''));
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${percentEncoded(value)}`],
    );
    const target = `/${this.#options.pathSegment}/${path}`;
    return {
      method: row.method,
      ...parts,
      path: parameters.length === 0 ? target : `${target}?${parameters.join('&')}`,
    };
  }

  /**
   * Sends a request and returns its response, whose content is read as it arrives. Throws RefusedError
   * if the status is 400 or more.
   */
  async open(call: MemberRequest): Promise<OpenResponse> {
    const response = await this.#open(call);
    if (response.status < 400) return response;
    throw new RefusedError(await this.#whole(response), call);
  }

  /** Sends a request and reads its response. Throws RefusedError if the status is 400 or more. */
  async complete(call: MemberRequest): Promise<MemberResponse> {
    return await this.#whole(await this.open(call));
  }

  /** Keeps the connection for the next requests, until the returned function is called. */
  async keepConnection(): Promise<() => void> {
    const before = await this.#locate();
    const kept = withKeptConnection(before);
    this.#location = kept;
    return () => {
      this.#location = before;
      kept.agent?.destroy();
    };
  }

  async #request(call: MemberRequest): Promise<MemberResponse> {
    return await this.#whole(await this.#open(call));
  }

  /**
   * Sends a request, with a login by HTTP Basic if a user is given: at once if the environment has the
   * password or the content can be sent only once, else after the member has responded with 401.
   */
  async #open(call: MemberRequest): Promise<OpenResponse> {
    const { user } = this.#options;
    const location = await this.#locate();
    if (user === undefined) return await openMember(location, call);
    const isOnce = call.body !== undefined && !Buffer.isBuffer(call.body);
    if (passwordOfEnvironment() === undefined && !this.#mustLogIn && !isOnce) {
      const response = await openMember(location, call);
      if (response.status !== 401) return response;
      await this.#whole(response);
      this.#mustLogIn = true;
    }
    const password = await this.#passwordOf(user);
    return await openMember(location, { ...call, login: { user, password } });
  }

  /** Prompts for the password once. */
  async #passwordOf(user: string): Promise<string> {
    this.#password ??= await readPassword(this.#streams, `Password of ${user}: `);
    return this.#password;
  }

  async #call(call: MemberRequest): Promise<MemberResponse> {
    return await callMember(await this.#locate(), call);
  }

  async #whole(response: OpenResponse): Promise<MemberResponse> {
    return await wholeResponse(response, await this.#locate());
  }

  async #locate(): Promise<MemberLocation> {
    this.#location ??= await locateMember(this.#options, this.#nameOf);
    return this.#location;
  }
}

/** Reads the key of a command that has no words after it. */
async function readOnlyKey(words: readonly string[], options: KeyOptions) {
  const found = await readKey(words, options);
  if (found.rest.length > 0) throw keyTwice(words, options);
  return found;
}

function keyTwice(words: readonly string[], { keyFile }: KeyOptions): TypeError {
  const flag = keyFile === undefined ? '--key-base64' : '--key-file';
  return new TypeError(`Cannot use ${JSON.stringify(words[0])} as a key: ${flag} has it`);
}

/** Returns the header fields of the flags of a lifetime and of conditions. */
function fieldsOf(options: SetOptions): Readonly<Record<string, string>> {
  const fields: Record<string, string> = {};
  for (const [flag, field, name] of ENTRY_FIELDS) {
    const value = options[flag];
    if (value === undefined) continue;
    if (!/^[ -~]+$/.test(value)) {
      throw new TypeError(`Cannot use ${name} ${JSON.stringify(value)}: not printable ASCII`);
    }
    fields[field] = value;
  }
  return fields;
}

/** The flags that are sent as header fields. */
const ENTRY_FIELDS = [
  ['ttl', 'Grid-Time-To-Live', '--ttl'],
  ['maxIdle', 'Grid-Max-Idle', '--max-idle'],
  ['ifMatch', 'If-Match', '--if-match'],
  ['ifNoneMatch', 'If-None-Match', '--if-none-match'],
] as const;

function isEmpty(fields: Readonly<Record<string, string>>): boolean {
  return Object.keys(fields).length === 0;
}

function isDone({ status }: MemberResponse): boolean {
  return status === 200 || status === 201 || status === 204;
}

/**
 * Whether `v1` has refused a request because of its entry or lock: 404, 409 or 412. A 404 without
 * content is of an unknown path.
 */
function isOfEntry({ status, body }: MemberResponse, { path }: MemberRequest): boolean {
  const [, , version, kind] = path.split('/');
  if (version !== 'v1' || (kind !== 'maps' && kind !== 'cp')) return false;
  return status === 409 || status === 412 || (status === 404 && body.length > 0);
}

function isBare503({ status, body }: MemberResponse): boolean {
  return status === 503 && body.length === 0;
}

function inWords(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, value]) => `${name.padEnd(20)} ${String(value)}`)
    .join('\n');
}

/** Checks the name of a map or queue. */
function checkName({ path }: Route, name: Buffer | string | undefined): void {
  const kind = path.split('/')[1];
  if (name === '') throw new RangeError(`Cannot use "" as a name below ${kind}: it is empty`);
  refuseReplaced('name', name?.toString());
}
