/**
 * Random histories of a cluster on a server whose changes are marked: several members set, delete, count
 * and clear at the same time, and merge changes of another cluster. Whatever waits is read by any
 * member and merged into another data set under LATEST_UPDATE; acknowledgements are lost, late, or of an
 * earlier read. Servers refuse calls and lose replies, so clears fail half-way. At the end both have
 * the same entries: nothing was lost, and nothing that was removed has come back.
 *
 * A second publisher has little room and refuses changes. Its marks are compared with a small model
 * after each change, in rounds in which nothing fails and one change is made at a time.
 */
import assert from 'node:assert/strict';
import type { Random } from '../../../bench/harness.ts';
import {
  APPLIED,
  CONDITION_FAILED,
  FOUND,
  type Lifetime,
  NO_NUMBER,
  REFUSED,
  UNKNOWN,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import { LATEST_UPDATE } from '../../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, type Mutation, makerOf, SET } from '../../../src/engine/mutation.ts';
import { Layout } from '../../../src/engine/redis/layout.ts';
import { setVersion } from '../../../src/engine/redis/partition-clock.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import type { StoredEngine } from '../../../src/engine/stored-engine.ts';
import { Version } from '../../../src/engine/version.ts';
import { CUT, type FakeServer } from '../../world/fake-server.ts';
import { changeOf, merged } from '../changes.ts';
import { allWaiting, publisherOf, referencesTo, type TestPublisher } from '../marked.ts';
import { Asker, type Seen, span } from '../results.ts';
import { eventsOf, sectionOf } from './merge-sections.ts';

const MAPS = ['m', 'map', '1:m'];
const KEYS = ['a', 'b', 'c', 'd', 'e'];
/** Room of the publisher that refuses changes, in each partition. */
const ROOM = 3;
/** Ids of this data set and of the one whose changes it merges. */
const OWN = Buffer.alloc(16, 'w');
const OTHER = Buffer.alloc(16, 'z');
const OUTCOMES = [APPLIED, CONDITION_FAILED, NO_NUMBER, REFUSED, UNKNOWN, UNREACHABLE];

/** A change of a client: its kind is a number below 20. */
interface ChosenChange {
  readonly kind: number;
  readonly map: string;
  readonly key: string;
  readonly lifetime: Lifetime;
}

interface RoundParts {
  readonly random: Random;
  /** The server whose calls may fail. */
  readonly server: Pick<FakeServer, 'script' | 'run'>;
  readonly engines: readonly RedisEngine[];
  readonly target: StoredEngine;
  readonly hasFaults: boolean;
  /** The least lifetime of entries that have one, in ms. */
  readonly lifetimeMs: number;
  now(): number;
  sleep(ms: number): Promise<void>;
}

export class MarkedRound {
  readonly #parts: RoundParts;
  readonly #random: Random;
  readonly #askers: readonly Asker[];
  readonly #layout: Layout;
  readonly #publisher = publisherOf('p');
  readonly #small: TestPublisher;
  /** The marks of the second publisher in each partition, as they must be. */
  readonly #marks: Set<string>[];
  #notMarkedCount = 0;
  #expectedNotMarked = 0;
  #lane = 0;
  /** Number of changes with each outcome. */
  readonly outcomes = new Map<number, number>();

  constructor(parts: RoundParts) {
    const { engines, random, hasFaults } = parts;
    this.#parts = parts;
    this.#random = random;
    this.#askers = engines.map((engine) => new Asker(engine));
    const [first] = engines;
    this.#layout = new Layout('any', first!.partitionCount);
    this.#marks = Array.from({ length: first!.partitionCount }, () => new Set());
    this.#small = publisherOf('small', { partitionCapacity: ROOM, isMarking: !hasFaults });
    for (const engine of engines) {
      engine.setReferences(referencesTo([this.#publisher, this.#small]));
      engine.onNotMarked((publisher) => {
        assert.equal(publisher, this.#small);
        this.#notMarkedCount++;
      });
    }
  }

  async run(steps: number): Promise<void> {
    const { hasFaults, sleep } = this.#parts;
    for (let step = 0; step < steps; step++) {
      const kind = this.#random.below(10);
      if (hasFaults && kind === 0) this.#fail();
      if (kind < 6) await this.#change();
      else if (kind === 6) await this.#merge();
      else if (kind < 9) await this.#send();
      else await sleep(this.#random.below(400));
      if (!hasFaults) await this.#compareMarks(`step ${step}`);
    }
    this.#parts.server.script = () => undefined;
  }

  /** Sends whatever waits, and compares the entries of both. */
  async finish(): Promise<void> {
    const { engines, target } = this.#parts;
    const [engine] = engines;
    for (const change of await this.#read(engine!)) this.#mergeIntoTarget(change);
    const targetAsker = new Asker(target);
    for (const map of MAPS) {
      for (const key of KEYS) {
        const [own, other] = await Promise.all([
          this.#askers[0]!.get(map, key),
          targetAsker.get(map, key),
        ]);
        const [here, there] = [own, other].map(textOf);
        assert.equal(there, here, `${map}/${key}`);
      }
    }
  }

  #chosen<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)]!;
  }

  /** Lets some of the next calls fail. */
  #fail(): void {
    const { server } = this.#parts;
    let left = this.#random.below(12);
    const isCut = this.#random.below(3) === 0;
    server.script = (words) => {
      if (words[0] !== 'EVALSHA' || --left > 0) return undefined;
      if (left < -3) server.script = () => undefined;
      if (!isCut) return '-MISCONF no\r\n';
      server.script = () => undefined;
      server.run(...words);
      return CUT;
    };
  }

  async #change(): Promise<void> {
    if (!this.#parts.hasFaults) {
      this.#small.refusesWhenFull = this.#random.below(2) === 0;
      await this.#oneChange();
      return;
    }
    const count = 1 + this.#random.below(4);
    const changes = Array.from({ length: count }, () => this.#make(this.#chosenChange()));
    for (const { outcome } of await Promise.all(changes)) this.#note(outcome);
  }

  #note(outcome: number): void {
    assert.ok(OUTCOMES.includes(outcome as typeof APPLIED), `outcome ${outcome}`);
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  #chosenChange(): ChosenChange {
    const kind = this.#random.below(20);
    const { lifetimeMs } = this.#parts;
    const timeToLiveMs = lifetimeMs + (lifetimeMs / 2) * this.#random.below(5);
    const lifetime = { timeToLiveMs, maxIdleSeconds: 0 };
    return { kind, map: this.#chosen(MAPS), key: this.#chosen(KEYS), lifetime };
  }

  async #make(change: ChosenChange): Promise<Seen> {
    const { kind, map, key, lifetime } = change;
    const asker = this.#chosen(this.#askers);
    const value = `${this.#random.below(100)}`;
    if (kind === 0) return await asker.clear(map);
    if (kind < 5) return await asker.delete(map, key);
    if (kind < 8) return await asker.set(map, key, value, 'a/type', lifetime);
    if (kind < 10) return await asker.setIf(map, key, value, { isPresent: kind === 8 });
    if (kind < 12) return await asker.add(map, key, 7n);
    return await asker.set(map, key, value);
  }

  /** Makes a change, and compares its outcome with the model. */
  async #oneChange(): Promise<void> {
    const change = this.#chosenChange();
    const { kind, map, key } = change;
    const before = await this.#askers[0]!.get(map, key);
    const isPresent = before.outcome === FOUND;
    const isEmpty = (await this.#askers[0]!.size(map)).count === 0;
    const home = kind === 0 ? map : key;
    const marks = this.#marks[this.#layout.partitionOf(span(home))]!;
    const mark = `${map.length}:${map}${kind === 0 ? '' : key}`;
    let changes = true;
    if (kind === 0) changes = !isEmpty;
    else if (kind < 5) changes = isPresent;
    else if (kind === 8) changes = isPresent;
    else if (kind === 9) changes = !isPresent;
    else if (kind === 10 || kind === 11) changes = !isPresent || before.value !== 'other';
    const isFull = marks.size >= ROOM && !marks.has(mark);
    const { outcome } = await this.#make(change);
    this.#note(outcome);
    if (!changes) {
      assert.equal(outcome, kind < 5 ? APPLIED : kind < 10 ? CONDITION_FAILED : NO_NUMBER);
    } else if (isFull && this.#small.refusesWhenFull) {
      assert.equal(outcome, REFUSED);
      const after = await this.#askers[1]!.get(map, key);
      assert.equal(textOf(after), textOf(before));
    } else {
      assert.equal(outcome, APPLIED);
      if (isFull) this.#expectedNotMarked++;
      else marks.add(mark);
    }
  }

  /** Merges changes of another cluster, which are forwarded. */
  async #merge(): Promise<void> {
    const count = 1 + this.#random.below(4);
    const changes = Array.from({ length: count }, (_, at) => {
      const kind = this.#random.below(12);
      const operation = kind === 0 ? CLEAR : kind < 4 ? DELETE : SET;
      const micros = this.#parts.now() * 1000 + this.#random.below(40_000) - 20_000;
      const change = changeOf(operation, {
        version: setVersion(new Version(), Math.floor(micros) + at),
        key: this.#chosen(KEYS),
        maker: operation === CLEAR ? 0 : makerOf(OTHER),
        value: operation === SET ? 'other' : '',
        expiryMs:
          operation === SET && kind === 5
            ? Math.ceil(this.#parts.now()) + this.#parts.lifetimeMs
            : 0,
      });
      change.name.copyFrom(span(this.#chosen(MAPS)));
      change.path.copyFrom(span(OTHER));
      return change;
    });
    this.#lane = (this.#lane + 1) % 65_536;
    const section = sectionOf(eventsOf(changes), { source: OTHER, lane: this.#lane });
    const engine = this.#chosen(this.#parts.engines);
    let isDone = false;
    // A section that has failed is sent again, to any member.
    for (let left = 5; left > 0 && !isDone; left--) {
      const { outcome } = await engine.mergeSection(section, ({ at }, each) => {
        if (each === APPLIED && !this.#parts.hasFaults) this.#expectMark(changes[at]!);
      });
      isDone = outcome === APPLIED;
    }
    if (!isDone) {
      this.#parts.server.script = () => undefined;
      assert.equal((await engine.mergeSection(section)).outcome, APPLIED);
    }
  }

  #expectMark({ name, key, operation }: Mutation): void {
    const map = name.toBuffer().toString();
    const isClear = operation === CLEAR;
    const marks = this.#marks[this.#layout.partitionOf(isClear ? name : key)]!;
    const mark = `${map.length}:${map}${isClear ? '' : key.toBuffer()}`;
    if (marks.size < ROOM || marks.has(mark)) marks.add(mark);
    else this.#expectedNotMarked++;
  }

  /** Sends what waits in a partition, or a part of it; the acknowledgement may be late or lost. */
  async #send(): Promise<void> {
    const { engines } = this.#parts;
    const partition = this.#random.below(engines[0]!.partitionCount);
    const room = { count: 1 + this.#random.below(20), bytes: 1000 };
    const read = await this.#chosen(engines).readWaiting(this.#publisher, partition, 0, room);
    if (!this.#parts.hasFaults && this.#random.below(3) === 0) {
      for (const engine of engines.slice(0, 1)) await engine.dropWaiting(this.#small, partition);
      this.#marks[partition]!.clear();
    }
    if (read === undefined) {
      assert.ok(this.#parts.hasFaults);
      return;
    }
    if (this.#random.below(3) === 0 && this.#parts.hasFaults) {
      const changes = Array.from({ length: 3 }, () => this.#make(this.#chosenChange()));
      await Promise.all(changes);
    }
    for (const change of read.changes) this.#mergeChange(change);
    if (this.#random.below(4) === 0) return;
    await this.#chosen(engines).acknowledgeMarks(this.#publisher, partition, read.readTo);
  }

  async #read(engine: RedisEngine): Promise<Mutation[]> {
    const waiting = await allWaiting(engine, this.#publisher);
    return waiting.flatMap(({ removal, entry }) =>
      [removal, entry].filter((each) => each !== undefined),
    );
  }

  #mergeChange({ removal, entry }: { removal: Mutation | undefined; entry: Mutation | undefined }) {
    for (const change of [removal, entry]) if (change !== undefined) this.#mergeIntoTarget(change);
  }

  #mergeIntoTarget(change: Mutation): void {
    const { path } = change;
    path.copyFrom(span(Buffer.concat([path.toBuffer(), OWN])));
    change.origin = 2;
    if (change.operation !== CLEAR && change.maker === 0) change.maker = makerOf(OWN);
    merged(this.#parts.target, change, LATEST_UPDATE);
  }

  /** Compares the marks of the second publisher with those that it must have. */
  async #compareMarks(context: string): Promise<void> {
    const counts = await this.#parts.engines[0]!.waitingCounts(
      this.#small,
      this.#marks.map((_, partition) => partition),
    );
    const expected = this.#marks.map(({ size }) => size);
    assert.deepEqual(counts, expected, context);
    assert.equal(this.#notMarkedCount, this.#expectedNotMarked, context);
  }
}

function textOf(seen: Seen): string {
  const { outcome, value, contentType, version, timeToLiveMs } = seen;
  return [outcome, value, contentType, version.high, version.low, timeToLiveMs > 0].join();
}
