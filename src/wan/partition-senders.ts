/**
 * The partitions that a member sends for: each partition has one sender, the first for it by
 * rendezvous hashing over the members. So if a member joins or leaves, only the partitions that it
 * sends for change their sender. Tested by partition-senders.spec.ts.
 */
import { Span } from '../base/span.ts';
import { murmurHash3 } from '../engine/hash.ts';
import { KeyWords } from '../engine/key-words.ts';

/** Returns the partitions, in rising order, that the member with the uuid `own` sends for. */
export function partitionsSentBy(
  own: string,
  uuids: readonly string[],
  partitionCount: number,
): readonly number[] {
  const sorted = [...uuids].sort();
  const seeds = Uint32Array.from(sorted, seedOf);
  const ownIndex = sorted.indexOf(own);
  const word = new Int32Array(1);
  const partitions: number[] = [];
  for (let partition = 0; partition < partitionCount; partition++) {
    word[0] = partition;
    let first = -1;
    let firstRank = -1;
    for (let index = 0; index < seeds.length; index++) {
      const rank = murmurHash3(word, 0, 4, seeds[index]!);
      if (rank > firstRank) {
        first = index;
        firstRank = rank;
      }
    }
    if (first >= 0 && first === ownIndex) partitions.push(partition);
  }
  return partitions;
}

function seedOf(uuid: string): number {
  const { words, length } = new KeyWords().load(Span.of(uuid));
  return murmurHash3(words, 0, length, 0);
}
