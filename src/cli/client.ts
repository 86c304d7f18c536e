/**
 * Runs the client commands. Each sends one request to a member. The content of the response is written
 * to standard output unchanged, an error to standard error. The exit code is the kind of result.
 * Tested by client-commands.spec.ts.
 */
import { percentEncoded } from '../base/percent-encoding.ts';
import {
  callMember,
  type MemberLocation,
  type MemberRequest,
  type MemberResponse,
  UnreachableError,
} from '../client/member-client.ts';
import { POLL_SECONDS_MAX } from '../data/data-routes.ts';
import { ROUTES } from '../member/routes.ts';
import type { Route } from '../surface/route.ts';
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
import type { CallResponse, MemberCall } from './member-calls.ts';
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

/** Runs a command; if no member responds, prints that. */
export async function runClient(
  streams: Streams,
  options: ClientOptions,
  nameOf: NameOfFlag,
  work: (client: Client) => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await work(new Client(streams, options, nameOf));
  } catch (error) {
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

  constructor(streams: Streams, options: ClientOptions, nameOf: NameOfFlag) {
    this.#streams = streams;
    this.#options = options;
    this.#nameOf = nameOf;
    if (!/^[A-Za-z0-9\-_.~]+$/.test(options.pathSegment)) {
      const seen = `${nameOf('pathSegment')} ${JSON.stringify(options.pathSegment)}`;
      throw new TypeError(`Cannot use ${seen}: not letters, digits, "-", "_", "." and "~"`);
    }
  }

  /**
   * Calls a row of an entry. `words`: the key, unless a flag sets it, then the value that is set,
   * unless it has another source.
   */
  async callEntry(
    row: Route,
    map: string,
    words: readonly string[],
    options: KeyOptions & ValueOptions,
  ): Promise<ExitCode> {
    checkName(row, map);
    const { key, rest } = await readKey(words, options);
    const [value, tooMany] = row === ROUTES.setEntry ? rest : [undefined, rest[0]];
    if (tooMany !== undefined) {
      const flag = options.keyFile === undefined ? '--key-base64' : '--key-file';
      throw new TypeError(`Cannot use ${JSON.stringify(words[0])} as a key: ${flag} has it`);
    }
    refuseReplaced('value', value);
    const request = this.#requestOf(row, map, key);
    if (row === ROUTES.getEntry) return await this.#printValue(request);
    if (row === ROUTES.deleteEntry) return await this.#do(request);
    return await this.#send(request, value, options, false);
  }

  async clearMap(map: string): Promise<ExitCode> {
    return await this.#do(this.#requestOf(ROUTES.clearMap, map));
  }

  async offer(queue: string, value: string | undefined, options: ValueOptions): Promise<ExitCode> {
    refuseReplaced('value', value);
    return await this.#send(this.#requestOf(ROUTES.offer, queue), value, options, true);
  }

  /** `timeout` in seconds. */
  async poll(queue: string, timeout: string): Promise<ExitCode> {
    const waitSeconds = Number(timeout);
    if (!/^-?\d+$/.test(timeout) || waitSeconds > POLL_SECONDS_MAX) {
      const seen = JSON.stringify(timeout);
      throw new RangeError(`Cannot use --timeout ${seen}: not an integer up to 2^31-1`);
    }
    const request = this.#requestOf(ROUTES.poll, queue, String(waitSeconds));
    return await this.#printValue({ ...request, waitSeconds });
  }

  async queueSize(queue: string): Promise<ExitCode> {
    const call = this.#requestOf(ROUTES.queueSize, queue);
    const response = await this.#request(call);
    if (response.status !== 200) return await this.#refuse(response, call);
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
   * `words`: the parameters of a POST, or the variable parts of the path of a GET.
   */
  async responseTo(row: Route, ...words: readonly string[]): Promise<CallResponse | ExitCode> {
    const isRead = row.method === 'GET';
    const request = isRead
      ? this.#requestOf(row, ...words)
      : { ...this.#requestOf(row), body: await this.#parameters(row, words) };
    const response = await (isRead ? this.#request(request) : this.#call(request));
    if (response.status !== 200) return await this.#refuse(response, request);
    const value = response.json() as CallResponse;
    // Members with --compatibility return 200 for some failures.
    return value.status === 'fail' ? await this.#refuse(response, request) : value;
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
    const call = this.#requestOf(row);
    const response = await this.#request(call);
    if (response.status !== 200) return await this.#refuse(response, call);
    await printLine(this.#streams, response.body.toString().trimEnd());
    return EXIT_CLEAN;
  }

  /** The response for a yes or no part of health has no content. */
  async health(part: string | undefined): Promise<ExitCode> {
    const whole = this.#requestOf(ROUTES.health);
    const path = part === undefined ? whole.path : `${whole.path}/${percentEncoded(part)}`;
    const call = { ...whole, path };
    const response = await this.#request(call);
    const isNo = isBare503(response);
    if (response.status !== 200 && !isNo) return await this.#refuse(response, call);
    const value = response.body.length > 0 ? response.json() : !isNo;
    await this.printResult(inWords(value), value);
    return isNo ? EXIT_ABSENT : EXIT_CLEAN;
  }

  async #printValue(call: MemberRequest): Promise<ExitCode> {
    const response = await this.#request(call);
    if (response.status !== 200 && response.status !== 204)
      return await this.#refuse(response, call);
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
    if (response.status !== 200 && !isFull) return await this.#refuse(response, call);
    const { json } = this.#options;
    if (json) await this.printResult('', isFull ? { full: true } : { done: true });
    else if (isFull) this.#streams.stderr.write('The queue is full\n');
    return isFull ? EXIT_ABSENT : EXIT_CLEAN;
  }

  async #refuse(response: MemberResponse, call: MemberRequest): Promise<ExitCode> {
    const { status } = response;
    const message = refusalReason(response, call, this.#options);
    if (this.#options.json) await this.printResult('', { status, message });
    else this.#streams.stderr.write(`Refused with ${status}${message && `: ${message}`}\n`);
    return EXIT_REFUSED;
  }

  /** Prints `words` for people, none as nothing, or a line of JSON. */
  async printResult(words: string, value: unknown): Promise<void> {
    if (words === '' && !this.#options.json) return;
    await printLine(this.#streams, this.#options.json ? JSON.stringify(value) : words);
  }

  /** Returns the request of a row. `parts`: the variable parts of its path. */
  #requestOf(row: Route, ...parts: readonly (Buffer | string)[]): MemberRequest {
    if (row.permission.kind !== undefined) checkName(row, parts[0]);
    const left = parts.values();
    const path = row.path.replace(/\{\w+\}/g, () => percentEncoded(left.next().value ?? ''));
    return { method: row.method, path: `/${this.#options.pathSegment}/${path}` };
  }

  /**
   * Sends a request, with a login by HTTP Basic if a user is given: at once if the environment has the
   * password, else after the member has responded with 401.
   */
  async #request(call: MemberRequest): Promise<MemberResponse> {
    const { user } = this.#options;
    if (user === undefined) return await this.#call(call);
    const fromEnvironment = passwordOfEnvironment();
    if (fromEnvironment !== undefined)
      return await this.#call({ ...call, login: { user, password: fromEnvironment } });
    const response = await this.#call(call);
    if (response.status !== 401) return response;
    const password = await this.#passwordOf(user);
    return await this.#call({ ...call, login: { user, password } });
  }

  /** Prompts for the password once. */
  async #passwordOf(user: string): Promise<string> {
    this.#password ??= await readPassword(this.#streams, `Password of ${user}: `);
    return this.#password;
  }

  async #call(call: MemberRequest): Promise<MemberResponse> {
    this.#location ??= await locateMember(this.#options, this.#nameOf);
    return await callMember(this.#location, call);
  }
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
