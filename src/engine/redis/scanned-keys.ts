/**
 * Scans the keys of all primaries, in short steps. A scan is complete only within one run of a server,
 * and while no slot moves to another server. So it begins anew if its connection was replaced or a
 * partition has another primary at its end. A key that moves while its slot is still migrating may be
 * missed. Tested by scanned-names.spec.ts.
 */
import { header } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { AWAY, type Failure } from './failure.ts';
import type { Layout } from './layout.ts';
import type { Operation } from './operation.ts';
import type { Primary } from './primary.ts';
import { ARRAY, BULK, kindSet, type Reply } from './reply.ts';
import { READ, runStep } from './run-step.ts';
import type { Servers } from './servers.ts';

/** Maximum number of times that the keys are scanned in a call. */
const SCANS_MAX = 5;
/** Number of keys that one SCAN looks at. */
const KEYS_PER_SCAN = 500;
const SCAN = header(6, 'SCAN');
const MATCH = Buffer.from('MATCH');
const COUNT_WORD = Buffer.from('COUNT');

export interface KeyScanOptions {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  readonly servers: Pick<Servers, 'primaryOf'>;
}

/** The ends of a scan: its keys may have moved meanwhile, or it is complete. */
const MOVED = 'moved';
const COMPLETE = 'complete';

interface ScanStep {
  readonly cursor: string;
  /** The connection that it was read from. */
  readonly connection: Operation['connection'];
}

/**
 * Passes each key that matches the pattern at least once; its bytes are valid during the call. Resolves
 * with the reason if it fails.
 */
export async function scanKeys(
  options: KeyScanOptions,
  pattern: Buffer,
  onKey: (key: Buffer) => void,
): Promise<Failure | undefined> {
  for (let left = SCANS_MAX; left > 0; left--) {
    const primaries = primariesOf(options);
    const firsts = new Map(primaries.map((primary, partition) => [primary, partition]));
    const scans = [...firsts.values()].map((partition) => scan(options, pattern, onKey, partition));
    const ends = await Promise.all(scans);
    const failure = ends.find((end) => end !== MOVED && end !== COMPLETE);
    if (failure !== undefined) return failure;
    const isSame = primariesOf(options).every((each, partition) => each === primaries[partition]);
    if (isSame && !ends.includes(MOVED)) return undefined;
  }
  return AWAY;
}

/** Returns the primary of each partition. */
function primariesOf({ layout, servers }: KeyScanOptions): (Primary | undefined)[] {
  return Array.from({ length: layout.partitionCount }, (_, partition) =>
    servers.primaryOf(layout.slotOf(partition)),
  );
}

/** Scans all keys of the primary of the partition. */
async function scan(
  options: KeyScanOptions,
  pattern: Buffer,
  onKey: (key: Buffer) => void,
  partition: number,
): Promise<Failure | typeof MOVED | typeof COMPLETE> {
  let connection: Operation['connection'];
  let cursor = '0';
  do {
    const step = await scanStep(options, pattern, onKey, partition, cursor);
    if (typeof step === 'number') return step;
    connection ??= step.connection;
    if (step.connection !== connection) return MOVED;
    cursor = step.cursor;
  } while (cursor !== '0');
  return COMPLETE;
}

function scanStep(
  { dispatcher }: KeyScanOptions,
  pattern: Buffer,
  onKey: (key: Buffer) => void,
  partition: number,
  cursor: string,
): Promise<ScanStep | Failure> {
  return new Promise((resolve) => {
    runStep<ScanStep>(dispatcher, {
      partition,
      traits: READ,
      reading: {
        replyKinds: kindSet(ARRAY),
        read: (reply, { connection }) => ({ cursor: readKeys(reply, onKey), connection }),
      },
      write: (commands) => {
        commands.begin(SCAN);
        commands.text(cursor);
        commands.bytes(MATCH);
        commands.bytes(pattern);
        commands.bytes(COUNT_WORD);
        commands.number(KEYS_PER_SCAN);
      },
      onDone: resolve,
      onFailed: resolve,
    });
  });
}

/** Passes the keys in the reply. Returns the next cursor. */
function readKeys(reply: Reply, onKey: (key: Buffer) => void): string {
  const cursor = reply.next().text;
  for (reply.next(); reply.next().kind === BULK; ) {
    const { bytes, start, end } = reply.bytes;
    onKey(bytes.subarray(start, end));
  }
  return cursor;
}
