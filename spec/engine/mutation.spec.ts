/** The choice between two changes of a key with equal versions, based only on their contents. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compareChanges,
  DELETE,
  EXPIRE,
  FROM_REPLAY,
  type Mutation,
  type Operation,
  SET,
} from '../../src/engine/mutation.ts';
import { described } from '../persistence/stored-model.ts';
import { changeOf, replayInto } from './changes.ts';
import { engineOf } from './embedded/components-of.ts';
import { RecordingSink } from './sinks.ts';
import { visited } from './stored-engine.case.ts';

type ChangeFields = Partial<Parameters<typeof changeOf>[1]> & { readonly operation?: Operation };

const FAR_MS = 2 ** 42;

let sequence = 0;

function replayedChange({ operation = SET, version = 5, ...fields }: ChangeFields, key = 'k') {
  const place = { origin: FROM_REPLAY, partition: 0, sequence: ++sequence };
  const change = changeOf(operation, { version, key, ...place, ...fields });
  change.life.set(1, 0);
  return change;
}

/** Changes in ascending order: each wins over all previous ones. */
const CHANGES: readonly ChangeFields[] = [
  { operation: DELETE, version: 4 },
  { expiryMs: FAR_MS, value: 'z' },
  { expiryMs: FAR_MS + 1, maxIdleSeconds: 9, value: 'z' },
  { expiryMs: FAR_MS + 1, maxIdleSeconds: 10 },
  { expiryMs: FAR_MS + 1 },
  { maxIdleSeconds: 9, value: 'x' },
  { value: '' },
  { value: '', contentType: 'a' },
  { value: '', contentType: 'ab' },
  { value: 'a', contentType: 'b' },
  { value: 'a\0' },
  { value: 'ab' },
  { value: 'b' },
  { value: '\x7f' },
  { value: 'é' },
  { operation: EXPIRE },
  { operation: DELETE },
  { version: -1 },
];

/** Returns the content that an engine stores for each key after these changes. */
function leftBy(changes: readonly Mutation[]): ReadonlyMap<string, string> {
  const { engine } = engineOf({ partitionCount: 1, sinks: [new RecordingSink()] });
  replayInto(engine, changes);
  const left = visited(engine).map((each) => [each.key.toBuffer().toString(), described(each)]);
  return new Map(left as [string, string][]);
}

/** Returns the content that the winning change leaves. */
function wanted(changes: readonly Mutation[]): string | undefined {
  const greatest = [...changes].sort(compareChanges).at(-1) as Mutation;
  return greatest.operation === SET ? described(greatest) : undefined;
}

describe('compareChanges', () => {
  it('is a total order: later versions, deletes, later ends of life, greater bytes', () => {
    for (const [index, fields] of CHANGES.entries()) {
      for (const [other, otherFields] of CHANGES.entries()) {
        const sign = Math.sign(compareChanges(replayedChange(fields), replayedChange(otherFields)));
        assert.equal(sign, Math.sign(index - other), JSON.stringify([fields, otherFields]));
      }
    }
  });

  it('treats changes with equal contents as equal, whatever their path and sequence', () => {
    const one = replayedChange({ value: 'v' });
    const other = replayedChange({ value: 'v' });
    one.path.set(Buffer.alloc(16, 1), 0, 16);
    assert.equal(compareChanges(one, other), 0);
    assert.equal(compareChanges(other, one), 0);
  });
});

describe('a replay', () => {
  it('selects the same one of two and three changes of a key, in any order', () => {
    const indexes = [...CHANGES.keys()];
    const groups = indexes.flatMap((a) =>
      indexes.flatMap((b) => [[a, b], ...indexes.map((c) => [a, b, c])]),
    );
    const ordered = groups.map((group) => {
      return group.map((index) => replayedChange(CHANGES[index] ?? {}, group.join(' ')));
    });
    const left = leftBy(ordered.flat());
    for (const [index, changes] of ordered.entries()) {
      const key = groups[index]?.join(' ') ?? '';
      assert.equal(left.get(key), wanted(changes), key);
    }
  });

  it('treats another key, and another life of the map, separately', () => {
    const removal = replayedChange({ operation: DELETE });
    const ofOtherKey = replayedChange({ value: 'v' }, 'l');
    const ofNextLife = replayedChange({ value: 'v' });
    ofNextLife.life.set(2, 0);
    assert.deepEqual([...leftBy([removal, ofOtherKey]).keys()], ['l']);
    assert.deepEqual([...leftBy([removal, ofNextLife]).keys()], ['k']);
  });
});
