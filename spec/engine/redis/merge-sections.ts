/**
 * Random sections of WAN batches, merged by two members of a cluster on servers and, as the oracle,
 * by StoredEngine.merge. Sections are repeated, arrive late, at another member, or at both members at
 * the same time; sources begin epochs. Each event must be merged once, with the outcome that the
 * oracle has for it, and after each section the entries must be equal.
 */
import assert from 'node:assert/strict';
import type { Random } from '../../../bench/harness.ts';
import { APPLIED, KNOWN, OUTDATED, type Outcome, UNREACHABLE } from '../../../src/engine/engine.ts';
import {
  EXPIRATION_TIME,
  LATEST_UPDATE,
  type MergePolicy,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, type Mutation, SET } from '../../../src/engine/mutation.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import type {
  SectionResult,
  SourceEvent,
  SourceSection,
} from '../../../src/engine/section-merger.ts';
import type { StoredEngine } from '../../../src/engine/stored-engine.ts';
import { Version } from '../../../src/engine/version.ts';
import { changeOf, merged } from '../changes.ts';
import { publisherOf, referencesTo } from '../marked.ts';
import { Asker, span } from '../results.ts';
import { copyOf } from '../sinks.ts';

const POLICIES: readonly MergePolicy[] = [
  PASS_THROUGH,
  PUT_IF_ABSENT,
  LATEST_UPDATE,
  LATEST_UPDATE,
  EXPIRATION_TIME,
];
const MAPS = ['m', 'map', '7:x'];
const KEYS = ['a', 'b', 'c', 'd', 'a:b'];
const VALUES = ['', 'x', 'y', 'xy'];
const TYPES = ['', 'text/plain', 'a/type'];
/** Makers of versions; 0 is the cluster itself. */
const MAKERS = [0, 0x01010101, -7];
const LANES = [0, 1, 65_535];
/** Versions are chosen among this many, so that equal ones are common. */
const VERSIONS = 40;

export interface SentEvent extends SourceEvent {
  readonly change: Mutation;
}

export interface Section extends SourceSection {
  readonly events: readonly SentEvent[];
}

type Fields = Partial<Omit<Section, 'events' | 'load'>>;

/** Returns a section; by default the first one of a lane of a queue. */
export function sectionOf(events: readonly SentEvent[], fields: Fields = {}): Section {
  return {
    source: Buffer.alloc(16, 's'),
    publisher: Buffer.alloc(32, 'p'),
    lane: 0,
    epoch: 1,
    syncBegan: new Version(),
    firstNumber: events[0]?.number ?? 1,
    events,
    load({ at }, change) {
      copyInto(change, events[at]!.change);
    },
    ...fields,
  };
}

/** Returns events of these changes with rising numbers. */
export function eventsOf(
  changes: readonly Mutation[],
  firstNumber = 1,
  policy: MergePolicy = LATEST_UPDATE,
): SentEvent[] {
  return changes.map((change, at) => ({ change, at, policy, number: firstNumber + at }));
}

function copyInto(change: Mutation, from: Mutation): void {
  for (const name of ['name', 'key', 'value', 'contentType', 'version', 'path'] as const) {
    (change[name] as Version).copyFrom(from[name] as Version);
  }
  const { operation, expiryMs, maxIdleSeconds, maker } = from;
  Object.assign(change, { operation, expiryMs, maxIdleSeconds, maker });
}

interface RoundParts {
  readonly random: Random;
  readonly engines: readonly RedisEngine[];
  readonly oracle: StoredEngine;
  /** Present time in ms since 1970, by the servers and the oracle. */
  now(): number;
  /** Interval of the expiry times, in ms. */
  readonly expiryStepMs: number;
  /** Passes about half of that time. */
  pass(): Promise<void>;
}

/** One lane of a source. */
interface LaneState {
  readonly source: number;
  readonly lane: number;
  readonly isSync: boolean;
  epoch: number;
  nextNumber: number;
  readonly sent: Section[];
}

export class MergeRound {
  readonly #parts: RoundParts;
  readonly #random: Random;
  readonly #lanes: LaneState[] = [];
  readonly #asker: Asker;
  readonly #oracleAsker: Asker;
  readonly #baseMs: number;
  /** Events of which the oracle has an outcome, by section and number. */
  readonly #merged = new Set<string>();
  /** Number of events with each outcome. */
  readonly outcomes = new Map<number, number>();

  constructor(parts: RoundParts) {
    this.#parts = parts;
    this.#random = parts.random;
    this.#baseMs = parts.now();
    this.#asker = new Asker(parts.engines[0]!);
    this.#oracleAsker = new Asker(parts.oracle);
    // In half of the rounds the maps have references: merges then keep paths, and mark keys.
    if (this.#random.below(2) === 0) {
      const references = referencesTo([publisherOf('p'), publisherOf('q')]);
      for (const engine of parts.engines) engine.setReferences(references);
    }
    for (const source of [0, 1]) {
      for (const lane of LANES) {
        for (const isSync of [false, true]) {
          this.#lanes.push({ source, lane, isSync, epoch: 1, nextNumber: 1, sent: [] });
        }
      }
    }
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      const choice = this.#random.below(12);
      const lane = this.#chosen(this.#lanes);
      if (choice < 5) await this.#sendNew(lane);
      else if (choice < 6) await this.#sendTwice(lane);
      else if (choice < 8) await this.#repeat(lane);
      else if (choice < 9) await this.#extend(lane);
      else if (choice < 10) await this.#sendLate(lane);
      else if (choice < 11) this.#beginEpoch(lane);
      else await this.#parts.pass();
      await this.#passExpiry();
      await this.#compareEntries(`step ${step}`);
    }
  }

  /** No entry expires while a section is merged, as the time of that would depend on the engine. */
  async #passExpiry(): Promise<void> {
    const { now, expiryStepMs, pass } = this.#parts;
    if (now() % expiryStepMs > expiryStepMs / 2) await pass();
  }

  #chosen<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)]!;
  }

  #version(): Version {
    const ms = this.#baseMs + this.#random.below(2);
    const counter = this.#random.below(VERSIONS);
    return new Version().set((ms % 2 ** 16) * 2 ** 16 + counter, Math.floor(ms / 2 ** 16));
  }

  #change(): Mutation {
    const kind = this.#random.below(30);
    const operation = kind === 0 ? CLEAR : kind < 9 ? DELETE : SET;
    const { expiryStepMs } = this.#parts;
    const last = Math.floor(this.#parts.now() / expiryStepMs) + 1 + this.#random.below(3);
    const change = changeOf(operation, {
      version: this.#version(),
      key: this.#chosen(KEYS),
      maker: operation === CLEAR ? 0 : this.#chosen(MAKERS),
      ...(operation === SET
        ? {
            value: this.#chosen(VALUES),
            contentType: this.#chosen(TYPES),
            expiryMs: this.#random.below(3) === 0 ? last * expiryStepMs : 0,
            maxIdleSeconds: this.#random.below(5) === 0 ? 1_000_000 : 0,
          }
        : {}),
    });
    change.name.copyFrom(span(this.#chosen(MAPS)));
    change.path.copyFrom(span('0123456789abcdef'));
    return change;
  }

  #events(lane: LaneState): SentEvent[] {
    const count = 1 + this.#random.below(8);
    return Array.from({ length: count }, (_, at) => {
      const number = lane.nextNumber + this.#random.below(3);
      lane.nextNumber = number + 1;
      return { number, at, policy: this.#chosen(POLICIES), change: this.#change() };
    });
  }

  #section(lane: LaneState, events: readonly SentEvent[], fields: Fields = {}): Section {
    const section = sectionOf(events, {
      source: Buffer.alloc(16, lane.source),
      lane: lane.lane,
      epoch: lane.epoch,
      syncBegan: lane.isSync ? this.#version() : new Version(),
      ...fields,
    });
    lane.sent.push(section);
    return section;
  }

  async #sendNew(lane: LaneState): Promise<void> {
    await this.#send(this.#section(lane, this.#events(lane)), this.#chosen(this.#parts.engines));
  }

  async #sendTwice(lane: LaneState): Promise<void> {
    const section = this.#section(lane, this.#events(lane));
    const seen = new Map<number, Outcome>();
    const note = ({ number }: SourceEvent, outcome: Outcome | 0) => {
      const event = section.events.find((each) => each.number === number)!;
      if (outcome === 0) return;
      // A clear has no number of its own: the other member finds it known.
      if (event.change.operation === CLEAR && seen.get(number) === APPLIED) return;
      assert.ok(event.change.operation === CLEAR || !seen.has(number), 'an event merged twice');
      seen.set(number, outcome);
    };
    const { engines } = this.#parts;
    const results = await Promise.all(engines.map((each) => each.mergeSection(section, note)));
    for (const { outcome } of results) assert.equal(outcome, APPLIED);
    for (const event of section.events) this.#compare(section, event, seen.get(event.number)!);
  }

  /** Sends the latest section again. */
  async #repeat({ sent }: LaneState): Promise<void> {
    const last = sent.at(-1);
    if (last !== undefined) await this.#send(last, this.#chosen(this.#parts.engines));
  }

  /** Sends the latest section again, with more events. */
  async #extend(lane: LaneState): Promise<void> {
    const last = lane.sent.at(-1);
    if (last === undefined || last.epoch !== lane.epoch) return;
    const more = this.#events(lane);
    const events = [...last.events, ...more].map((event, at) => ({ ...event, at }));
    const { syncBegan, firstNumber } = last;
    const section = this.#section(lane, events, { syncBegan, firstNumber });
    await this.#send(section, this.#chosen(this.#parts.engines));
  }

  /** Sends any earlier section again: nothing of it is merged. */
  async #sendLate({ sent }: LaneState): Promise<void> {
    if (sent.length === 0) return;
    const section = this.#chosen(sent);
    await this.#send(section, this.#chosen(this.#parts.engines));
  }

  #beginEpoch({ source }: LaneState): void {
    for (const lane of this.#lanes) {
      if (lane.source !== source) continue;
      lane.epoch++;
      lane.nextNumber = 1;
    }
  }

  async #send(section: Section, engine: RedisEngine): Promise<void> {
    const outcomes = new Map<number, Outcome | 0>();
    const result = await engine.mergeSection(section, ({ number }, outcome) => {
      outcomes.set(number, outcome);
    });
    for (const event of section.events) {
      const outcome = outcomes.get(event.number);
      if (outcome !== undefined) this.#compare(section, event, outcome);
    }
    this.#assertResult(section, result);
  }

  #assertResult(section: Section, result: SectionResult): void {
    const { outcome, laterEpoch, passedNumber } = result;
    if (outcome === APPLIED) return;
    assert.equal(outcome, UNREACHABLE);
    if (laterEpoch !== undefined) assert.ok(laterEpoch > section.epoch);
    else assert.ok(passedNumber! > section.firstNumber);
  }

  /** Merges the event into the oracle if it was merged now, and compares the outcomes. */
  #compare(section: Section, { number, policy, change }: SentEvent, outcome: Outcome | 0): void {
    const { source, lane, syncBegan, epoch } = section;
    const name = `${source[0]} ${lane} ${syncBegan.isNone} ${epoch} ${number}`;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    const isMerged = this.#merged.has(name);
    if (change.operation === CLEAR && isMerged) {
      assert.ok(outcome === KNOWN || outcome === OUTDATED, 'a clear is merged again');
      return;
    }
    assert.equal(outcome === 0, isMerged, `event ${name}, outcome ${outcome}`);
    if (isMerged) return;
    this.#merged.add(name);
    const expected = merged(this.#parts.oracle, copyOf(change), policy, syncBegan).outcome;
    // A clear that changes nothing may be remembered although a later one was merged since.
    if (change.operation === CLEAR && outcome !== APPLIED) assert.notEqual(expected, APPLIED);
    else assert.equal(outcome, expected, `outcome of event ${name}`);
  }

  async #compareEntries(context: string): Promise<void> {
    for (const map of MAPS) {
      for (const key of KEYS) {
        const [own, other] = await Promise.all([
          this.#asker.get(map, key),
          this.#oracleAsker.get(map, key),
        ]);
        const [found, expected] = [own, other].map(
          ({ outcome, value, contentType, version, timeToLiveMs, maxIdleSeconds }) => {
            const life = [timeToLiveMs > 0, maxIdleSeconds];
            return [outcome, value, contentType, version.high, version.low, ...life].join();
          },
        );
        assert.equal(found, expected, `${context}: ${map}/${key}`);
      }
    }
  }
}
