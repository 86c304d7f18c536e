/**
 * Maps in the store: a hash for each partition and, if entries have lifetimes, a sorted set of
 * their expiry times. Plain commands are used where possible; a change with a condition or a
 * lifetime is a script. Tested by redis-engine.spec.ts.
 */
import { Span } from '../../base/span.ts';
import type { Condition } from '../condition.ts';
import { ABSENT, FOUND, type Lifetime, NOBODY, type Receiver, TEXT_PLAIN } from '../engine.ts';
import type { HybridClock } from '../hybrid-clock.ts';
import { Version } from '../version.ts';
import { header } from './command-buffer.ts';
import { type Failure, FOREIGN } from './failure.ts';
import { EXPIRIES, EXPIRING, type Layout, MAP, SUM } from './layout.ts';
import { lifeFrom, restricts, versionBytes, writeCondition } from './map-arguments.ts';
import { type MapChange, MapChanges, type MapChangesOptions } from './map-changes.ts';
import { ADD, DELETE_IF, SET_IF, SET_WITH_END, TOUCH } from './map-scripts.ts';
import { MarkedMaps } from './marked-maps.ts';
import { Operation, OperationPool, type Work } from './operation.ts';
import { BULK, kindSet, NIL, type Reply } from './reply.ts';
import type { ServerTime } from './server-time.ts';
import { HeaderWriter, StoredValue } from './stored-value.ts';

const HGET = header(3, 'HGET');
const HSET = header(4, 'HSET');
const HDEL = header(3, 'HDEL');
/** Minimum interval at which reads postpone the expiry of an entry, in ms. */
const TOUCH_MS = 1000;
const END_BYTES = 6;

export interface RedisMapsOptions extends MapChangesOptions {
  readonly layout: Layout;
  readonly time: ServerTime;
  readonly versions: HybridClock;
  /** Replicas that must have a change of the map. */
  replicaCount(map: Span): number;
}

export class RedisMaps {
  readonly #options: RedisMapsOptions;
  readonly #header = new HeaderWriter();
  readonly #version = new Version();
  readonly #field = new Span();
  readonly #reading: Reading;
  readonly #changing: MapChanges;
  readonly #marked: MarkedMaps;

  constructor(options: RedisMapsOptions) {
    this.#options = options;
    this.#reading = new Reading(options, this);
    this.#changing = new MapChanges(options);
    this.#marked = new MarkedMaps(options, this.#changing);
  }

  get(map: Span, key: Span, receiver: Receiver): void {
    const { dispatcher, layout } = this.#options;
    const partition = layout.partitionOf(key);
    const read = this.#reading.begin(receiver);
    const commands = dispatcher.begin(read, partition);
    if (commands === undefined) return;
    commands.begin(HGET);
    commands.pair(layout.prefix(MAP, partition), map);
    commands.span(key);
    dispatcher.end(read);
  }

  set(
    map: Span,
    key: Span,
    value: Span,
    contentType: Span,
    lifetime: Lifetime,
    condition: Condition,
    receiver: Receiver,
  ): void {
    const { dispatcher, layout, versions, marking } = this.#options;
    const marked = marking.of(map);
    if (marked !== undefined) {
      const entry = { map, key, value, contentType };
      return this.#marked.set(marked, entry, lifetime, condition, receiver);
    }
    const partition = layout.partitionOf(key);
    const change = this.#change(map, condition, receiver);
    const commands = dispatcher.begin(change, partition);
    if (commands === undefined) return;
    const { version } = change.subject;
    versions.tick();
    version.set(versions.low, versions.high);
    const life = lifeFrom(this.#options.time.wall(), lifetime);
    const head = this.#header.write(version, life, contentType);
    const hasEnd = life.endMs !== 0;
    const isChecked = restricts(condition);
    commands.begin(isChecked ? SET_IF.header : hasEnd ? SET_WITH_END.header : HSET);
    commands.pair(layout.prefix(MAP, partition), map);
    const isScript = isChecked || hasEnd;
    if (isScript) commands.pair(layout.prefix(EXPIRIES, partition), map);
    if (isScript) commands.span(layout.prefix(EXPIRING, partition));
    commands.span(key);
    commands.open(head.length + value.length);
    commands.part(head.bytes, 0, head.length, head.view);
    commands.part(value.bytes, value.start, value.end, value.view);
    commands.close();
    if (isScript) commands.number(life.endMs);
    if (isChecked) writeCondition(commands, condition);
    if (isScript) commands.span(map);
    dispatcher.end(change);
  }

  add(map: Span, key: Span, by: bigint, lifetime: Lifetime, receiver: Receiver): void {
    const { dispatcher, layout, versions, marking, replicaCount } = this.#options;
    const marked = marking.of(map);
    if (marked !== undefined) return this.#marked.add(marked, map, key, by, lifetime, receiver);
    const partition = layout.partitionOf(key);
    const change = this.#changing.beginAddition(receiver, replicaCount(map));
    const commands = dispatcher.begin(change, partition);
    if (commands === undefined) return;
    const { version } = change.subject;
    versions.tick();
    version.set(versions.low, versions.high);
    const life = lifeFrom(this.#options.time.wall(), lifetime);
    const head = this.#header.write(version, life, TEXT_PLAIN);
    commands.begin(ADD.header);
    commands.pair(layout.prefix(MAP, partition), map);
    commands.pair(layout.prefix(EXPIRIES, partition), map);
    commands.span(layout.prefix(EXPIRING, partition));
    commands.span(layout.prefix(SUM, partition));
    commands.span(key);
    commands.text(`${by}`);
    commands.bytes(versionBytes([version]));
    commands.span(map);
    commands.open(head.length);
    commands.part(head.bytes, 0, head.length, head.view);
    commands.close();
    commands.number(life.endMs);
    dispatcher.end(change);
  }

  delete(map: Span, key: Span, condition: Condition, receiver: Receiver): void {
    const { dispatcher, layout, marking } = this.#options;
    const marked = marking.of(map);
    if (marked !== undefined) return this.#marked.delete(marked, map, key, condition, receiver);
    const partition = layout.partitionOf(key);
    const change = this.#change(map, condition, receiver);
    const commands = dispatcher.begin(change, partition);
    if (commands === undefined) return;
    const isChecked = restricts(condition);
    commands.begin(isChecked ? DELETE_IF.header : HDEL);
    commands.pair(layout.prefix(MAP, partition), map);
    commands.span(key);
    if (isChecked) writeCondition(commands, condition);
    dispatcher.end(change);
  }

  /**
   * Postpones the expiry of an entry that was read. `command`: the read, with the key of the map
   * and the field.
   */
  touch(partition: number, command: Buffer, stored: StoredValue): void {
    const { dispatcher, layout, time } = this.#options;
    const idleEnd = time.wall() + stored.maxIdleSeconds * 1000;
    const endMs = Math.floor(stored.lastMs === 0 ? idleEnd : Math.min(idleEnd, stored.lastMs));
    if (endMs - stored.endMs < TOUCH_MS) return;
    const [, hash, field] = argumentsOf(command) as [Buffer, Buffer, Buffer];
    const map = hash.subarray(layout.prefix(MAP, partition).length);
    const change = this.#change(Span.of(map), undefined, NOBODY);
    // A slow replica must not let the entry expire.
    change.needReplicas(0);
    const commands = dispatcher.begin(change, partition);
    if (commands === undefined) return;
    const end = Buffer.alloc(END_BYTES);
    end.writeUIntBE(endMs, 0, END_BYTES);
    commands.begin(TOUCH.header);
    commands.bytes(hash);
    commands.pair(layout.prefix(EXPIRIES, partition), this.#field.set(map, 0, map.length));
    commands.bytes(field);
    commands.bytes(versionBytes([this.#version.set(stored.versionLow, stored.versionHigh)]));
    commands.bytes(end);
    commands.number(endMs);
    dispatcher.end(change);
  }

  #change(map: Span, condition: Condition, receiver: Receiver): Operation<MapChange> {
    const replicaCount = this.#options.replicaCount(map);
    return this.#changing.begin(receiver, replicaCount, condition !== undefined);
  }
}

/** Executes gets. */
class Reading implements Work<Receiver> {
  readonly replyKinds = kindSet(BULK, NIL);
  readonly #options: RedisMapsOptions;
  readonly #maps: RedisMaps;
  readonly #reads = new OperationPool<Receiver>(() => this.#new());
  readonly #stored = new StoredValue();

  constructor(options: RedisMapsOptions, maps: RedisMaps) {
    this.#options = options;
    this.#maps = maps;
  }

  begin(receiver: Receiver): Operation<Receiver> {
    const read = this.#reads.take();
    read.subject = receiver;
    return read;
  }

  onResult(reply: Reply, read: Operation<Receiver>): void {
    const { results, time } = this.#options;
    const stored = this.#stored;
    if (reply.kind !== BULK) return this.#deliverAbsent(read);
    if (!stored.read(reply.bytes)) return this.onFailed(FOREIGN, read);
    if (stored.endMs !== 0 && stored.endMs <= time.wall()) return this.#deliverAbsent(read);
    const connection = read.connection!;
    if (stored.maxIdleSeconds !== 0)
      this.#maps.touch(read.partition, connection.copyCommand(), stored);
    const result = results.begin(FOUND, connection).setEntry(stored, time.wall());
    this.#reads.give(read);
    results.deliver(read.subject, result);
  }

  onFailed(failure: Failure, read: Operation<Receiver>): void {
    this.#reads.give(read);
    this.#options.fail(read.subject, failure);
  }

  #new(): Operation<Receiver> {
    const read = new Operation(this.#options.dispatcher, this, NOBODY);
    read.isChange = false;
    read.isRepeatable = true;
    return read;
  }

  #deliverAbsent(read: Operation<Receiver>): void {
    const { results } = this.#options;
    this.#reads.give(read);
    results.deliver(read.subject, results.begin(ABSENT));
  }
}

/** Returns the arguments of a command, its name first. */
function argumentsOf(command: Buffer): Buffer[] {
  const found: Buffer[] = [];
  let at = command.indexOf('\r\n') + 2;
  while (at < command.length) {
    const lineEnd = command.indexOf('\r\n', at);
    const start = lineEnd + 2;
    const end = start + Number(command.toString('latin1', at + 1, lineEnd));
    found.push(command.subarray(start, end));
    at = end + 2;
  }
  return found;
}
