/**
 * The scripts of the cluster's own store for a fake server; see fake-scripts.ts. As in the scripts,
 * numbers of members are decimal digits.
 */
import {
  FORMER_MAX,
  GAP_MS,
  HEARTBEAT_MS,
  PLACES,
  REPLACED_MS,
} from '../../src/cluster/membership-store.ts';
import {
  CHANGE,
  FORGET,
  HEARTBEAT,
  JOIN,
  LAYOUT,
  LEASE,
  LEAVE,
  OUT,
  STOP_ALL,
  VIEW,
} from '../../src/engine/redis/member-scripts.ts';
import type { Script } from '../../src/engine/redis/scripts.ts';
import { ErrorReply, type Value } from './fake-data.ts';
import { nowOf, type ScriptFunction, type ScriptRun } from './script-run.ts';

interface StoredMember {
  readonly uuid: string;
  readonly number: string;
  readonly address: string;
  readonly memberVersion: string;
  readonly isLite: string;
  confirmed: string;
  applied: string;
  readonly place: string;
  seen: string;
  ends: string;
  leaseMs: string;
}

type Select = (member: StoredMember) => boolean;

/** The record during a step. */
class ClusterRecord {
  readonly now: number;
  members: StoredMember[];
  replaced: StoredMember[];
  readonly #run: ScriptRun;
  readonly #key: string;
  readonly #channel: string;

  constructor(run: ScriptRun, key: string, channel: string) {
    this.#run = run;
    this.#key = key;
    this.#channel = channel;
    this.now = nowOf(run);
    this.members = this.list('members');
    this.replaced = this.list('replaced');
  }

  get(field: string): string {
    return this.#run.text('HGET', this.#key, field) ?? '';
  }

  number(field: string): number {
    return Number(this.#run.text('HGET', this.#key, field) ?? 0);
  }

  set(field: string, value: string | number): void {
    this.#run.call('HSET', this.#key, field, value);
  }

  delete(...fields: readonly string[]): void {
    this.#run.call('HDEL', this.#key, ...fields);
  }

  increment(field: string): number {
    return this.#run.count('HINCRBY', this.#key, field, 1);
  }

  list<Item>(field: string): Item[] {
    const json = this.get(field);
    return json === '' ? [] : JSON.parse(json);
  }

  setList(field: string, items: readonly unknown[]): void {
    if (items.length === 0) this.delete(field);
    else this.set(field, JSON.stringify(items));
  }

  hint(): void {
    try {
      this.#run.call('SPUBLISH', this.#channel, '');
    } catch (error) {
      if (!(error instanceof ErrorReply)) throw error;
    }
  }

  save(): void {
    this.setList('members', this.members);
    this.setList('replaced', this.replaced);
  }

  find(uuid: string, joinNumber: string): StoredMember | undefined {
    return this.members.find((each) => each.uuid === uuid && each.number === joinNumber);
  }

  remove(isGone: Select): void {
    const gone = this.members.filter(isGone);
    this.members = this.members.filter((member) => !isGone(member));
    this.#leave(gone);
    this.#release(gone);
  }

  replace(address: string): void {
    const isGone: Select = (member) =>
      member.address === address && this.now - Number(member.seen) >= REPLACED_MS;
    const gone = this.members.filter(isGone);
    this.members = this.members.filter((member) => !isGone(member));
    this.#leave(gone);
    this.replaced.push(...gone);
  }

  releaseReplaced(isGone: Select): void {
    const gone = this.replaced.filter(isGone);
    this.replaced = this.replaced.filter((member) => !isGone(member));
    this.#release(gone);
    if (gone.length > 0) this.hint();
  }

  pass(caller?: StoredMember): void {
    const { ms, server, isMoved } = this.#shiftNow();
    this.set('beaten', this.now);
    if (isMoved) this.set('server', server);
    if (ms !== 0 || isMoved) {
      if (this.get('begun') !== '') this.set('limitEnd', this.number('limitEnd') + ms);
      this.#shift(this.members, ms, isMoved);
      this.#shift(this.replaced, ms, isMoved);
    }
    const isOver: Select = (member) => member !== caller && Number(member.ends) <= this.now;
    this.remove(isOver);
    this.releaseReplaced(isOver);
  }

  /** Time until the end of the member's lease, as `pass` would leave it. */
  leftMs(member: StoredMember): number {
    const { ms, isMoved } = this.#shiftNow();
    return this.#shiftedEnd(member, ms, isMoved) - this.now;
  }

  #shiftNow(): { readonly ms: number; readonly server: string; readonly isMoved: boolean } {
    const gap = this.now - this.number('beaten');
    const ms = gap > GAP_MS ? gap - HEARTBEAT_MS : Math.min(gap, 0);
    const [, server = ''] = /run_id:(\w+)/.exec(`${this.#run.call('INFO', 'server')}`) ?? [];
    return { ms, server, isMoved: server !== this.get('server') };
  }

  #shiftedEnd({ ends, leaseMs }: StoredMember, ms: number, isMoved: boolean): number {
    const shifted = Number(ends) + ms;
    return isMoved ? Math.max(shifted, this.now + Number(leaseMs)) : shifted;
  }

  stop(upTo: number): void {
    if (upTo <= this.number('stopsUpTo')) return;
    this.set('stopsUpTo', upTo);
    if (upTo > this.number('lastJoin')) this.set('lastJoin', upTo);
    this.hint();
  }

  advance(): void {
    this.set('revision', Math.max(this.number('revision') + 1, this.now));
  }

  endLimit(): void {
    this.delete('begun', 'limitEnd');
  }

  out(): Value {
    return [OUT, this.number('stopsUpTo')];
  }

  view(hasText: boolean, first: number): Value[] {
    const begun = this.number('begun');
    return [
      VIEW,
      first,
      this.now,
      this.number('revision'),
      this.get('version'),
      hasText ? this.get('text') : null,
      begun,
      begun > 0 ? this.number('limitEnd') - this.now : 0,
      this.number('stopsUpTo'),
      this.list('gone').length,
      this.replaced.length,
      ...this.members.flatMap((member) => [
        member.uuid,
        Number(member.number),
        member.address,
        member.memberVersion,
        member.isLite,
        Number(member.confirmed),
        Number(member.applied),
      ]),
    ];
  }

  #leave(gone: readonly StoredMember[]): void {
    if (gone.length === 0) return;
    if (this.number('admits') !== 0) {
      this.setList('left', [...this.list('left'), ...gone.map(({ address }) => address)]);
    }
    this.hint();
  }

  #release(gone: readonly StoredMember[]): void {
    if (gone.length === 0) return;
    this.setList('gone', [
      ...this.list('gone'),
      ...gone.map(({ uuid, number }) => `${uuid}:${number}`),
    ]);
  }

  #shift(all: readonly StoredMember[], ms: number, isMoved: boolean): void {
    for (const member of all) {
      member.ends = `${this.#shiftedEnd(member, ms, isMoved)}`;
      member.seen = `${Number(member.seen) + Math.min(ms, 0)}`;
    }
  }
}

function freePlace({ members, replaced }: ClusterRecord, lastJoin: number): number | undefined {
  const taken = new Set([...members, ...replaced].map(({ place }) => Number(place)));
  for (let step = 1; step <= PLACES; step++) {
    const place = (lastJoin + step) % PLACES;
    if (!taken.has(place)) return place;
  }
  return undefined;
}

function obstacleOf(
  record: ClusterRecord,
  { address, version, config }: Readonly<Record<'address' | 'version' | 'config', string>>,
  place: number | undefined,
): string | undefined {
  const { members } = record;
  const stopsUpTo = record.number('stopsUpTo');
  if (members.some(({ number }) => Number(number) <= stopsUpTo)) return 'STOPPING';
  if (members.length > 0) {
    if (version !== record.get('version')) return 'VERSION';
    if (config !== record.get('config')) return 'CONFIG';
    if (members.some((member) => member.address === address)) return 'ADDRESS';
    if (record.number('admits') !== 0 && !record.list('left').includes(address)) return 'STATE';
  }
  return place === undefined || record.list('gone').length >= FORMER_MAX ? 'FULL' : undefined;
}

function join(record: ClusterRecord, args: readonly string[]): Value {
  const [layout = '', uuid = '', address = '', memberVersion = '', isLite = ''] = args;
  const [version = '', leaseMs = '', config = ''] = args.slice(5);
  if (record.get('layout') === '') record.set('layout', layout);
  if (record.get('layout') !== layout) return [LAYOUT, record.get('layout')];
  const isOwn: Select = (member) => member.uuid === uuid;
  record.pass();
  record.remove(isOwn);
  record.releaseReplaced(isOwn);
  record.replace(address);
  const place = freePlace(record, record.number('lastJoin'));
  const obstacle = obstacleOf(record, { address, version, config }, place);
  if (obstacle !== undefined || place === undefined) {
    record.save();
    const other = obstacle === 'CONFIG' ? record.get('config') : null;
    return [obstacle ?? '', record.get('version'), record.number('stopsUpTo'), other];
  }
  if (record.members.length === 0) record.endLimit();
  if (version !== record.get('version')) {
    record.advance();
    record.set('version', version);
  }
  if (config !== record.get('config')) record.set('config', config);
  const left = record.list('left').filter((each) => each !== address);
  record.setList('left', left);
  const joinNumber = record.increment('lastJoin');
  const { now } = record;
  record.members.push({
    ...{ uuid, number: `${joinNumber}`, address, memberVersion, isLite, leaseMs },
    ...{ confirmed: `${record.number('revision')}`, applied: `${record.number('revision')}` },
    place: `${place}`,
    ...{ seen: `${now}`, ends: `${now + Number(leaseMs)}` },
  });
  record.save();
  record.hint();
  const [kind = '', ...rest] = record.view(true, joinNumber);
  return [kind, place, ...rest];
}

function heartbeat(record: ClusterRecord, args: readonly string[]): Value {
  const [uuid = '', joinNumber = '', stopsUpTo = '', leaseMs = '', known = ''] = args;
  const [confirmed = '', applied = ''] = args.slice(5);
  record.stop(Number(stopsUpTo));
  const member = record.find(uuid, joinNumber);
  record.pass(member);
  if (member === undefined) {
    record.save();
    return record.out();
  }
  member.seen = `${record.now}`;
  member.ends = `${record.now + Number(leaseMs)}`;
  member.leaseMs = leaseMs;
  const isKnown = Number(known) === record.number('revision');
  const isNew = isKnown && (member.confirmed !== confirmed || member.applied !== applied);
  if (isNew) Object.assign(member, { confirmed, applied });
  record.save();
  if (isNew) record.hint();
  return record.view(!isKnown, Number(joinNumber));
}

function lease(record: ClusterRecord, [uuid = '', joinNumber = '', known = '']: readonly string[]) {
  const member = record.find(uuid, joinNumber);
  if (member === undefined) return record.out();
  return record.view(Number(known) !== record.number('revision'), record.leftMs(member));
}

function leave(
  record: ClusterRecord,
  [uuid = '', joinNumber = '', stopsUpTo = '']: readonly string[],
) {
  record.stop(Number(stopsUpTo));
  const caller = record.find(uuid, joinNumber);
  record.remove((member) => member === caller);
  record.save();
  return 0;
}

function change(record: ClusterRecord, args: readonly string[]): Value {
  const [uuid = '', joinNumber = '', revision = '', text = '', admits = '', limitMs = ''] = args;
  if (record.find(uuid, joinNumber) === undefined) return record.out();
  const isMade = Number(revision) === record.number('revision');
  if (isMade) {
    record.advance();
    record.set('text', text);
    record.set('admits', admits);
    if (admits === '0') record.delete('left');
    const ms = Number(limitMs);
    if (ms >= 0) record.endLimit();
    if (ms > 0) {
      record.set('begun', record.get('revision'));
      record.set('limitEnd', record.now + ms);
    }
    record.hint();
  }
  return record.view(!isMade, isMade ? 1 : 0);
}

function stopAll(record: ClusterRecord, [uuid = '', joinNumber = '']: readonly string[]): Value {
  if (record.find(uuid, joinNumber) === undefined) return record.out();
  record.stop(record.number('lastJoin'));
  return record.view(false, Number(joinNumber));
}

function forget(record: ClusterRecord, [incarnation = '']: readonly string[]): Value {
  record.setList(
    'gone',
    record.list('gone').filter((each) => each !== incarnation),
  );
  return 0;
}

function step(run: (record: ClusterRecord, args: readonly string[]) => Value): ScriptFunction {
  return (calls, [key = ''], [channel = '', ...args]) =>
    run(new ClusterRecord(calls, key, channel), args);
}

export const MEMBER_FUNCTIONS: readonly (readonly [Script, ScriptFunction])[] = [
  [JOIN, step(join)],
  [HEARTBEAT, step(heartbeat)],
  [LEASE, step(lease)],
  [LEAVE, step(leave)],
  [CHANGE, step(change)],
  [STOP_ALL, step(stopAll)],
  [FORGET, step(forget)],
];
