/**
 * Changes of the maps that have a reference to a replication, by the scripts of marked-scripts.ts. Each
 * change of an entry is one script. Tested by marked-maps.spec.ts.
 */
import { Span } from '../../base/span.ts';
import type { Condition } from '../condition.ts';
import { type Lifetime, type Receiver, TEXT_PLAIN } from '../engine.ts';
import { Version } from '../version.ts';
import type { CommandBuffer } from './command-buffer.ts';
import {
  CLOCK,
  EXPIRIES,
  EXPIRING,
  MAP,
  MARKED,
  SUM,
  TOMBSTONE_ORDER,
  TOMBSTONES,
} from './layout.ts';
import { lifeFrom, restricts, versionBytes, writeCondition } from './map-arguments.ts';
import type { MapChange, MapChanges } from './map-changes.ts';
import {
  ADD_MARKED,
  DELETE_MARKED,
  SET_MARKED,
  SET_MARKED_IF,
  SET_MARKED_ONCE,
} from './marked-scripts.ts';
import type { MarkedMap } from './marking.ts';
import type { Operation } from './operation.ts';
import { setVersion } from './partition-clock.ts';
import type { RedisMapsOptions } from './redis-maps.ts';
import { HeaderWriter } from './stored-value.ts';

/** An entry to be set. */
interface NewEntry {
  readonly map: Span;
  readonly key: Span;
  readonly value: Span;
  readonly contentType: Span;
}

export class MarkedMaps {
  readonly #options: RedisMapsOptions;
  readonly #changes: MapChanges;
  readonly #header = new HeaderWriter();
  /** Number and version of the current change. */
  #number = 0;
  readonly #version = new Version();
  readonly #name = new Span();

  constructor(options: RedisMapsOptions, changes: MapChanges) {
    this.#options = options;
    this.#changes = changes;
  }

  set(
    marked: MarkedMap,
    { map, key, value, contentType }: NewEntry,
    lifetime: Lifetime,
    condition: Condition,
    receiver: Receiver,
  ): void {
    const { dispatcher, layout, time, replicaCount } = this.#options;
    const partition = layout.partitionOf(key);
    const change = this.#changes.begin(receiver, replicaCount(map), condition !== undefined);
    const { publishers } = this.#mark(change, marked, key, false);
    const commands = dispatcher.begin(change, partition);
    if (commands === undefined) return;
    change.subject.version.copyFrom(this.#tick());
    const life = lifeFrom(time.wall(), lifetime);
    const head = this.#header.write(this.#version, life, contentType);
    const isPlain = life.endMs === 0 && !restricts(condition) && !marked.reference.keepsEarlier;
    const { length } = publishers;
    if (isPlain && length === 1) commands.begin(SET_MARKED_ONCE.header);
    else commands.begin((isPlain ? SET_MARKED : SET_MARKED_IF).headerWith(length, length));
    commands.pair(layout.prefix(MAP, partition), map);
    if (isPlain) commands.span(layout.prefix(CLOCK, partition));
    else {
      commands.pair(layout.prefix(EXPIRIES, partition), map);
      commands.span(layout.prefix(EXPIRING, partition));
      this.#writeClockAndTombstones(commands, partition);
    }
    this.#writeMarks(commands, change.subject, partition);
    commands.span(key);
    commands.open(head.length + value.length);
    commands.part(head.bytes, 0, head.length, head.view);
    commands.part(value.bytes, value.start, value.end, value.view);
    commands.close();
    if (isPlain) commands.bytes(marked.prefix);
    else {
      commands.number(life.endMs);
      writeCondition(commands, condition);
      commands.span(map);
    }
    commands.number(this.#number);
    if (!isPlain) this.#writeLimits(commands);
    this.#writeRoom(commands, change.subject);
    dispatcher.end(change);
  }

  add(
    marked: MarkedMap,
    map: Span,
    key: Span,
    by: bigint,
    lifetime: Lifetime,
    receiver: Receiver,
  ): void {
    const { dispatcher, layout, time, replicaCount } = this.#options;
    const partition = layout.partitionOf(key);
    const change = this.#changes.beginAddition(receiver, replicaCount(map));
    const { publishers } = this.#mark(change, marked, key, false);
    const commands = dispatcher.begin(change, partition);
    if (commands === undefined) return;
    change.subject.version.copyFrom(this.#tick());
    const life = lifeFrom(time.wall(), lifetime);
    const head = this.#header.write(this.#version, life, TEXT_PLAIN);
    commands.begin(ADD_MARKED.headerWith(publishers.length, publishers.length));
    commands.pair(layout.prefix(MAP, partition), map);
    commands.pair(layout.prefix(EXPIRIES, partition), map);
    commands.span(layout.prefix(EXPIRING, partition));
    commands.span(layout.prefix(SUM, partition));
    this.#writeClockAndTombstones(commands, partition);
    this.#writeMarks(commands, change.subject, partition);
    commands.span(key);
    commands.text(`${by}`);
    commands.bytes(versionBytes([this.#version]));
    commands.span(map);
    commands.open(head.length);
    commands.part(head.bytes, 0, head.length, head.view);
    commands.close();
    commands.number(life.endMs);
    commands.number(this.#number);
    this.#writeLimits(commands);
    this.#writeRoom(commands, change.subject);
    dispatcher.end(change);
  }

  delete(marked: MarkedMap, map: Span, key: Span, condition: Condition, receiver: Receiver): void {
    const { dispatcher, layout, replicaCount } = this.#options;
    const partition = layout.partitionOf(key);
    const change = this.#changes.begin(receiver, replicaCount(map), condition !== undefined);
    const { publishers } = this.#mark(change, marked, key, true);
    const commands = dispatcher.begin(change, partition);
    if (commands === undefined) return;
    this.#tick();
    commands.begin(DELETE_MARKED.headerWith(publishers.length, publishers.length));
    commands.pair(layout.prefix(MAP, partition), map);
    this.#writeClockAndTombstones(commands, partition);
    this.#writeMarks(commands, change.subject, partition);
    commands.span(key);
    writeCondition(commands, condition);
    commands.bytes(versionBytes([this.#version]));
    commands.bytes(marked.prefix);
    commands.number(this.#number);
    this.#writeLimits(commands);
    this.#writeRoom(commands, change.subject);
    dispatcher.end(change);
  }

  /** Selects the publishers that the change of the key is marked for. */
  #mark(
    change: Operation<MapChange>,
    { reference }: MarkedMap,
    key: Span,
    isDelete: boolean,
  ): MapChange {
    const { subject } = change;
    this.#changes.mark(change, isDelete);
    if (!reference.accepts(key)) return subject;
    for (const publisher of reference.publishers) {
      if (publisher.isMarking) subject.publishers.push(publisher);
    }
    return subject;
  }

  /** Sets number and version of the next change. Returns the version. */
  #tick(): Version {
    this.#number = this.#options.marking.nextNumber();
    setVersion(this.#version, this.#number);
    return this.#version;
  }

  #writeClockAndTombstones(commands: CommandBuffer, partition: number): void {
    const { layout } = this.#options;
    commands.span(layout.prefix(CLOCK, partition));
    commands.span(layout.prefix(TOMBSTONES, partition));
    commands.span(layout.prefix(TOMBSTONE_ORDER, partition));
  }

  #writeMarks(commands: CommandBuffer, { publishers }: MapChange, partition: number): void {
    const prefix = this.#options.layout.prefix(MARKED, partition);
    for (const { name } of publishers) commands.pair(prefix, this.#name.set(name, 0, name.length));
  }

  #writeLimits(commands: CommandBuffer): void {
    const { retentionSeconds, count } = this.#options.tombstones.ofChanges;
    commands.number(retentionSeconds);
    commands.number(count);
  }

  #writeRoom(commands: CommandBuffer, { publishers }: MapChange): void {
    for (const { partitionCapacity, refusesWhenFull } of publishers) {
      commands.number(refusesWhenFull ? -partitionCapacity : partitionCapacity);
    }
  }
}
