/**
 * A program that uses every public symbol. It compiles with and without the types of Node. Run from the
 * sources by every-symbol.spec.ts, and from the package by peers/package.peers.ts.
 */
import {
  type BackupMade,
  type Bytes,
  type BytesOrText,
  type ChangeConditions,
  type ClusterState,
  ConfigFault,
  type EmbeddedMember,
  ENDPOINT_GROUPS,
  type EndpointGroup,
  ERRORS,
  type ErrorCode,
  type GivingUp,
  GridError,
  type GridLock,
  type GridMap,
  type GridQueue,
  type GroupName,
  type ListedEntry,
  type ListedMap,
  type ListeningAt,
  type ListOptions,
  type LoadHistory,
  type LockOptions,
  type LockSignal,
  type LogLine,
  type MapOptions,
  type MapSettings,
  type MemberEvents,
  type MemberInfo,
  type MemberLog,
  type MemberOptions,
  type MemberStatus,
  type NodeState,
  type OfferOptions,
  type PersistenceStatus,
  type PollOptions,
  type ProgramLog,
  type SetOptions,
  type SettledState,
  type StoredBytes,
  type StoredEntry,
  type StoredValue,
  startMember,
} from '../../src/index.ts';

interface Person {
  readonly name: string;
}

/** Starts a member that stores data in these directories; returns a text about each step. */
export async function everySymbol(dataDir: string, backupDir: string): Promise<readonly string[]> {
  const seen: string[] = [];
  const note = (...values: readonly unknown[]) => seen.push(values.map(String).join(' '));
  const line: LogLine = (fields: object | string, message?: string) =>
    void (message ?? String(fields));
  const lines = { debug: line, info: line, warn: line, error: line, fatal: line };
  const memberLog: MemberLog = { level: 'info', isLevelEnabled: () => false, ...lines };
  const log: ProgramLog = { child: () => memberLog };
  const signal: GivingUp = {
    ...{ aborted: false, reason: undefined },
    addEventListener() {},
    removeEventListener() {},
  };
  const on: Partial<MemberEvents> = {
    listening: ({ address, port, healthPort, url }: ListeningAt) =>
      note(address, port > 0, healthPort, url.endsWith('/grid')),
    stopping: (request) => note('stopping', request),
  };
  const [sessions, maxMemory, groups]: [MapSettings, Bytes, GroupName[]] = [
    { timeToLiveSeconds: 60, maxIdleSeconds: 30 },
    '64m',
    ['DATA', 'all'],
  ];
  const options: MemberOptions = {
    ...{ port: 0, dataDir, backupDir, maxMemory, groups, sync: 'always', log, signal, on },
    ...{ maps: { sessions }, queues: { jobs: 1 }, environment: {}, config: { grid: {} } },
  };
  await using member: EmbeddedMember = await startMember(options);
  note(member.address, member.port > 0, member.healthPort, member.url?.startsWith('http://'));

  const map: GridMap = member.map('sessions');
  const key: BytesOrText = 'k';
  const set: SetOptions = { contentType: 'a/b', timeToLiveSeconds: 9, maxIdleSeconds: 9 };
  const etag = await map.set(key, 'v', { ...set, ifNoneMatch: '*' });
  const conditions: ChangeConditions = { ifMatch: etag ?? '' };
  const value: StoredValue | undefined = await map.get(key);
  const bytes: StoredBytes | undefined = map.getSync(key)?.value;
  const entry: StoredEntry | undefined = await map.getEntry(key);
  note(map.name, value?.text(), value?.contentType, bytes?.length, entry?.etag === etag);
  note(entry?.timeToLiveSeconds, entry?.maxIdleSeconds, await map.has(key), await map.size());
  for await (const each of map) note(`${each[0]}`, each[1].text());
  const list: ListOptions = { prefix: 'k' };
  for await (const each of map.keys(list)) note(`${each}`);
  for await (const each of map.entries(list)) noteEntry(each);
  for await (const each of member.maps({ prefix: 's' })) noteMap(each);
  note(await map.delete(key, conditions), map.setSync('n', '1') !== undefined);
  note(await map.add('n', 41n), await map.clear());
  const as: MapOptions<'json'> = { as: 'json' };
  const people = member.map<Person>('people', as);
  await people.set('ada', { name: 'Ada' });
  note(
    (await people.get('ada'))?.name,
    (await member.map('people').get('ada'))?.json<Person>().name,
  );
  note(await member.map('texts', { as: 'text' }).get('none'));

  const queue: GridQueue = member.queue('jobs');
  const [offer, poll]: [OfferOptions, PollOptions] = [{ contentType: 'a/b', signal }, { signal }];
  note(queue.name, await queue.offer('a', offer), await queue.offer('b'), await queue.size());
  const later = queue.offer('b', { waitSeconds: 60 });
  note((await queue.peek())?.text(), (await queue.poll(Number.POSITIVE_INFINITY, poll))?.text());
  for await (const item of queue.items(poll)) {
    note(item.text(), await later);
    break;
  }
  note(await queue.offer('c'), await queue.clear());

  const wanted: LockOptions = { waitSeconds: 1, group: 'g', signal };
  const lock: GridLock = await member.lock('l', wanted);
  const lost: LockSignal = lock.signal;
  note(lock.name, lock.fence > 0, lost.aborted, await lock.release());
  await (await member.lock('l'))[Symbol.asyncDispose]();
  const classes = [member, map, queue, lock, value, entry].map((each) => each?.constructor.name);
  note(classes, GridError.name, ConfigFault.name);

  const frozen: SettledState = 'FROZEN';
  const changed = new Promise<SettledState>((resolve) => member.once('state', resolve));
  const listener: MemberEvents['state'] = () => note('never');
  member.on('state', listener).off('state', listener);
  await member.changeState(frozen);
  const status: MemberStatus = member.status();
  const [state, node]: [ClusterState, NodeState] = [status.cluster.state, status.health.nodeState];
  const members: readonly MemberInfo[] = status.cluster.members;
  const [history, stored]: [LoadHistory, PersistenceStatus | null] = [
    status.history,
    status.persistence,
  ];
  note(await changed, state, node, members.length, history.stepSeconds, stored?.sync);
  const backup: BackupMade = await member.backup();
  note(backup.path.startsWith(backupDir), backup.bytes > 0, backup.seconds >= 0);
  await member.reload();

  const code: ErrorCode = 'STATE_UNCHANGED';
  const error: unknown = await member.changeState(frozen).catch((reason: unknown) => reason);
  if (error instanceof GridError) note(error.name, error.code === code, error.isOutcomeUnknown);
  note(error instanceof GridError && error.status === ERRORS[code].status);
  const fault: unknown = await startMember({ port: 70_000 }).catch((reason: unknown) => reason);
  if (fault instanceof ConfigFault) note(fault.name, fault.code, fault.problems.length);
  const group: EndpointGroup = 'CLUSTER_READ';
  note(ENDPOINT_GROUPS[group], await Promise.race([member.stopRequested, 'serves']));
  member.abort();
  note(member.close() === member.drain());
  return seen;

  function noteEntry({ key, value, length, etag, contentType }: ListedEntry): void {
    note(`${key}`, value?.length, length, etag.length, contentType);
  }

  function noteMap({ name, size, bytes }: ListedMap): void {
    note(`${name}`, size, bytes !== undefined);
  }
}

/** The texts that the program returns. */
export const EVERY_SYMBOL: readonly string[] = [
  '127.0.0.1 true undefined true',
  '127.0.0.1 true undefined true',
  'sessions v a/b 1 true',
  '9 9 true 1',
  'k v',
  'k',
  'k 1 1 18 a/b',
  'sessions 1 true',
  'true true',
  '42 undefined',
  'Ada Ada',
  'undefined',
  'jobs true false 1',
  'a a',
  'b true',
  'true 1',
  'l true false undefined',
  'EmbeddedMember,GridMap,GridQueue,GridLock,StoredValue,StoredEntry GridError ConfigFault',
  'FROZEN FROZEN ACTIVE 1 1 always',
  'true true true',
  'GridError true false',
  'true',
  'ConfigFault CONFIG_INVALID 1',
  'true serves',
  'true',
  'stopping undefined',
];
