/**
 * A server for the engine on Redis or Valkey, on the clock and the network of a World. It executes
 * the engine's commands and scripts on its data; a spec can set the reply to any command, faults,
 * and the time at which replies are sent. It records each command about data.
 */
import { addressText, type ServerAddress } from '../../src/base/server-address.ts';
import { replyValue } from '../../src/engine/redis/control-connection.ts';
import { ReplyReader } from '../../src/engine/redis/reply.ts';
import type { FakeCluster } from './fake-cluster.ts';
import {
  DATA_COMMANDS,
  ErrorReply,
  FakeData,
  hasRightCount,
  keysOf,
  Status,
  type Value,
  wrongCount,
} from './fake-data.ts';
import { scanTable } from './fake-scan.ts';
import { SCRIPT_FUNCTIONS, shaOf } from './fake-scripts.ts';
import type { EndObserver, ServerEnd } from './network.ts';
import { Replication } from './replication.ts';
import type { ScriptRun } from './script-run.ts';
import type { World } from './world.ts';

/** A reply as it is sent, a character per byte. */
export type FakeReply = string;

/**
 * The reply to a command; undefined for the usual one, `SILENCE` for none, also to the following
 * commands, `LOST` for none to this one, `CUT` to end the connection.
 */
export type Script = (words: readonly string[]) => FakeReply | undefined;

export const SILENCE = '';
export const CUT = 'cut';
export const LOST = 'lost';
export const OK = '+OK\r\n';
export const DONE = ':1\r\n';
export const NIL_REPLY = '$-1\r\n';
const SERVED = new Status('OK');

/** Texts of errors with which a server refuses changes. */
const OUT_OF_MEMORY = "OOM command not allowed when used memory > 'maxmemory'.";
const NO_REPLICAS = 'NOREPLICAS Not enough good replicas to write.';
const READ_ONLY = "READONLY You can't write against a read only replica.";
const NOT_IN_SCRIPT = 'ERR Write commands are not allowed from read-only scripts.';

export class FakeServer {
  readonly world: World;
  readonly address: ServerAddress;
  readonly data: FakeData;
  runId: string;
  version = '7.0.15';
  mode = 'standalone';
  maxMemory = 0;
  policy = 'noeviction';
  /** Settings that CONFIG GET returns. */
  settings: Readonly<Record<string, string>> = {};
  /** Replicas without data that confirm everything, besides those of `replication`. */
  replicaCount = 0;
  readonly replication: Replication;
  /** The server of which this one is a replica. */
  primary: FakeServer | undefined;
  cluster: FakeCluster | undefined;
  isOutOfMemory = false;
  /** Whether it neither accepts connections nor applies changes of its primary. */
  isStopped = false;
  /** The error with which it refuses all changes; undefined if it accepts them. */
  refusal: string | undefined;
  /** Called first for each command, except for trials of rights. */
  script: Script = () => undefined;
  /** Called for trials of rights: calls of scripts without keys, and subscriptions. */
  rights: Script = () => undefined;
  /** The commands about data in the order received, each with its reply. */
  readonly received: { readonly words: readonly string[]; readonly reply: FakeReply }[] = [];
  /** Number of connections that clients have reset. */
  resetCount = 0;
  /** Number of queries of its role. */
  roleCount = 0;
  /** Number of commands that it has executed, including those in scripts. */
  commandCount = 0;
  readonly clients = new Set<Client>();
  readonly #scripts = new Map<string, string>();
  /** The command whose next reply is late, and the connection on which replies are held back. */
  #heldFrom: string | undefined;
  #held: Client | undefined;
  #heldReplies: FakeReply[] = [];
  /** The connection on which the last command had no reply. */
  #silent: Client | undefined;
  #lastId = 0;

  constructor(world: World, script?: Script) {
    this.world = world;
    this.address = { host: '127.0.0.1', port: world.network.newPort() };
    this.runId = shaOf(addressText(this.address));
    this.data = new FakeData(
      () => this.now,
      () => this.runId,
    );
    this.replication = new Replication(this);
    if (script !== undefined) this.script = script;
    this.listen();
  }

  get port(): number {
    return this.address.port;
  }

  get url(): string {
    return `redis://${addressText(this.address)}`;
  }

  /** Its time in ms. */
  get now(): number {
    return this.world.clock.wall();
  }

  get connectedReplicaCount(): number {
    return this.replicaCount + this.replication.count;
  }

  /** Returns the commands that had a reply other than an error. */
  get done(): (readonly string[])[] {
    return this.received
      .filter(({ reply }) => reply !== SILENCE && reply !== CUT && !reply.startsWith('-'))
      .map(({ words }) => words);
  }

  /** Returns the number of commands of this name that were received. */
  countOf(name: string): number {
    return this.received.filter(({ words }) => words[0] === name).length;
  }

  /** Accepts connections, again after `stop`. */
  listen(): void {
    this.world.network.listen(this.address, (end) => this.accept(end));
    this.isStopped = false;
    this.primary?.replication.lag(this, false);
  }

  /** Ends all connections and accepts no more. */
  stop(): void {
    this.world.network.unlisten(this.address);
    this.isStopped = true;
    for (const client of [...this.clients]) client.end.close();
    this.clients.clear();
  }

  /** Ends and starts again, without the scripts; a server that was not saved has lost its data. */
  restart(hasData: boolean): void {
    this.stop();
    this.#scripts.clear();
    this.runId = shaOf(`${this.runId} again`);
    if (!hasData) this.data.clear();
    this.listen();
  }

  /** Removes all scripts. */
  flushScripts(): void {
    this.#scripts.clear();
  }

  /** Delays the next reply to the command and those after it on its connection until `release`. */
  holdNext(command: string): void {
    this.#heldFrom = command;
  }

  /** Sends the delayed replies in order. Returns their number. */
  release(): number {
    const replies = this.#heldReplies;
    this.#held?.write(replies.join(''));
    this.#held = undefined;
    this.#heldReplies = [];
    return replies.length;
  }

  /** Replies to the last command that had no reply. */
  replyLate(reply: FakeReply): void {
    if (this.#silent !== undefined) this.#silent.isSilent = false;
    this.#silent?.write(reply);
  }

  /** Sends a message to the connections that subscribe to the channel; returns their number. */
  publish(kind: 'message' | 'smessage', channel: string, text: string): number {
    let count = 0;
    for (const client of this.clients) {
      if (!client.channels.has(channel)) continue;
      client.write(encoded([kind, channel, text]));
      count++;
    }
    return count;
  }

  /** Ends one connection on which no command is pending. */
  dropOne(): void {
    const client = [...this.clients].find(({ isSilent }) => !isSilent);
    client?.end.close();
    if (client !== undefined) this.clients.delete(client);
  }

  /** Ends the subscriptions to the channels that `isEnded` selects, as their slot was moved. */
  unsubscribe(isEnded: (channel: string) => boolean): void {
    for (const client of this.clients) {
      for (const channel of client.channels) {
        if (!isEnded(channel)) continue;
        client.channels.delete(channel);
        client.write(encoded(['sunsubscribe', channel, client.channels.size]));
      }
    }
  }

  /** Executes a command, as if a client had sent it. Throws ErrorReply. */
  run(...words: readonly string[]): Value {
    return this.#execute(words, undefined) ?? null;
  }

  accept(end: ServerEnd): EndObserver {
    const client = new Client(++this.#lastId, end, (words) => this.#answer(client, words));
    this.clients.add(client);
    return {
      onBytes: (bytes) => client.read(bytes),
      onEnd: (isReset) => {
        if (isReset) this.resetCount++;
        this.clients.delete(client);
      },
    };
  }

  #answer(client: Client, words: readonly string[]): void {
    const isOfRights = isTrial(words);
    const set = isOfRights ? this.rights(words) : this.script(words);
    if (words[0] === 'ROLE') this.roleCount++;
    if (set !== undefined) return this.#reply(client, words, set);
    try {
      const value = this.#execute(words, client);
      if (value === undefined) return client.block((later) => this.#reply(client, words, later));
      this.#reply(client, words, encoded(value));
    } catch (error) {
      if (!(error instanceof ErrorReply)) throw error;
      this.#reply(client, words, `-${error.message}\r\n`);
    }
  }

  #reply(client: Client, words: readonly string[], reply: FakeReply): void {
    const [name = ''] = words;
    if (!(name in SERVER_COMMANDS) && !isTrial(words)) this.received.push({ words, reply });
    if (reply === LOST) return;
    if (name === this.#heldFrom) {
      this.#heldFrom = undefined;
      this.#held = client;
    }
    if (client === this.#held) {
      this.#heldReplies.push(reply);
      return;
    }
    if (reply === SILENCE) {
      this.#silent = client;
      client.isSilent = true;
    }
    if (client.isSilent) return;
    if (!reply.endsWith(CUT)) return client.write(reply);
    client.write(reply.slice(0, -CUT.length));
    client.end.close();
    this.clients.delete(client);
  }

  /** Returns undefined if the reply is sent later, by `client.unblock`. */
  #execute(words: readonly string[], client: Client | undefined): Value | undefined {
    const [name = ''] = words;
    this.commandCount++;
    if (name === 'EVALSHA') return this.#callScript(words, client);
    if (name in DATA_COMMANDS) {
      if (this.mode === 'sentinel') throw unknownCommand(name);
      if (!hasRightCount(words)) throw wrongCount(name);
      this.cluster?.assertHere(this, keysOf(words), client?.isAsking === true);
      if (client !== undefined) client.isAsking = false;
      this.#assertWritable(name);
      return this.#runOnData(words, client);
    }
    const command = SERVER_COMMANDS[name];
    if (command === undefined) throw unknownCommand(name);
    return command(this, words, client);
  }

  #runOnData(words: readonly string[], client: Client | undefined): Value {
    const value = this.data.run(words);
    if (DATA_COMMANDS[words[0]!]!.isWrite) {
      const offset = this.replication.add(words);
      if (client !== undefined) client.offset = offset;
    }
    return value;
  }

  #assertWritable(name: string): void {
    const { isWrite, needsMemory } = DATA_COMMANDS[name]!;
    if (needsMemory && this.isOutOfMemory) throw new ErrorReply(OUT_OF_MEMORY);
    if (!isWrite) return;
    if (this.primary !== undefined) throw new ErrorReply(READ_ONLY);
    if (this.refusal !== undefined) throw new ErrorReply(this.refusal);
  }

  #callScript(words: readonly string[], client: Client | undefined): Value {
    const [, sha = '', keyCount = ''] = words;
    const args = words.slice(3 + Number(keyCount));
    const keys = words.slice(3, 3 + Number(keyCount));
    this.cluster?.assertHere(this, keys, client?.isAsking === true);
    if (client !== undefined) client.isAsking = false;
    const source = this.#scripts.get(sha);
    if (source === undefined) {
      throw new ErrorReply('NOSCRIPT No matching script. Please use EVAL.');
    }
    const run = SCRIPT_FUNCTIONS.get(sha);
    if (run === undefined) return this.#tryRights(args);
    // A script with flags is refused before it begins; another one at its first write.
    // One that writes nothing is executed.
    if (/^#!lua(?!.*no-writes)/.test(source)) {
      if (this.refusal !== undefined) throw new ErrorReply(this.refusal);
      if (this.primary !== undefined) throw new ErrorReply(READ_ONLY);
    }
    return run(this.#scriptRun(sha, source, client), keys, args);
  }

  #scriptRun(sha: string, source: string, client: Client | undefined): ScriptRun {
    const allowsOom = source.includes('allow-oom');
    let hasWritten = false;
    const call = (...words: readonly (string | number)[]): Value => {
      const [name = '', ...rest] = words.map(String);
      try {
        if (!(name in DATA_COMMANDS)) return this.#execute([name, ...rest], undefined) ?? null;
        const { isWrite, needsMemory } = DATA_COMMANDS[name]!;
        if (!hasWritten && (!allowsOom || !needsMemory || !this.isOutOfMemory)) {
          this.#assertWritable(name);
        }
        hasWritten ||= isWrite;
        this.commandCount++;
        return this.#runOnData([name, ...rest], client);
      } catch (error) {
        if (!(error instanceof ErrorReply)) throw error;
        const line = source.split('\n').findIndex((text) => text.includes(`call('${name}'`)) + 1;
        throw new ErrorReply(`${error.message} script: ${sha}, on @user_script:${line}.`);
      }
    };
    return {
      call,
      count: (...words) => call(...words) as number,
      text: (...words) => (call(...words) as string | null) ?? undefined,
      texts: (...words) => call(...words) as readonly string[],
    };
  }

  /** Returns the error of each command of a trial of rights, or an empty string. */
  #tryRights(args: readonly string[]): Value {
    const replies: string[] = [];
    for (let at = 0; at < args.length; ) {
      const end = at + 1 + Number(args[at]);
      const name = args[at + 1]!;
      const isWrite = DATA_COMMANDS[name]?.isWrite ?? name === 'SPUBLISH';
      replies.push(isWrite ? NOT_IN_SCRIPT : '');
      at = end;
    }
    return replies;
  }

  loadScript(source: string): string {
    const sha = shaOf(source);
    this.#scripts.set(sha, source);
    return sha;
  }
}

/** Returns a script that sends the reply to commands of this name: the next `count`, or all. */
export function replying(name: string, reply: FakeReply, count = Number.POSITIVE_INFINITY): Script {
  let left = count;
  return ([word]) => (word === name && left-- > 0 ? reply : undefined);
}

/** A connection of a client. */
export class Client {
  readonly id: number;
  readonly end: ServerEnd;
  name = '';
  readonly channels = new Set<string>();
  /** Whether the next command is for a slot that is being imported. */
  isAsking = false;
  /** Offset of its last change in the replication. */
  offset = 0;
  /**
   * Whether a command had no reply. Replies are in order, so no later command has one either.
   */
  isSilent = false;
  readonly #reader: ReplyReader;
  readonly #onCommand: (words: readonly string[]) => void;
  #onUnblocked: ((reply: FakeReply) => void) | undefined;
  #waiting: (readonly string[])[] = [];
  #output: string[] = [];
  #isReading = false;

  constructor(id: number, end: ServerEnd, onCommand: (words: readonly string[]) => void) {
    this.id = id;
    this.end = end;
    this.#onCommand = onCommand;
    this.#reader = new ReplyReader((command) => {
      const words = replyValue(command);
      if (!Array.isArray(words)) return;
      this.#waiting.push(words.map(String));
    });
  }

  get addressText(): string {
    return addressText(this.end.clientAddress);
  }

  /** Executes the commands; their replies are sent in one write. */
  read(bytes: Buffer): void {
    this.#reader.read(bytes, bytes.length);
    this.#continue();
  }

  write(reply: FakeReply): void {
    this.#output.push(reply);
    if (!this.#isReading) this.#flush();
  }

  /** Executes no more commands until `unblock` is called with the reply. */
  block(onUnblocked: (reply: FakeReply) => void): void {
    this.#onUnblocked = onUnblocked;
  }

  unblock(value: Value): void {
    const onUnblocked = this.#onUnblocked;
    this.#onUnblocked = undefined;
    onUnblocked?.(encoded(value));
    this.#continue();
  }

  #continue(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    let at = 0;
    while (at < this.#waiting.length && this.#onUnblocked === undefined && !this.end.isClosed) {
      this.#onCommand(this.#waiting[at++]!);
    }
    this.#waiting.splice(0, at);
    this.#isReading = false;
    this.#flush();
  }

  #flush(): void {
    if (this.#output.length === 0) return;
    const output = this.#output.join('');
    this.#output = [];
    if (output !== '') this.end.write(Buffer.from(output, 'latin1'));
  }
}

type ServerCommand = (
  server: FakeServer,
  words: readonly string[],
  client: Client | undefined,
) => Value | undefined;

/** Commands that are not about data. */
const SERVER_COMMANDS: Readonly<Record<string, ServerCommand>> = {
  AUTH: () => SERVED,
  PING: (_, __, client) => (client?.channels.size ? ['pong', ''] : new Status('PONG')),
  ECHO: (_, [, text = '']) => text,
  SCRIPT: (server, [, word, source = '']) => {
    if (word === 'LOAD') return server.loadScript(source);
    server.flushScripts();
    return SERVED;
  },
  INFO: ({ version, mode, maxMemory, policy, runId }, [, section]) =>
    section === 'memory'
      ? `# Memory\r\nmaxmemory:${maxMemory}\r\nmaxmemory_policy:${policy}\r\n`
      : `# Server\r\nredis_version:${version}\r\nredis_mode:${mode}\r\nrun_id:${runId}\r\n`,
  ROLE: ({ primary, connectedReplicaCount }) => {
    if (primary !== undefined) {
      return ['slave', primary.address.host, primary.port, 'connected', 0];
    }
    const replicas = Array.from({ length: connectedReplicaCount }, () => ['h', '1', '0']);
    return ['master', 0, replicas];
  },
  SCAN: ({ data }, [, cursor = '', , pattern = '', , count = '10']) =>
    scanKeys(data, cursor, pattern, Number(count)),
  FLUSHALL: ({ data }) => {
    data.clear();
    return SERVED;
  },
  TIME: ({ now }) => [`${Math.floor(now / 1000)}`, `${Math.round((now % 1000) * 1000)}`],
  CLIENT: clientCommand,
  CONFIG: (server, [, word, ...words]) => {
    if (word === 'SET') return configure(server, words);
    const { settings } = server;
    return words.flatMap((name) => (name in settings ? [name, settings[name]!] : []));
  },
  WAIT: ({ replication, replicaCount }, [, count, timeoutMs], client) =>
    replication.wait(client, Number(count) - replicaCount, Number(timeoutMs)),
  ASKING: (_, __, client) => {
    if (client !== undefined) client.isAsking = true;
    return SERVED;
  },
  CLUSTER: (server, words) => {
    const { cluster } = server;
    if (cluster === undefined)
      throw new ErrorReply('ERR This instance has cluster support disabled');
    return cluster.command(server, words);
  },
  SUBSCRIBE: (_, [, channel = ''], client) => {
    client?.channels.add(channel);
    return ['subscribe', channel, 1];
  },
  SSUBSCRIBE: (server, [, channel = ''], client) => {
    server.cluster?.assertChannelHere(server, channel);
    client?.channels.add(channel);
    return ['ssubscribe', channel, client?.channels.size ?? 0];
  },
  SPUBLISH: (server, [, channel = '', text = '']) => server.publish('smessage', channel, text),
};

/** Of the patterns those whose `*` are the second character and the last one. */
function scanKeys(data: FakeData, cursor: string, pattern: string, count: number): Value {
  const source = pattern
    .replace(/[.+^$(){}|]/g, '\\$&')
    .replace(/^\\{\*\\}/, '\\{[^]*\\}')
    .replace(/\*$/, '[^]*');
  const isOne = new RegExp(`^${source}$`, 's');
  const [next, found] = scanTable(data.names, data.runName, Number(cursor), count);
  return [next, found.filter((key) => isOne.test(key))];
}

/** Executes CONFIG SET for the limits that make a server refuse changes. */
function configure(server: FakeServer, [name, value = '']: readonly string[]): Value {
  if (name === 'maxmemory') server.isOutOfMemory = value !== '0';
  else if (name === 'min-replicas-to-write') {
    server.refusal = server.connectedReplicaCount < Number(value) ? NO_REPLICAS : undefined;
  } else throw new ErrorReply(`ERR Unknown option '${name}'`);
  return SERVED;
}

function clientCommand(
  server: FakeServer,
  [, word, ...more]: readonly string[],
  client: Client | undefined,
): Value {
  if (word === 'INFO') return client === undefined ? '' : lineOf(client);
  if (word === 'LIST') return [...server.clients].map((each) => `${lineOf(each)}\n`).join('');
  if (word === 'KILL') {
    const [by, value, , address] = more;
    const found = [...server.clients].filter((each) =>
      by === 'TYPE'
        ? each.channels.size > 0 === (value === 'pubsub')
        : `${each.id}` === value && each.addressText === address,
    );
    for (const each of found) {
      each.end.close();
      server.clients.delete(each);
    }
    return found.length;
  }
  if (word === 'SETNAME' && client !== undefined) client.name = more[0] ?? '';
  return SERVED;
}

function lineOf({ id, addressText: address, name }: Client): string {
  return `id=${id} addr=${address} laddr=127.0.0.1:1 fd=8 name=${name} age=0 idle=0`;
}

function unknownCommand(name: string): ErrorReply {
  return new ErrorReply(`ERR unknown command '${name}', with args beginning with: `);
}

/** Whether the command is a trial of the engine's rights. */
function isTrial([name, argument = '', keyCount]: readonly string[]): boolean {
  return name === 'EVALSHA' ? keyCount === '0' : argument.endsWith(':rights');
}

export function encoded(value: Value): FakeReply {
  if (typeof value === 'number') return `:${value}\r\n`;
  if (typeof value === 'string') return bulk(value);
  if (value === null) return NIL_REPLY;
  if (value instanceof Status) return `+${value.text}\r\n`;
  return array(value.map(encoded));
}

/** `text`: a character per byte. */
export function bulk(text: string): FakeReply {
  return `$${text.length}\r\n${text}\r\n`;
}

export function array(items: readonly FakeReply[]): FakeReply {
  return `*${items.length}\r\n${items.join('')}`;
}
