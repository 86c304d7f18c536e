/** A lane compared with a plain list: what it stores, selects, copies, removes and reports. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewed } from '../../src/base/copy-bytes.ts';
import { SET } from '../../src/engine/mutation.ts';
import { ChunkPool } from '../../src/wan/chunk-pool.ts';
import { eventBytes, writeEvent } from '../../src/wan/event-codec.ts';
import { Lane } from '../../src/wan/lane.ts';
import { WaitingSequences } from '../../src/wan/waiting-sequences.ts';
import { generator } from './members.ts';
import { changeOf } from './messages.ts';

const TARGET = Buffer.alloc(16, 't');
const ANY_ROOM = 2 ** 30;
const STEPS = 400;
/** Lengths of values, so that chunks of every length exist. */
const VALUE_BYTES = [0, 3, 100, 5000, 300_000] as const;

interface Expected {
  readonly position: number;
  readonly event: Buffer;
}

class Model {
  readonly lane: Lane;
  readonly sequences = new WaitingSequences(1, 1);
  readonly totals = { events: 0, bytes: 0 };
  /** Live records in order, and how many of them are numbered. */
  live: Expected[] = [];
  numberedCount = 0;
  #sequence = 0;

  constructor() {
    this.lane = new Lane(0, this.totals, new ChunkPool(), this.sequences);
  }

  append(valueBytes: number): void {
    const change = changeOf(SET, `k${this.#sequence}`, 'v'.repeat(valueBytes));
    change.sequence = ++this.#sequence;
    this.sequences.add(0, change.sequence);
    const event = Buffer.alloc(eventBytes(change));
    writeEvent(viewed(event), 0, change, 2);
    this.live.push({ position: this.lane.append(change, 2, this.#sequence, false), event });
  }

  /** Sends up to `events` records, whose bytes must be equal. */
  send(events: number): void {
    const room = { events, bytes: ANY_ROOM };
    const chosen = { bytes: 0 };
    const gate = { delays: () => false };
    const count = this.lane.choose(room, true, { target: TARGET, gate }, chosen);
    const expected = Buffer.concat(this.live.slice(0, count).map(({ event }) => event));
    assert.equal(count, Math.min(events, this.live.length));
    assert.equal(chosen.bytes, expected.length);
    const message = Buffer.alloc(expected.length + 10);
    assert.equal(this.lane.copyTo(message, 5, count), 5 + expected.length);
    assert(message.subarray(5, -5).equals(expected));
    this.numberedCount = Math.max(this.numberedCount, count);
  }

  acknowledge(count: number): void {
    assert.equal(this.lane.remove(count), count);
    this.live.splice(0, count);
    this.numberedCount = Math.max(0, this.numberedCount - count);
  }

  /** Kills a waiting record. */
  kill(index: number, isReplaced: boolean): void {
    const [dead] = this.live.splice(this.numberedCount + index, 1);
    assert(this.lane.isWaiting(dead!.position));
    if (isReplaced) this.lane.replaceAt(dead!.position);
    else this.lane.skipAt(dead!.position);
    assert.equal(this.lane.isWaiting(dead!.position), false);
  }

  compact(): void {
    const moved: number[] = [];
    this.lane.compact((position) => moved.push(position));
    const positions: number[] = [];
    this.lane.eachFrom(this.lane.head, (position) => positions.push(position) > 0);
    assert.deepEqual(moved, positions.slice(this.numberedCount));
    this.live = this.live.map(({ event }, index) => ({ event, position: positions[index]! }));
  }

  check(): void {
    const { lane, live, totals } = this;
    const positions: number[] = [];
    lane.eachFrom(0, (position) => positions.push(position) > 0);
    assert.deepEqual(
      positions,
      live.map(({ position }) => position),
    );
    assert.equal(lane.count, live.length);
    assert.equal(lane.numberedCount, this.numberedCount);
    const bytes = live.reduce((sum, { position }) => sum + lane.recordBytesAt(position), 0);
    assert.deepEqual([lane.bytes, totals.bytes, totals.events], [bytes, bytes, live.length]);
    assert.equal(lane.head, positions[0] ?? lane.tail);
    assert.equal(this.sequences.mayHave(0, this.#sequence), live.length > 0);
    for (const { position, event } of live) {
      const { chunk, at } = lane.eventAt(position);
      assert(chunk.bytes.subarray(at, at + event.length).equals(event));
    }
  }
}

describe('Lane', () => {
  for (let seed = 1; seed <= 8; seed++) {
    it(`does the same as a list, seed ${seed}`, () => {
      const random = generator(seed);
      const below = (count: number) => Math.floor(random() * count);
      const model = new Model();
      for (let step = 0; step < STEPS; step++) {
        const choice = below(10);
        const waiting = model.live.length - model.numberedCount;
        if (choice < 4) model.append(VALUE_BYTES[below(seed < 5 ? 3 : VALUE_BYTES.length)]!);
        else if (choice < 6) model.send(1 + below(20));
        else if (choice < 7) model.acknowledge(below(model.numberedCount + 1));
        else if (choice < 9 && waiting > 1) model.kill(below(waiting - 1), below(2) === 0);
        else if (choice === 9 && below(8) === 0) model.compact();
        model.check();
      }
    });
  }
});
