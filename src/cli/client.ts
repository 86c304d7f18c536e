/**
 * What the client commands do: each one request to a member. What is asked for goes to standard
 * output, bytes as they are; what is wrong goes to standard error, and the exit code tells scripts
 * which it is.
 */
import {
  type Call,
  callMember,
  type Login,
  type MemberAnswer,
  type MemberLocation,
  UnreachableError,
} from '../client/member-client.ts';
import { print, printLine, readInput, readPassword, readValue, type Streams } from './client-io.ts';
import type { ClusterAnswer, ClusterCall } from './cluster-calls.ts';
import {
  EXIT_ABSENT,
  EXIT_CLEAN,
  EXIT_REFUSED,
  EXIT_UNREACHABLE,
  type ExitCode,
} from './exit-code.ts';

const DEFAULT_PORT = ':5701';

/** Flags of every client command. */
export interface ClientOptions {
  readonly address: string;
  readonly pathSegment: string;
  readonly user?: string;
  readonly clusterName: string;
  readonly ca?: string;
  readonly json?: true;
}

/** Where a value comes from, and what is kept with it. */
export interface ValueOptions {
  readonly file?: string;
  readonly contentType?: string;
}

/** Does a command's work; where no member answers, that is printed. */
export async function runClient(
  streams: Streams,
  options: ClientOptions,
  work: (client: Client) => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await work(new Client(streams, options));
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    streams.stderr.write(`${error.message}\n`);
    return EXIT_UNREACHABLE;
  }
}

/**
 * Methods return the exit code. They throw TypeError or RangeError for what the command line has
 * wrong, and reject with UnreachableError.
 */
export class Client {
  readonly #streams: Streams;
  readonly #options: ClientOptions;

  constructor(streams: Streams, options: ClientOptions) {
    this.#streams = streams;
    this.#options = options;
  }

  async getEntry(map: string, key: string): Promise<ExitCode> {
    return await this.#printValue({ method: 'GET', path: entryPath(map, key) });
  }

  async setEntry(
    map: string,
    key: string,
    value: string | undefined,
    options: ValueOptions,
  ): Promise<ExitCode> {
    return await this.#send(entryPath(map, key), value, options);
  }

  async deleteEntry(map: string, key: string): Promise<ExitCode> {
    return await this.#do({ method: 'DELETE', path: entryPath(map, key) });
  }

  async clearMap(map: string): Promise<ExitCode> {
    return await this.#do({ method: 'DELETE', path: namePath('maps', map) });
  }

  async offer(queue: string, value: string | undefined, options: ValueOptions): Promise<ExitCode> {
    return await this.#send(namePath('queues', queue), value, options);
  }

  /** `timeout` in seconds. */
  async poll(queue: string, timeout: string): Promise<ExitCode> {
    const waitSeconds = Number(timeout);
    if (!/^-?\d+$/.test(timeout) || waitSeconds >= 2 ** 31) {
      const seen = JSON.stringify(timeout);
      throw new RangeError(`Cannot use --timeout ${seen}: not an integer up to 2^31-1`);
    }
    const path = `${namePath('queues', queue)}/${waitSeconds}`;
    return await this.#printValue({ method: 'DELETE', path, waitSeconds });
  }

  async queueSize(queue: string): Promise<ExitCode> {
    const answer = await this.#ask({ method: 'GET', path: `${namePath('queues', queue)}/size` });
    if (answer.status !== 200) return await this.#refuse(answer);
    const text = answer.body.toString();
    await this.#tell(text, { size: Number(text) });
    return EXIT_CLEAN;
  }

  async askCluster(call: ClusterCall, given: readonly string[]): Promise<ExitCode> {
    const login = await this.#login();
    const credentials = [login?.user ?? this.#options.clusterName, login?.password ?? ''];
    const parameters = [...credentials, ...given].map(encodeURIComponent).join('&');
    const answer = await callMember(await this.#locate(), {
      method: call.isRead ? 'GET' : 'POST',
      path: `/${this.#options.pathSegment}/rest/${call.path}`,
      ...(call.isRead ? {} : { body: Buffer.from(parameters) }),
      ...(call.isRead && login !== undefined ? { login } : {}),
    });
    if (answer.status !== 200) return await this.#refuse(answer);
    const told = answer.json() as ClusterAnswer;
    // Members with --compatibility tell some failures with 200.
    if (told.status === 'fail') return await this.#refuse(answer);
    await this.#tell(call.show(told), told);
    return EXIT_CLEAN;
  }

  /** Parts that are yes or no have no content. */
  async health(part: string | undefined): Promise<ExitCode> {
    const path = part === undefined ? 'health' : `health/${encodeURIComponent(part)}`;
    const answer = await this.#askAt(path, { method: 'GET', path });
    const isNo = isBare503(answer);
    if (answer.status !== 200 && !isNo) return await this.#refuse(answer);
    const told = answer.body.length > 0 ? answer.json() : !isNo;
    await this.#tell(inWords(told), told);
    return isNo ? EXIT_ABSENT : EXIT_CLEAN;
  }

  async #printValue(call: Call): Promise<ExitCode> {
    const answer = await this.#ask(call);
    if (answer.status !== 200 && answer.status !== 204) return await this.#refuse(answer);
    const isFound = answer.status === 200;
    if (this.#options.json) {
      const { contentType = null, body } = answer;
      const value = isFound ? { contentType, base64: body.toString('base64') } : {};
      await this.#tell('', { found: isFound, ...value });
    } else if (isFound) {
      await print(this.#streams, answer.body);
    }
    return isFound ? EXIT_CLEAN : EXIT_ABSENT;
  }

  async #send(path: string, value: string | undefined, options: ValueOptions): Promise<ExitCode> {
    const { contentType } = options;
    const body = await readValue(this.#streams, value, options.file);
    const type = contentType === undefined ? {} : { contentType };
    return await this.#do({ method: 'POST', path, body, ...type });
  }

  /** A call whose answer has no content. A full queue is 503 without a message. */
  async #do(call: Call): Promise<ExitCode> {
    const answer = await this.#ask(call);
    const isFull = isBare503(answer);
    if (answer.status !== 200 && !isFull) return await this.#refuse(answer);
    const { json } = this.#options;
    if (json) await this.#tell('', isFull ? { full: true } : { done: true });
    else if (isFull) this.#streams.stderr.write('The queue is full\n');
    return isFull ? EXIT_ABSENT : EXIT_CLEAN;
  }

  async #refuse(answer: MemberAnswer): Promise<ExitCode> {
    const { status } = answer;
    const message = messageOf(answer);
    if (this.#options.json) await this.#tell('', { status, message });
    else this.#streams.stderr.write(`Refused with ${status}${message && `: ${message}`}\n`);
    return EXIT_REFUSED;
  }

  /** A line: the words for people, the other as JSON. */
  async #tell(words: string, told: unknown): Promise<void> {
    await printLine(this.#streams, this.#options.json ? JSON.stringify(told) : words);
  }

  /** A call below maps or queues. */
  async #ask(call: Call): Promise<MemberAnswer> {
    return await this.#askAt(`rest/${call.path}`, call);
  }

  /** Behind the path segment; logged in by HTTP Basic where a user is given. */
  async #askAt(path: string, call: Call): Promise<MemberAnswer> {
    const login = await this.#login();
    return await callMember(await this.#locate(), {
      ...call,
      path: `/${this.#options.pathSegment}/${path}`,
      ...(login === undefined ? {} : { login }),
    });
  }

  async #login(): Promise<Login | undefined> {
    const { user } = this.#options;
    if (user === undefined) return undefined;
    return { user, password: await readPassword(this.#streams, `Password of ${user}: `) };
  }

  async #locate(): Promise<MemberLocation> {
    const { address, ca } = this.#options;
    const isUrl = /^https?:\/\//.test(address);
    const port = /:\d+$/.test(address) ? '' : DEFAULT_PORT;
    const text = isUrl ? address : `http://${address}${port}`;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || url.pathname !== '/') {
      throw new TypeError(`Cannot use --address ${JSON.stringify(address)}: not a host and port`);
    }
    return { url, certificates: ca === undefined ? undefined : await readInput('--ca', ca) };
  }
}

function isBare503({ status, body }: MemberAnswer): boolean {
  return status === 503 && body.length === 0;
}

/** What the member says of the failure; empty where it says nothing. */
function messageOf(answer: MemberAnswer): string {
  if (answer.contentType !== 'application/json') return '';
  const { message, state } = answer.json() as ClusterAnswer;
  return message ?? (state === undefined ? '' : `the state is ${state}`);
}

function inWords(told: unknown): string {
  if (typeof told === 'boolean') return told ? 'yes' : 'no';
  if (typeof told !== 'object' || told === null) return String(told);
  return Object.entries(told)
    .map(([name, value]) => `${name.padEnd(20)} ${String(value)}`)
    .join('\n');
}

function entryPath(map: string, key: string): string {
  if (key === '') throw new RangeError('Cannot use "" as a key: it is empty');
  return `${namePath('maps', map)}/${encodeURIComponent(key)}`;
}

function namePath(kind: 'maps' | 'queues', name: string): string {
  if (name === '') throw new RangeError(`Cannot use "" as a name below ${kind}: it is empty`);
  return `${kind}/${encodeURIComponent(name)}`;
}
