/**
 * The names of members' connections, and how they are ended at the servers. A command that a member
 * sent before it was cut off or killed can be in transit for minutes, until the kernel can send it.
 * A server that has ended the connection discards it. Tested by redis-membership-store.spec.ts.
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

/**
 * Returns the prefix of the names of a cluster's connections; the uuid of the member's process
 * follows it.
 */
export function namePrefix(clusterName: string): string {
  const hash = createHash('sha1').update(clusterName).digest('hex').slice(0, CLUSTER_DIGITS);
  return `gridnode:${hash}:`;
}

/**
 * Ends the connections of the members for which `isFormer` returns true, at each connected primary;
 * one that is not connected has lost them. A server that does not permit this to the user keeps
 * them open. Rejects if the connection to a server is lost meanwhile.
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

/** Resolves with the reply as text; empty if it is an error. */
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
