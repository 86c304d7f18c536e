/**
 * The names of members' connections, and their end at the servers. What a member had sent before it was cut
 * off or killed may be on its way for minutes: the kernel sends it once it can. A server that ends the
 * connection first drops it.
 */
import { createHash } from 'node:crypto';
import { OutcomeUnknown } from '../../base/errors.ts';
import { addressText } from '../../base/server-address.ts';
import { header } from './command-buffer.ts';
import { type Primary, writeKill } from './primary.ts';
import type { RedisConnection } from './redis-connection.ts';
import { BULK, ERROR, INTEGER, kindSet, type Reply } from './reply.ts';

const CLIENT_LIST = header(4, 'CLIENT', 'LIST', 'TYPE', 'normal');
const LISTED = /^id=(\d+) addr=(\S+) .* name=(\S+) /;
const CLUSTER_DIGITS = 16;

/** What the names of a cluster's connections begin with; the uuid of the member's process follows. */
export function namePrefix(clusterName: string): string {
  const hash = createHash('sha1').update(clusterName).digest('hex').slice(0, CLUSTER_DIGITS);
  return `gridnode:${hash}:`;
}

/**
 * Ends the connections of the members for which `isFormer` returns true, at each primary that is connected;
 * one that is not has lost them. A server that forbids it to this user keeps them. Rejects where the
 * connection to a server is lost meanwhile.
 */
export async function endConnections(
  primaries: Iterable<Primary>,
  prefix: string,
  isFormer: (uuid: string) => boolean,
): Promise<void> {
  await Promise.all(
    [...primaries].map(async ({ reads: { connection } }) => {
      if (connection === undefined) return;
      const listed = await ask(connection, () => connection.commands.begin(CLIENT_LIST));
      const kills = listed.split('\n').flatMap((line) => {
        const [, id = '', address = '', name = ''] = LISTED.exec(line) ?? [];
        const isOne = name.startsWith(prefix) && isFormer(name.slice(prefix.length));
        return isOne ? [ask(connection, () => writeKill(connection, { id, address }))] : [];
      });
      await Promise.all(kills);
    }),
  );
}

/** The reply as text; nothing where it is an error. */
function ask(connection: RedisConnection, write: () => void): Promise<string> {
  if (!connection.isReady) return Promise.reject(lost(connection));
  return new Promise((resolve, reject) => {
    const start = connection.commands.length;
    write();
    connection.expect(start, {
      replyKinds: kindSet(BULK, INTEGER),
      onReply: (reply: Reply) => resolve(reply.kind === ERROR ? '' : reply.text),
      onLost: () => reject(lost(connection)),
    });
  });
}

function lost({ address }: RedisConnection): Error {
  const text = `the connection to the server ${addressText(address)} was lost`;
  return new OutcomeUnknown(new Error(text));
}
