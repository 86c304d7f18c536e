/**
 * A connection for rare queries about the servers, not for data. Each query returns a promise of
 * the reply as a value, which the caller validates. Queries may be made at once; they are sent
 * after the login. Tested by sentinel-majority.spec.ts.
 */

import type { ServerAddress } from '../../base/server-address.ts';
import { header } from './command-buffer.ts';
import { type ConnectionOptions, RedisConnection } from './redis-connection.ts';
import { ANY_KIND, ARRAY, ERROR, INTEGER, NIL, type Reply } from './reply.ts';

/**
 * A reply: text with a character per byte (latin1), a number, an array, null for nil, or an error.
 */
export type ReplyValue = string | number | null | ServerError | readonly ReplyValue[];

/** An error reply of a server. */
export class ServerError extends Error {}

export class ControlConnection {
  readonly address: ServerAddress;
  readonly #connection: RedisConnection;
  /** Why the connection has ended; undefined while it is open. */
  #reason: Error | undefined;

  /**
   * `onMessage` is called for messages of subscribed channels. `onEnded` is not called after `end`.
   */
  constructor(
    address: ServerAddress,
    options: ConnectionOptions,
    { onMessage, onEnded }: { onMessage?(): void; onEnded?(reason: Error): void } = {},
  ) {
    this.address = address;
    this.#connection = new RedisConnection(address, options, {
      onReady: () => {},
      onEnded: (reason) => {
        this.#reason = reason;
        onEnded?.(reason);
      },
      ...(onMessage !== undefined && { onMessage: () => onMessage() }),
    });
  }

  get isEnded(): boolean {
    return this.#reason !== undefined;
  }

  /** Sends a command. Rejects with ServerError, or with the reason why the connection has ended. */
  ask(...words: readonly (string | Buffer)[]): Promise<ReplyValue> {
    if (this.#reason !== undefined) return Promise.reject(this.#reason);
    const { commands } = this.#connection;
    const start = commands.length;
    commands.begin(header(words.length));
    for (const word of words) commands.bytes(typeof word === 'string' ? Buffer.from(word) : word);
    return new Promise((resolve, reject) => {
      this.#connection.expect(start, {
        replyKinds: ANY_KIND,
        onReply: (reply) => {
          const value = replyValue(reply);
          if (value instanceof ServerError) reject(value);
          else resolve(value);
        },
        onLost: () => reject(this.#reason ?? new Error('the connection has ended')),
      });
    });
  }

  end(): void {
    this.#reason ??= new Error('the connection has ended');
    this.#connection.end();
  }
}

/**
 * Converts the reply from its current node on. Afterwards the current node is the last one of the
 * value.
 */
export function replyValue(reply: Reply): ReplyValue {
  const { kind, integer } = reply;
  if (kind === INTEGER) return integer;
  if (kind === NIL) return null;
  if (kind === ERROR) return new ServerError(reply.text);
  if (kind !== ARRAY) return reply.text;
  const values: ReplyValue[] = [];
  for (let index = 0; index < integer; index++) values.push(replyValue(reply.next()));
  return values;
}
