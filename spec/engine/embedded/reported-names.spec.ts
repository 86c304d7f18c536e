import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import type { StoredNames } from '../../../src/engine/data-figures.ts';
import { ReportedNames } from '../../../src/engine/embedded/reported-names.ts';
import { engineOf } from './components-of.ts';

/** Visits of ids and look-ups of names that a scrape with 100 names makes at most. */
const CALLS_MAX = 2300;

function labelsOf(reported: ReportedNames, names: StoredNames): string[] {
  return reported.update(names).map(({ label }) => label);
}

/** Counts the calls of names that is read. */
function counted(names: StoredNames) {
  const calls = { count: 0 };
  const read: StoredNames = {
    get count() {
      return names.count;
    },
    find(name) {
      calls.count++;
      return names.find(name);
    },
    next(id) {
      calls.count++;
      return names.next(id);
    },
    name(id, span) {
      calls.count++;
      names.name(id, span);
    },
  };
  return { read, calls };
}

describe('ReportedNames', () => {
  it('a name remains while it exists, and the next one by id takes its place', async () => {
    const { engine, ask } = engineOf();
    const reported = new ReportedNames(3);
    assert.deepEqual(labelsOf(reported, engine.maps), []);
    for (const map of ['a', 'b', 'c', 'd', 'e']) ask.set(map, 'k', 'v');
    assert.deepEqual(labelsOf(reported, engine.maps), ['a', 'b', 'c']);
    ask.delete('b', 'k');
    assert.deepEqual(labelsOf(reported, engine.maps), ['a', 'c', 'd']);
    // The id of b is free and the lowest, but its turn is last.
    ask.set('f', 'k', 'v');
    ask.clear('a');
    assert.deepEqual(labelsOf(reported, engine.maps), ['c', 'd', 'e']);
    ask.clear('c');
    assert.deepEqual(labelsOf(reported, engine.maps), ['d', 'e', 'f']);
    for (const map of ['d', 'e']) ask.clear(map);
    assert.deepEqual(labelsOf(reported, engine.maps), ['f']);
    await engine.close();
  });

  it('a name that is removed and added again between two scrapes remains', async () => {
    const { engine, ask } = engineOf();
    const reported = new ReportedNames(2);
    for (const map of ['a', 'b', 'c']) ask.set(map, 'k', 'v');
    assert.deepEqual(labelsOf(reported, engine.maps), ['a', 'b']);
    const id = reported.update(engine.maps)[0]!.id;
    ask.clear('a');
    ask.set('d', 'k', 'v');
    ask.set('a', 'k', 'v');
    const again = reported.update(engine.maps);
    assert.deepEqual([again[0]!.label, again[1]!.label], ['a', 'b']);
    assert.notEqual(again[0]!.id, id);
    assert.equal(engine.entriesOf(again[0]!.id), 1);
    await engine.close();
  });

  it('an id that has been assigned to another name is not mistaken for the former one', async () => {
    const { engine, ask } = engineOf();
    const reported = new ReportedNames(1);
    ask.set('a', 'k', 'v');
    const id = reported.update(engine.maps)[0]!.id;
    ask.delete('a', 'k');
    ask.set('b', 'k', 'v');
    const [other] = reported.update(engine.maps);
    assert.deepEqual([other!.id, other!.label], [id, 'b']);
    await engine.close();
  });

  it('the label of any name is the name as it is in a URL', async () => {
    const { engine, ask } = engineOf();
    const names = ['plain-Name_1.~', 'a b', '"\\\n', 'ä€', '%2F/+'].map((name) =>
      Buffer.from(name),
    );
    names.push(Buffer.from([0xff, 0x00, 0x41]));
    for (const name of names) ask.set(name, 'k', 'v');
    const expected = ['plain-Name_1.~', 'a%20b', '%22%5C%0A', '%C3%A4%E2%82%AC', '%252F%2F%2B'];
    assert.deepEqual(labelsOf(new ReportedNames(9), engine.maps), [...expected, '%FF%00A']);
    await engine.close();
  });

  it('no name has a place with a maximum of 0', async () => {
    const { engine, ask } = engineOf();
    ask.set('m', 'k', 'v');
    assert.deepEqual(labelsOf(new ReportedNames(0), engine.maps), []);
    await engine.close();
  });

  it('a map without a name has no place, and a scrape visits each id at most twice', async () => {
    const { engine, ask } = engineOf();
    for (const map of ['', 'a', 'b']) ask.set(map, 'k', 'v');
    const { read, calls } = counted(engine.maps);
    const reported = new ReportedNames(100);
    assert.deepEqual(labelsOf(reported, read), ['a', 'b']);
    assert.ok(calls.count <= 12, `${calls.count}`);
    calls.count = 0;
    assert.deepEqual(labelsOf(reported, read), ['a', 'b']);
    assert.ok(calls.count <= 12, `${calls.count}`);
    await engine.close();
  });

  it('with 100,000 names 100 are reported, by a bounded number of calls', async () => {
    const { engine, ask, clock } = engineOf();
    for (let map = 0; map < 100_000; map++) ask.set(`${map}`, 'k', 'v');
    const { read, calls } = counted(engine.maps);
    const reported = new ReportedNames(100);
    const first = labelsOf(reported, read);
    assert.deepEqual(first, [...Array(100).keys()].map(String));
    assert.ok(calls.count <= CALLS_MAX, `${calls.count}`);
    calls.count = 0;
    assert.deepEqual(labelsOf(reported, read), first);
    assert.equal(calls.count, 100);
    // All but the last maps are cleared, and their ids are not free yet.
    for (let map = 0; map < 99_950; map++) ask.clear(`${map}`);
    const last = [...Array(50).keys()].map((map) => `${99_950 + map}`);
    let scrapes = 0;
    for (let labels: string[] = []; labels.length < last.length; scrapes++) {
      calls.count = 0;
      labels = labelsOf(reported, read);
      assert.ok(calls.count <= CALLS_MAX, `${calls.count}`);
    }
    assert.ok(scrapes <= 100, `${scrapes}`);
    assert.deepEqual(labelsOf(reported, read), last);
    clock.advance(3_600_000);
    assert.deepEqual(labelsOf(reported, read), last);
    await engine.close();
  });

  for (const kind of ['maps', 'queues'] as const) {
    it(`no series of random ${kind} ends while its name exists, and no place is free`, async () => {
      const { engine, ask, clock } = engineOf();
      const reported = new ReportedNames(8);
      const random = new Random(kind.length);
      const existing = new Set<string>();
      const add = { maps: (name: string) => ask.set(name, 'k', 'v'), queues: offer };
      const remove = {
        maps: (name: string) => (random.below(2) === 0 ? ask.clear(name) : ask.delete(name, 'k')),
        queues: (name: string) => ask.poll(name),
      };
      function offer(name: string) {
        if (ask.queueSize(name).count === 0) ask.offer(name, 'item');
      }
      let before: string[] = [];
      for (let scrape = 0; scrape < 1000; scrape++) {
        const removed = new Set<string>();
        for (let rest = random.below(12); rest > 0; rest--) {
          const name = `${random.below(24)}`;
          if (random.below(2) === 0) {
            add[kind](name);
            existing.add(name);
          } else {
            remove[kind](name);
            existing.delete(name);
            removed.add(name);
          }
        }
        if (random.below(5) === 0) clock.advance(random.below(3000));
        const labels = labelsOf(reported, engine[kind]);
        assert.equal(labels.length, Math.min(existing.size, 8));
        assert.equal(new Set(labels).size, labels.length);
        for (const label of labels) assert.ok(existing.has(label));
        for (const label of before) assert.ok(labels.includes(label) || !existing.has(label));
        before = labels;
      }
      engine.invariants();
      await engine.close();
    });
  }
});
