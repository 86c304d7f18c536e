/** Sends each command to a fake server and to a real one. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  type ReplyValue,
  replyValue,
  ServerError,
} from '../../src/engine/redis/control-connection.ts';
import { ReplyReader } from '../../src/engine/redis/reply.ts';
import { ErrorReply, Status, type Value } from '../world/fake-data.ts';
import type { FakeServer } from '../world/fake-server.ts';

/** A reply that can be compared. An error is its text without the place in a script. */
export type PlainReply = string | number | null | PlainReply[];

export class CommandPair {
  count = 0;
  readonly #fake: FakeServer;
  readonly #socket: Socket;
  #onReply: (reply: ReplyValue) => void = () => {};

  private constructor(fake: FakeServer, socket: Socket) {
    this.#fake = fake;
    this.#socket = socket;
    const reader = new ReplyReader((reply) => this.#onReply(replyValue(reply)));
    socket.on('data', (bytes) => reader.read(bytes, bytes.length));
    socket.setNoDelay(true);
  }

  static async connect(fake: FakeServer, port: number): Promise<CommandPair> {
    const socket = connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    return new CommandPair(fake, socket);
  }

  /** Resolves with the replies of the fake server and of the real one. */
  async send(
    words: readonly string[],
    realWords: readonly string[] = words,
  ): Promise<[PlainReply, PlainReply]> {
    this.count++;
    this.#fake.world.clock.setWall(Date.now());
    const parts = realWords.map((word) => `$${word.length}\r\n${word}\r\n`);
    const replied = new Promise<ReplyValue>((resolve) => {
      this.#onReply = resolve;
    });
    this.#socket.write(`*${realWords.length}\r\n${parts.join('')}`, 'latin1');
    return [plain(this.#run(words)), plainReal(await replied)];
  }

  end(): void {
    this.#socket.destroy();
  }

  #run(words: readonly string[]): Value | ErrorReply {
    try {
      return this.#fake.run(...words);
    } catch (error) {
      if (error instanceof ErrorReply) return error;
      throw error;
    }
  }
}

function plain(value: Value | ErrorReply): PlainReply {
  if (value instanceof ErrorReply) return errorText(value.message);
  if (value instanceof Status) return value.text;
  return typeof value === 'object' && value !== null ? value.map(plain) : value;
}

function plainReal(value: ReplyValue): PlainReply {
  if (value instanceof ServerError) return errorText(value.message);
  return typeof value === 'object' && value !== null ? value.map(plainReal) : value;
}

function errorText(text: string): string {
  return `-${text.replace(/ script: .*$/s, '')}`;
}
