/** Comparisons of maps of two members find exactly the differences and change nothing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeOf } from '../../src/wan/tree-messages.ts';
import { contentOf } from '../engine/stored-engine.case.ts';
import { processClock } from '../process-clock.ts';
import { ComparedSide, compare, entriesOf, expectedOf, figuresOf, requestOf } from './compared.ts';
import { generator } from './members.ts';

/** Number of partitions in tests of many depths. */
const FEW = 31;

/**
 * Returns two members with equal entries, written in different orders, on the second with
 * intermediate values.
 */
function equalSides(
  count: number,
  depth = 10,
  partitionCount = 271,
): readonly [ComparedSide, ComparedSide] {
  const tree = { isOn: true, depth: Math.min(depth, 16) };
  const source = new ComparedSide({ tree, partitionCount });
  const target = new ComparedSide({ tree, partitionCount, clock: source.clock });
  for (let index = 0; index < count; index++) source.set(`key${index}`, `value${index}`);
  source.set('lives', 'for a while', { timeToLiveMs: 100_000 });
  source.set('idle', 'until it is not read', { maxIdleSeconds: 50 });
  target.set('idle', 'until it is not read', { maxIdleSeconds: 50 });
  target.set('lives', 'for a while', { timeToLiveMs: 100_000 });
  for (let index = count; index >= 0; index--) {
    target.set(`key${index}`, 'another', { type: 'a/b', timeToLiveMs: 5 });
  }
  for (let index = count - 1; index >= 0; index--) target.set(`key${index}`, `value${index}`);
  target.delete(`key${count}`);
  target.set('elsewhere', 'x', { map: 'other' });
  return [source, target];
}

describe('compareMap', () => {
  it('finds no difference between equal contents, whatever their history', async () => {
    const [source, target] = equalSides(800);
    const { differences, requests, checked } = await compare(source, target);
    assert.deepEqual(figuresOf(differences), {
      checkedPartitions: 271,
      differentPartitions: 0,
      checkedLeaves: 271 * 512,
      differentLeaves: 0,
      entriesToSync: 0,
    });
    assert.equal(requests, 1);
    assert.equal(checked.at(-1), 271);
    assert.ok(entriesOf(source).every(({ partition, key }) => !differences.has(partition, key)));
  });

  for (const depth of [2, 10, 16, 27]) {
    const changes: Record<string, readonly [number, (target: ComparedSide) => void]> = {
      'one more entry at the target': [0, (target) => target.set('more', 'x')],
      'one fewer entry at the target': [1, (target) => target.delete('key7')],
      'another value': [1, (target) => target.set('key7', 'other')],
      'another content type': [1, (target) => target.set('key7', 'value7', { type: 'a/b' })],
      'another time to live': [
        1,
        (target) => target.set('lives', 'for a while', { timeToLiveMs: 100_001 }),
      ],
      'another max idle': [
        1,
        (target) => target.set('idle', 'until it is not read', { maxIdleSeconds: 51 }),
      ],
    };
    for (const [name, [entries, change]] of Object.entries(changes)) {
      it(`finds ${name} as one leaf, depth ${depth}`, async () => {
        const [source, target] = equalSides(200, depth, FEW);
        change(target);
        const { differences } = await compare(source, target, depth);
        const { differentPartitions, differentLeaves, entriesToSync } = differences;
        assert.deepEqual([differentPartitions, differentLeaves], [1, 1]);
        const expected = expectedOf(source, target, Math.min(depth, 16));
        assert.deepEqual(figuresOf(differences), expected);
        const found = entriesOf(source).filter((each) => differences.has(each.partition, each.key));
        assert.equal(found.length, entriesToSync);
        // In these trees, leaves of depth 16 have one entry each.
        if (depth > 2) assert.equal(entriesToSync, entries);
      });
    }

    it(`has exact figures of many differences, depth ${depth}`, async () => {
      const [source, target] = equalSides(400, depth, FEW);
      const random = generator(depth);
      for (let index = 0; index < 60; index++) {
        const key = `key${Math.floor(random() * 440)}`;
        const kind = Math.floor(random() * 4);
        if (kind < 2) target.set(key, 'other');
        else if (kind === 2) target.delete(key);
        else source.set(key, 'another');
      }
      const { differences, checked } = await compare(source, target, depth);
      const expected = expectedOf(source, target, Math.min(depth, 16));
      assert.deepEqual(figuresOf(differences), expected);
      assert.deepEqual(
        checked,
        checked.toSorted((a, b) => a - b),
      );
      assert.equal(checked.at(-1), FEW);
    });
  }

  for (const [name, isEmptyHere, isEmptyThere] of [
    ['the target has none', false, true],
    ['the source has none', true, false],
    ['neither has any', true, true],
  ] as const) {
    it(`counts every leaf that has entries if ${name}`, async () => {
      const source = new ComparedSide();
      const target = new ComparedSide();
      for (let index = 0; index < 800; index++) {
        if (!isEmptyHere) source.set(`key${index}`, 'x');
        if (!isEmptyThere) target.set(`key${index}`, 'x');
      }
      target.set('elsewhere', 'x', { map: 'other' });
      const { differences } = await compare(source, target);
      assert.deepEqual(figuresOf(differences), expectedOf(source, target, 10));
      assert.equal(differences.entriesToSync, isEmptyHere ? 0 : 800);
    });
  }

  it('compares complete values, including long ones, but no expired entries', async () => {
    const [source, target] = equalSides(10);
    const long = Buffer.alloc(1_000_001, 'long');
    for (let index = 0; index < 8; index++) {
      source.set(`long${index}`, long);
      target.set(`long${index}`, long);
    }
    source.set('over', 'x', { timeToLiveMs: 1000 });
    source.clock.advance(2000);
    assert.equal((await compare(source, target)).differences.differentLeaves, 0);
    long[long.length - 1] = 0;
    target.set('long7', long);
    const { differences } = await compare(source, target);
    assert.deepEqual(figuresOf(differences), expectedOf(source, target, 10));
    assert.equal(differences.differentLeaves, 1);
  });

  it('changes nothing on either side, and counts as no read of an entry', async () => {
    const [source, target] = equalSides(500);
    target.set('key7', 'other');
    const before = [source, target].map(({ engine }) => [contentOf(engine), engine.sequences()]);
    source.clock.advance(40_000);
    await compare(source, target);
    const after = [source, target].map(({ engine }) => [contentOf(engine), engine.sequences()]);
    assert.deepEqual(after, before);
    source.clock.advance(15_000);
    assert.ok(!entriesOf(source).some(({ key }) => key.toBuffer().toString() === 'idle'));
  });

  it('transfers little: some kilobytes for a hundred differences', async () => {
    for (const depth of [10, 16]) {
      const [source, target] = equalSides(4000, depth);
      for (let index = 0; index < 100; index++) target.set(`key${index * 39}`, 'other');
      const { differences, bytes, requests } = await compare(source, target, depth);
      assert.deepEqual(figuresOf(differences), expectedOf(source, target, depth));
      assert.ok(bytes < 50_000, `depth ${depth}: ${bytes} bytes in ${requests} requests`);
    }
  });
});

describe('compareMap fails', () => {
  const failures: Record<string, readonly [RegExp, (target: ComparedSide) => void]> = {
    'where the target has turned the tree off': [
      /^Cannot compare map "map": its merkle-tree is on here and off at the target$/,
      (target) => {
        target.tree = { isOn: false, depth: 10 };
      },
    ],
    'where the target has another depth': [
      /its merkle-tree has depth 10 here and 12 at the target$/,
      (target) => {
        target.tree = { isOn: true, depth: 12 };
      },
    ],
  };
  for (const [name, [message, change]] of Object.entries(failures)) {
    it(name, async () => {
      const [source, target] = equalSides(10);
      change(target);
      await assert.rejects(compare(source, target), { message });
    });
  }

  it('if the target has another number of partitions', async () => {
    const source = new ComparedSide();
    const message = /partition-count is 271 here and 13 at the target$/;
    await assert.rejects(compare(source, new ComparedSide({ partitionCount: 13 })), { message });
  });

  it('if there is no response, another status, or an invalid response', async () => {
    const [source, target] = equalSides(10);
    const cases = [
      [/no response from the target, away$/, async () => Promise.reject(new Error('away'))],
      [
        /the target responded with 401, who are you$/,
        async () => ({ status: 401, body: Buffer.from('who\nare\u0000you') }),
      ],
      [
        /the target sent an invalid response, /,
        async () => ({ status: 200, body: Buffer.from('something else') }),
      ],
      [
        /the target sent an invalid response, .*it responds to another message/,
        async () => await target.receive(requestOf({ partitionCount: 271 })),
      ],
    ] as const;
    for (const [message, send] of cases) {
      const given = { target: { send, dataSet: undefined } };
      await assert.rejects(compare(source, target, 10, given), { message });
    }
  });

  it('if a byte of a response is flipped or cut off', async () => {
    const [source, target] = equalSides(10, 10, 31);
    const length = 56 + 8 + 31 * 8;
    for (let at = 0; at < length; at += at < 60 ? 1 : 23) {
      for (const isCut of [false, true]) {
        const send = async (request: Buffer) => {
          const { body, status } = await target.receive(request);
          assert.equal(body.length, length);
          const wrong = Buffer.from(body);
          wrong[at]! ^= 1 << (at % 8);
          return { status, body: isCut ? body.subarray(0, at) : wrong };
        };
        const given = { target: { send, dataSet: undefined } };
        const message = /^Cannot compare map "map": the target sent an invalid response, /;
        await assert.rejects(compare(source, target, 10, given), { message }, `byte ${at}`);
      }
    }
  });

  it('if the response is from another data set than the handshake or an earlier response', async () => {
    const [source, target] = equalSides(10);
    const message = /the data set of the target has changed$/;
    const send = async (request: Buffer) => await target.receive(request);
    const dataSet = Buffer.alloc(16, 'x');
    await assert.rejects(compare(source, target, 10, { target: { send, dataSet } }), { message });
    const other = new ComparedSide({ clock: source.clock, dataSetId: dataSet });
    let count = 0;
    const changing = async (request: Buffer) =>
      await (count++ === 0 ? target : other).receive(request);
    target.set('key7', 'other');
    const given = { target: { send: changing, dataSet: undefined } };
    await assert.rejects(compare(source, target, 10, given), { message });
  });

  it('if it is cancelled', async () => {
    const [source, target] = equalSides(10);
    let count = 0;
    const isCancelled = () => count++ === 100;
    const message = /it was cancelled$/;
    await assert.rejects(compare(source, target, 10, { isCancelled }), { message });
  });
});

describe('the trees of a target', () => {
  const question = { partitionCount: 271, levels: 3 };

  it('are dropped 10 s after their last use', async () => {
    const [, target] = equalSides(100);
    const { clock } = target;
    const count = clock.timerCount;
    // The second round uses the trees of the first.
    for (let round = 0; round < 2; round++) {
      assert.equal((await target.receive(requestOf(question))).status, 200);
      clock.advance(9000);
      assert.ok(target.receiver.cachedTreeBytes > 0);
    }
    clock.advance(1000);
    assert.equal(target.receiver.cachedTreeBytes, 0);
    assert.equal(clock.timerCount, count);
  });

  it('use at most 8 MiB, and are built again after eviction', async () => {
    const [source, target] = equalSides(2000, 16);
    for (let index = 0; index < 50; index++) target.set(`key${index * 13}`, 'other');
    let largest = 0;
    const send = async (request: Buffer) => {
      const answer = await target.receive(request);
      largest = Math.max(largest, target.receiver.cachedTreeBytes);
      // Between two requests of a comparison others arrive, or much time passes.
      for (let other = 0; other < 2; other++) {
        const key = Buffer.from(`another${other}`);
        const nodes = Array.from({ length: 31 }, (_, index) => nodeOf(index * 8, 0));
        const more = requestOf({ ...question, depth: 16, key, nodes });
        assert.equal((await target.receive(more)).status, 200);
        largest = Math.max(largest, target.receiver.cachedTreeBytes);
      }
      target.clock.advance(20_000);
      assert.equal(target.receiver.cachedTreeBytes, 0);
      return answer;
    };
    const given = { target: { send, dataSet: undefined } };
    source.clock.advance(200_000);
    const { differences } = await compare(source, target, 16, given);
    assert.deepEqual(figuresOf(differences), expectedOf(source, target, 16));
    assert.ok(largest > 7_000_000 && largest <= 8_388_608, `${largest} bytes`);
  });

  it('are separate for each comparison', async () => {
    const [source, target] = equalSides(400);
    target.set('key7', 'other');
    const all = await Promise.all([1, 2, 3, 4].map(async () => await compare(source, target)));
    for (const { differences } of all) {
      assert.deepEqual(figuresOf(differences), expectedOf(source, target, 10));
    }
  });

  it('are built for one request after another', async (t) => {
    const clock = processClock(t);
    const [, target] = equalSides(100);
    const { engine } = target;
    const visit = engine.visit.bind(engine);
    const partitions: number[] = [];
    engine.visit = (partition, ...others) => {
      // Some steps are longer than a slice, so that other work may run.
      if (partition % 100 === 99) clock.nowMs += 6;
      if (partitions.at(-1) !== partition) partitions.push(partition);
      return visit(partition, ...others);
    };
    const all = Array.from({ length: 271 }, (_, partition) => partition);
    const roots = requestOf({ ...question, levels: 0, nodes: all.map((each) => nodeOf(each, 0)) });
    await Promise.all([1, 2, 3].map(async () => await target.receive(roots)));
    assert.deepEqual(partitions, [...all, ...all, ...all]);
  });

  it('are built for at most 64 waiting requests; further requests get 503', async () => {
    const [, target] = equalSides(100);
    const all = Array.from({ length: 70 }, async () => await target.receive(requestOf(question)));
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    assert.deepEqual(statuses.filter((status) => status === 503).length, 6);
    assert.equal((await target.receive(requestOf(question))).status, 200);
  });

  it('are empty for a map that does not exist', async () => {
    const [, target] = equalSides(10);
    const { status, body } = await target.receive(requestOf(question, 'none'));
    assert.equal(status, 200);
    assert.ok(Buffer.from(body).subarray(64).equals(Buffer.alloc(64)));
    assert.ok(!contentOf(target.engine).some((each) => each.startsWith('none/')));
  });
});
