/**
 * Comparisons of two members by hash trees: a map of ENTRIES entries, 100 of them different, and a
 * small map of 1,000 entries in the same engines. The figures are exact, little data is
 * transferred, and no turn of the event loop is long. Then SOAK_CASES invalid requests for trees.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type StoredVisitor, VisitCursor } from '../../src/engine/stored-engine.ts';
import { LeafOf } from '../../src/wan/entry-hash.ts';
import { ComparedSide, compare, figuresOf, sendWrongRequests } from '../wan/compared.ts';

const ENTRIES = Number(process.env.SOAK_ENTRIES ?? 1_000_000);
const CASES = Number(process.env.SOAK_CASES ?? 100_000);
const DIFFERENT = 100;
const SMALL = 1000;
const VALUE_BYTES = 100;
const TURN_MS_MAX = 20;
const BYTES_MAX = 50_000;
/** Maximum overhead of HTTP for a request and its response, in bytes. */
const HEADS_BYTES = 600;

/**
 * Measures the longest turn of the event loop: the time between two immediates, limited to the
 * processor time of this process.
 */
class Turns {
  longestMs = 0;
  #isRunning = true;
  #sinceMs = performance.now();
  #cpu = process.cpuUsage();

  constructor() {
    setImmediate(() => this.#turn());
  }

  stop(): void {
    this.#isRunning = false;
  }

  #turn(): void {
    const nowMs = performance.now();
    const { user, system } = process.cpuUsage(this.#cpu);
    this.longestMs = Math.max(
      this.longestMs,
      Math.min(nowMs - this.#sinceMs, (user + system) / 1000),
    );
    this.#sinceMs = nowMs;
    this.#cpu = process.cpuUsage();
    if (this.#isRunning) setImmediate(() => this.#turn());
  }
}

const tree = { isOn: true, depth: 10 };
const source = new ComparedSide({ tree });
const target = new ComparedSide({ tree, clock: source.clock });

function textAt(index: number): string {
  return `value of entry ${index} `.padEnd(VALUE_BYTES, '.');
}

/**
 * Returns the expected differences for different `keys`: leaves, and the source's entries in them.
 */
function expectedOf(map: string, keys: ReadonlySet<string>, depth: number) {
  const leafOf = new LeafOf();
  const counts = new Map<number, number>();
  const different = new Set<number>();
  const visitor: StoredVisitor = {
    onStored({ name, key, partition }) {
      if (name.toBuffer().toString() !== map) return;
      const leaf = partition * 2 ** (depth - 1) + leafOf.leaf(key, depth - 1);
      counts.set(leaf, (counts.get(leaf) ?? 0) + 1);
      if (keys.has(key.toBuffer().toString())) different.add(leaf);
    },
  };
  const { engine } = source;
  for (let partition = 0; partition < engine.partitionCount; partition++) {
    const cursor = new VisitCursor();
    while (engine.visit(partition, cursor, 1000, visitor));
  }
  const leaves = [...different];
  return {
    checkedPartitions: engine.partitionCount,
    differentPartitions: new Set(leaves.map((leaf) => Math.floor(leaf / 2 ** (depth - 1)))).size,
    checkedLeaves: engine.partitionCount * 2 ** (depth - 1),
    differentLeaves: leaves.length,
    entriesToSync: leaves.reduce((sum, leaf) => sum + (counts.get(leaf) ?? 0), 0),
  };
}

describe(`compareMap with ${ENTRIES} entries`, () => {
  const different = new Map<string, Set<string>>();

  before(() => {
    for (const side of [source, target]) {
      for (let index = 0; index < ENTRIES; index++) {
        side.set(`key-${index}`, textAt(index));
        if (index % 10_000 === 0) side.clock.settle();
      }
      for (let index = 0; index < SMALL; index++) side.set(`key-${index}`, 'x', { map: 'small' });
    }
    for (const [map, count] of [
      ['map', ENTRIES],
      ['small', SMALL],
    ] as const) {
      const keys = Array.from(
        { length: DIFFERENT },
        (_, index) => `key-${Math.floor((index * count) / DIFFERENT)}`,
      );
      for (const key of keys) target.set(key, 'other', { map });
      different.set(map, new Set(keys));
    }
  });

  for (const depth of [10, 16]) {
    for (const map of ['map', 'small']) {
      for (const round of [1, 2, 3]) {
        it(`is exact, sends little and has short turns: ${map}, depth ${depth}, round ${round}`, async (test) => {
          target.tree = { isOn: true, depth };
          const turns = new Turns();
          let targetMs = 0;
          let sent = 0;
          const send = async (message: Buffer) => {
            const sinceMs = performance.now();
            const response = await target.receive(message);
            targetMs += performance.now() - sinceMs;
            sent += message.length + response.body.length + HEADS_BYTES;
            return response;
          };
          const sinceMs = performance.now();
          const options = { target: { send, dataSet: undefined } };
          const { differences } = await compare(source, target, depth, options, map);
          const allMs = performance.now() - sinceMs;
          turns.stop();
          test.diagnostic(
            `${sent} bytes, ${Math.round(allMs)} ms, ${Math.round(targetMs)} of them the target's, ` +
              `longest turn ${turns.longestMs.toFixed(1)} ms`,
          );
          assert.deepEqual(figuresOf(differences), expectedOf(map, different.get(map)!, depth));
          assert.ok(sent < BYTES_MAX, `${sent} bytes`);
          assert.ok(turns.longestMs < TURN_MS_MAX, `a turn of ${turns.longestMs} ms`);
        });
      }
    }
  }
});

describe('WanReceiver.receive', () => {
  it(`changes and retains nothing for ${CASES} invalid requests for trees`, async () => {
    await sendWrongRequests(CASES, 3);
  });
});
