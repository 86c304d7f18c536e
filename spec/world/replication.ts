/**
 * The replication of a fake server: each replica is a server that applies the changes in order, in
 * a later turn, and confirms them. A replica that lags applies nothing.
 */
import type { Value } from './fake-data.ts';
import type { Client, FakeServer } from './fake-server.ts';
import type { Channel } from './world.ts';

interface Waiting {
  readonly client: Client;
  readonly count: number;
  readonly offset: number;
}

export class Replication {
  readonly #server: FakeServer;
  #replicas: Replica[] = [];
  #offset = 0;
  #waiting: Waiting[] = [];

  constructor(server: FakeServer) {
    this.#server = server;
  }

  /** Number of connected replicas. */
  get count(): number {
    return this.servers.filter(({ isStopped }) => !isStopped).length;
  }

  get servers(): FakeServer[] {
    return this.#replicas.map(({ server }) => server);
  }

  /** Makes the server a replica, with a copy of the data. */
  connect(server: FakeServer): void {
    server.primary = this.#server;
    server.data.copyFrom(this.#server.data);
    this.#replicas.push(new Replica(server, this.#offset, () => this.#onConfirmed()));
  }

  /** The server is no replica any more, and is a primary with the data that it has. */
  disconnect(server: FakeServer): void {
    server.primary = undefined;
    this.#replicas = this.#replicas.filter((replica) => replica.server !== server);
  }

  /** Lets the replica apply nothing, or everything again. */
  lag(server: FakeServer, isLagging: boolean): void {
    this.#replicas.find((replica) => replica.server === server)?.lag(isLagging);
  }

  /** Copies the data to the replicas, after a change that is no command. */
  copy(): void {
    for (const replica of this.#replicas) replica.copyFrom(this.#server, this.#offset);
  }

  /** Sends a change to the replicas. Returns its offset. */
  add(words: readonly string[]): number {
    this.#offset++;
    for (const replica of this.#replicas) replica.add(words);
    return this.#offset;
  }

  /** Executes WAIT: undefined if the reply follows later. */
  wait(client: Client | undefined, count: number, timeoutMs: number): Value | undefined {
    const offset = client?.offset ?? this.#offset;
    const confirmed = this.#countAt(offset);
    if (confirmed >= count || client === undefined) return this.#total(confirmed);
    const waiting = { client, count, offset };
    this.#waiting.push(waiting);
    this.#server.world.clock.after(timeoutMs, () => {
      if (this.#waiting.includes(waiting)) this.#end(waiting);
    });
    return undefined;
  }

  #total(confirmed: number): number {
    return this.#server.replicaCount + confirmed;
  }

  #countAt(offset: number): number {
    return this.#replicas.filter((replica) => replica.offset >= offset).length;
  }

  #onConfirmed(): void {
    for (const waiting of [...this.#waiting]) {
      if (this.#countAt(waiting.offset) >= waiting.count) this.#end(waiting);
    }
  }

  #end(waiting: Waiting): void {
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
    waiting.client.unblock(this.#total(this.#countAt(waiting.offset)));
  }
}

class Replica implements Channel {
  readonly server: FakeServer;
  /** Offset of the last change that it has. */
  offset: number;
  readonly #onConfirmed: () => void;
  #changes: (readonly string[])[] = [];
  #isLagging = false;

  constructor(server: FakeServer, offset: number, onConfirmed: () => void) {
    this.server = server;
    this.offset = offset;
    this.#onConfirmed = onConfirmed;
  }

  add(words: readonly string[]): void {
    this.#changes.push(words);
    this.server.world.add(this);
  }

  lag(isLagging: boolean): void {
    this.#isLagging = isLagging;
    this.server.world.add(this);
  }

  copyFrom({ data }: FakeServer, offset: number): void {
    this.server.data.copyFrom(data);
    this.#changes = [];
    this.offset = offset;
  }

  deliver(): void {
    const { isStopped, primary } = this.server;
    if (this.#isLagging || isStopped || primary === undefined) return;
    for (const words of this.#changes) this.server.data.run(words);
    this.offset += this.#changes.length;
    this.#changes = [];
    this.#onConfirmed();
  }
}
