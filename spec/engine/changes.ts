/** Changes that an engine merges or replays, without a caller. */
import assert from 'node:assert/strict';
import { APPLIED, type OperationResult } from '../../src/engine/engine.ts';
import { LATEST_UPDATE, type MergePolicy } from '../../src/engine/merge-policy.ts';
import { CLEAR, FROM_REPLAY, FROM_SOURCE, Mutation } from '../../src/engine/mutation.ts';
import type { StoredEngine } from '../../src/engine/stored-engine.ts';
import { Version } from '../../src/engine/version.ts';
import { copied, type Seen, span } from './results.ts';
import { copyOf } from './sinks.ts';

/** Texts, and fields of a Mutation; `version` may be only the lower word. */
interface ChangeFields
  extends Partial<
    Pick<
      Mutation,
      'origin' | 'partition' | 'sequence' | 'maker' | 'hits' | 'lastAccessSeconds' | 'expiryMs'
    > & { readonly maxIdleSeconds: number }
  > {
  readonly version: Version | number;
  readonly key?: string;
  readonly value?: string;
  readonly contentType?: string;
}

/** Returns a change of the map `m`, by default of its key `k` by another data set. */
export function changeOf(operation: Mutation['operation'], fields: ChangeFields): Mutation {
  const { version, key = 'k', value = '', contentType = '', ...others } = fields;
  const change = Object.assign(new Mutation(), { operation, origin: FROM_SOURCE, ...others });
  change.name.copyFrom(span('m'));
  if (operation !== CLEAR) change.key.copyFrom(span(key));
  change.value.copyFrom(span(value));
  change.contentType.copyFrom(span(contentType));
  if (version instanceof Version) change.version.copyFrom(version);
  else change.version.set(version, 1);
  return change;
}

/** Merges the change into an engine whose results arrive during the call. */
export function merged(
  engine: StoredEngine,
  change: Mutation,
  policy: MergePolicy = LATEST_UPDATE,
  syncBegan?: Version,
): Seen {
  const seen: Seen[] = [];
  const onResult = (answer: OperationResult) => seen.push(copied(answer));
  engine.merge(change, policy, { onResult }, syncBegan);
  assert.equal(seen.length, 1, 'No result during the call, or several');
  return seen[0]!;
}

/** Replays copies of the records. `isLog`: they are in the order in which they were recorded. */
export function replayInto(
  engine: StoredEngine,
  records: readonly Mutation[],
  isLog = false,
): void {
  const replay = engine.replay();
  if (isLog) replay.beginLog();
  for (const record of records) {
    const again = copyOf(record);
    again.origin = FROM_REPLAY;
    assert.equal(replay.apply(again), APPLIED);
  }
  assert.ok(replay.end());
}
