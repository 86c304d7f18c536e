/**
 * Covers src/persistence/marks-file.ts and src/persistence/wan-queue-file.ts. The files of
 * persistent queues: written content is read back, and damage is never accepted as content.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import type { DurableQueue, DurableQueues } from '../../src/engine/durable-queues.ts';
import { DamagedData } from '../../src/persistence/damage.ts';
import { MARKS, readMarks, writeMarks } from '../../src/persistence/marks-file.ts';
import {
  parseQueueFileName,
  readQueueFile,
  writeQueueFile,
} from '../../src/persistence/wan-queue-file.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { rejectionCode, until } from './subject.ts';

const PARTITIONS = 3;
const WAITING = 'wan-0000000007';
const MARKS_OF = new Map([
  ['["a","é"]', Float64Array.of(1, 2 ** 40, 0)],
  ['b', Float64Array.of(5, 6, 7)],
  ['', Float64Array.of(0, 0, 0)],
]);

/** Returns lanes of strings, each a piece. `steps`: number of calls that copy nothing. */
function queue(name: string, lanes: readonly (readonly string[])[], steps = 0): DurableQueue {
  const fails = () => assert.fail('called unexpectedly');
  return {
    ...{
      name,
      laneCount: lanes.length,
      clearing: () => assert.fail(),
      marks: fails,
      mayWait: fails,
      beginRestore: fails,
    },
    restore: fails,
    isRestored: fails,
    replay: fails,
    hasExactMarks: true,
    bytes: lanes.flat().join('').length,
    cut: (lane) => {
      const left = [...(lanes[lane] as readonly string[])];
      let pauses = steps;
      return {
        partitions: [lane],
        isDone: left.length === 0,
        bytesNeeded: 0,
        copy(to, at, end) {
          this.bytesNeeded = 0;
          if (pauses-- > 0) return at;
          const next = left[0];
          if (next !== undefined && next.length > end - at) {
            this.bytesNeeded = next.length;
            return at;
          }
          left.shift();
          this.isDone = left.length === 0;
          return next === undefined ? at : at + to.bytes.write(next, at, 'latin1');
        },
      } as ReturnType<DurableQueue['cut']> & { bytesNeeded: number; isDone: boolean };
    },
  };
}

function kept(...queues: readonly DurableQueue[]): DurableQueues {
  return { queues: () => queues, watch() {}, onMarksLost() {}, onMarksFailed() {} };
}

function subject() {
  const memory = new MemoryStorage(new Random(1));
  const clock = new FakeClock();
  const go = async () => {
    clock.endTurn();
    memory.pump();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { memory, clock, go };
}

async function written(queues: DurableQueues, room = Number.POSITIVE_INFINITY) {
  const { memory, clock, go } = subject();
  let calls = 0;
  const sequences = () => Float64Array.of(10 + calls, 20 + calls, 30 + calls++);
  const mayWrite = async (bytes: number) => bytes <= room;
  const parts = { storage: memory, clock, queues, sequences, mayWrite };
  return { memory, go, bytes: await until(writeQueueFile(parts, 7), go) };
}

async function read(memory: MemoryStorage, go: () => Promise<void>) {
  const found: string[] = [];
  const reader = {
    onQueue: (name: string) => found.push(`queue ${name}`),
    onLane(lane: number, bytes: Buffer, start: number, end: number) {
      found.push(`${lane}: ${bytes.toString('latin1', start, end)}`);
      return true;
    },
    onCut: (upTo: Float64Array) => found.push(`up to ${upTo.join()}`),
  };
  await until(readQueueFile(memory, 7, PARTITIONS, reader), go);
  return found;
}

/** Asserts that each copy of the file with one byte changed, or truncated anywhere, is damaged. */
async function checkDamage(bytes: Buffer, check: (changed: Buffer) => Promise<unknown>) {
  for (let at = 0; at < bytes.length; at++) {
    const flipped = Buffer.from(bytes);
    flipped[at]! ^= 1 << (at % 8);
    await assert.rejects(check(flipped), DamagedData, `byte ${at}`);
    await assert.rejects(check(bytes.subarray(0, at)), DamagedData, `${at} bytes`);
  }
  await assert.rejects(check(Buffer.concat([bytes, Buffer.alloc(8)])), DamagedData);
  await assert.rejects(check(Buffer.concat([bytes, Buffer.alloc(1)])), DamagedData);
}

describe('the file of marks', () => {
  it('is read as it was written, and replaces the previous one', async () => {
    const { memory, go } = subject();
    for (const marks of [new Map(), MARKS_OF]) {
      await until(writeMarks(memory, PARTITIONS, marks), go);
      assert.deepEqual(await until(readMarks(memory, PARTITIONS), go), marks);
    }
    assert.deepEqual(memory.openNames, []);
  });

  it('is damaged if any byte is changed, it is truncated, or it has another partition count', async () => {
    const { memory, go } = subject();
    await until(writeMarks(memory, PARTITIONS, MARKS_OF), go);
    const bytes = Buffer.from(memory.bytes(MARKS));
    await assert.rejects(until(readMarks(memory, PARTITIONS + 1), go), DamagedData);
    await checkDamage(bytes, (changed) => {
      memory.put(MARKS, changed);
      return until(readMarks(memory, PARTITIONS), go);
    });
    assert.deepEqual(memory.openNames, []);
  });
});

describe('the WAN queue file', () => {
  it('has the name of its snapshot', () => {
    assert.equal(parseQueueFileName(WAITING), 7);
    for (const name of ['wan-7', 'wan-marks', `${WAITING}.tmp`, 'log-0000000007']) {
      assert.equal(parseQueueFileName(name), undefined);
    }
  });

  it('contains each queue with waiting changes, lane by lane', async () => {
    const long = 'x'.repeat(300_000);
    const { memory, go, bytes } = await written(
      kept(
        queue('first', [['a', 'b'], [], ['c']]),
        queue('empty', [[], []]),
        queue(
          'second',
          [
            ['d', long, 'e'],
            ['f'.repeat(200_000), 'g'.repeat(200_000)],
          ],
          2,
        ),
      ),
    );
    assert.equal(bytes, memory.bytes(WAITING).length);
    assert.deepEqual(await read(memory, go), [
      'queue first',
      '0: ab',
      '2: c',
      'up to 12,23,34',
      'queue second',
      '0: d',
      `0: ${long}`,
      '0: e',
      `1: ${'f'.repeat(200_000)}`,
      `1: ${'g'.repeat(200_000)}`,
      'up to 16,27,35',
    ]);
    assert.deepEqual(memory.openNames, []);
  });

  it('does not exist if nothing is waiting or there is no room for it', async () => {
    for (const [queues, room, result] of [
      [kept(), 1000, 0],
      [kept(queue('empty', [[]])), 1000, 0],
      [kept(queue('first', [['a'], ['b'.repeat(1000)]])), 500, undefined],
    ] as const) {
      const { memory, bytes } = await written(queues, room);
      assert.equal(bytes, result);
      assert.deepEqual([memory.usedBytes, memory.openNames], [0, []]);
    }
  });

  it('leaves nothing if any call fails', async () => {
    for (let at = 1; ; at++) {
      const { memory, clock, go } = subject();
      memory.failure = { at, code: 'EIO', isLasting: false };
      const queues = kept(queue('first', [['a'], ['b']]));
      const sequences = () => new Float64Array(PARTITIONS);
      const parts = { storage: memory, clock, queues, sequences, mayWrite: async () => true };
      const fault = await rejectionCode(until(writeQueueFile(parts, 7), go));
      assert.deepEqual(memory.openNames, []);
      if (fault === undefined) return;
      assert.equal(fault, 'EIO');
      assert.ok(!memory.has(`${WAITING}.tmp`), `call ${at}`);
    }
  });

  it('is damaged if any byte is changed, or it is truncated, missing or misplaced', async () => {
    const { memory, go } = await written(kept(queue('first', [['a', 'bc'], ['def'], []])));
    const bytes = Buffer.from(memory.bytes(WAITING));
    await checkDamage(bytes, (changed) => {
      memory.put(WAITING, changed);
      return read(memory, go);
    });
    memory.put(WAITING, undefined);
    await assert.rejects(read(memory, go), DamagedData);
    memory.put('wan-0000000008', bytes);
    const ignored = { onQueue() {}, onLane: () => true, onCut() {} };
    await assert.rejects(until(readQueueFile(memory, 8, PARTITIONS, ignored), go), DamagedData);
    memory.put(WAITING, bytes);
    const refusing = { ...ignored, onLane: () => false };
    await assert.rejects(until(readQueueFile(memory, 7, PARTITIONS, refusing), go), DamagedData);
    assert.deepEqual(memory.openNames, []);
  });
});
