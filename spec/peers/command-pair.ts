/** Sends each command to a fake server and to a real one. */
import {
  type ControlConnection,
  type ReplyValue,
  ServerError,
} from '../../src/engine/redis/control-connection.ts';
import { ErrorReply, Status, type Value } from '../world/fake-data.ts';
import type { FakeServer } from '../world/fake-server.ts';
import { controlTo } from './server-group.ts';

const DEADLINE_MS = 20_000;

/** A reply that can be compared. An error is its text without the place in a script. */
export type PlainReply = string | number | null | PlainReply[];

export class CommandPair {
  count = 0;
  readonly #fake: FakeServer;
  readonly #control: ControlConnection;

  /** `port` is that of the real server. */
  constructor(fake: FakeServer, port: number) {
    this.#fake = fake;
    this.#control = controlTo(port, DEADLINE_MS);
  }

  /** Resolves with the replies of the fake server and of the real one. */
  async send(
    words: readonly string[],
    realWords: readonly string[] = words,
  ): Promise<[PlainReply, PlainReply]> {
    this.count++;
    this.#fake.world.clock.setWall(Date.now());
    const bytes = realWords.map((word) => Buffer.from(word, 'latin1'));
    const replied = this.#control.ask(...bytes).catch((error: unknown) => {
      if (error instanceof ServerError) return error;
      throw error;
    });
    return [plain(this.#run(words)), plainReal(await replied)];
  }

  end(): void {
    this.#control.end();
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
  return `-${text.replace(/user_script:\d+: |user_script: | script: .*$/gs, '')}`;
}
