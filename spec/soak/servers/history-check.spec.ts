/**
 * Checks of generated histories: a correct history has no fault, and each fault that is added is
 * found.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import {
  checkHistory,
  type FaultKind,
  type History,
  type MapChange,
  type MapRead,
  type Offer,
  type Outcome,
  type Poll,
} from './history-check.ts';

const OPTIONS = { staleMsMax: 100, mayLosePolled: false };
const ROUNDS = 200;
const OUTCOMES: readonly Outcome[] = ['done', 'done', 'done', 'unknown', 'not-applied'];

interface Generated extends History {
  changes: MapChange[];
  reads: MapRead[];
  lastReads: MapRead[];
  offers: Offer[];
  polls: Poll[];
}

/** Returns the history of a correct store: each call takes effect between its start and its end. */
function generated(seed: number): Generated {
  const random = new Random(seed);
  const history: Generated = { changes: [], reads: [], lastReads: [], offers: [], polls: [] };
  let now = 0;
  for (const key of ['a', 'b']) {
    let stored: string | undefined;
    for (let number = 0; number < 20; number++) {
      const outcome = OUTCOMES[random.below(OUTCOMES.length)]!;
      const value = random.below(5) === 0 ? undefined : `${key}${number}`;
      const start = ++now;
      const isApplied = outcome === 'done' || (outcome === 'unknown' && random.below(2) === 0);
      if (isApplied) stored = value;
      const end = ++now;
      history.changes.push({ key, value, start, end, outcome });
      history.reads.push({ key, value: stored, start: ++now, end: ++now });
    }
    history.lastReads.push({ key, value: stored, start: ++now, end: ++now });
  }
  const items: string[] = [];
  for (let number = 0; number < 40; number++) {
    const outcome = OUTCOMES[random.below(OUTCOMES.length)]!;
    const item = `${number}`;
    const isApplied = outcome === 'done' || (outcome === 'unknown' && random.below(2) === 0);
    if (isApplied) items.push(item);
    const call = { start: ++now, end: ++now };
    history.offers.push({ queue: 'q', producer: 'p', item, ...call, outcome });
    if (random.below(2) === 0) poll(history, items.shift(), ++now);
  }
  while (items.length > 0) poll(history, items.shift(), ++now + 1000);
  return history;
}

function poll(history: Generated, item: string | undefined, at: number): void {
  const outcome = item === undefined ? 'empty' : 'found';
  history.polls.push({ queue: 'q', item, start: at, end: at + 0.5, outcome });
}

function kindsOf(history: History, options = OPTIONS): FaultKind[] {
  return [...new Set(checkHistory(history, options).faults.map(({ kind }) => kind))];
}

/** Adds a fault to a history. Returns false if the history has no place for it. */
type AddFault = (history: Generated, random: Random) => boolean;

const FAULTS: readonly (readonly [FaultKind, AddFault])[] = [
  [
    'write lost',
    ({ changes, lastReads }) => {
      const [read] = lastReads;
      const own = changes.filter(({ key }) => key === read!.key);
      const last = own.findLastIndex(({ outcome }) => outcome === 'done');
      const older = own.slice(0, last).find(({ outcome }) => outcome === 'done');
      if (older?.value === undefined) return false;
      lastReads[0] = { ...read!, value: older.value };
      return own.slice(last + 1).every(({ value }) => value !== older.value);
    },
  ],
  [
    'refused write seen',
    ({ changes, lastReads }) => {
      const [read] = lastReads;
      const refused = changes.find(
        ({ key, value, outcome }) =>
          key === read!.key && value !== undefined && outcome === 'not-applied',
      );
      if (refused === undefined) return false;
      lastReads[0] = { ...read!, value: refused.value };
      return true;
    },
  ],
  [
    'value from nowhere',
    ({ reads }, random) => {
      const at = random.below(reads.length);
      reads[at] = { ...reads[at]!, value: 'strange' };
      return true;
    },
  ],
  [
    'stale read',
    ({ changes, reads }) => {
      const older = changes.find(({ value, outcome }) => value !== undefined && outcome === 'done');
      if (older === undefined) return false;
      const newer = changes.find(
        ({ key, start, outcome }) => key === older.key && start > older.end && outcome === 'done',
      );
      if (newer === undefined) return false;
      const start = newer.end + OPTIONS.staleMsMax + 1;
      reads.push({ key: older.key, value: older.value, start, end: start + 1 });
      return true;
    },
  ],
  [
    'item lost',
    ({ offers, polls }, random) => {
      const done = offers.filter(({ outcome }) => outcome === 'done');
      const lost = done[random.below(done.length)];
      const at = polls.findIndex(({ item }) => item !== undefined && item === lost?.item);
      if (at < 0) return false;
      polls.splice(at, 1);
      return true;
    },
  ],
  [
    'item twice',
    ({ polls }, random) => {
      const found = polls.filter(({ outcome }) => outcome === 'found');
      const again = found[random.below(found.length)];
      if (again === undefined) return false;
      polls.push({ ...again, start: again.start + 5000, end: again.end + 5000 });
      return true;
    },
  ],
  [
    'refused item seen',
    ({ offers, polls }) => {
      const refused = offers.find(({ outcome }) => outcome === 'not-applied');
      if (refused === undefined) return false;
      polls.push({ queue: 'q', item: refused.item, start: 5000, end: 5001, outcome: 'found' });
      return true;
    },
  ],
  [
    'item from nowhere',
    ({ polls }) => {
      polls.push({ queue: 'q', item: 'strange', start: 5000, end: 5001, outcome: 'found' });
      return true;
    },
  ],
  [
    'order',
    ({ offers, polls }) => {
      const done = offers.filter(({ outcome }) => outcome === 'done').map(({ item }) => item);
      const own = polls.filter(({ item }) => item !== undefined && done.includes(item));
      const [one, other] = own;
      if (one === undefined || other === undefined) return false;
      polls[polls.indexOf(one)] = { ...one, item: other.item };
      polls[polls.indexOf(other)] = { ...other, item: one.item };
      return true;
    },
  ],
];

test('checkHistory finds no fault in a correct history', () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const { faults, staleMs, lostCount, excusedCount } = checkHistory(generated(seed), OPTIONS);
    assert.deepEqual(
      { faults, staleMs, lostCount, excusedCount },
      { faults: [], staleMs: 0, lostCount: 0, excusedCount: 0 },
      `seed ${seed}`,
    );
  }
});

for (const [kind, addFault] of FAULTS) {
  test(`checkHistory finds every "${kind}"`, () => {
    let count = 0;
    for (let seed = 1; seed <= ROUNDS; seed++) {
      const history = generated(seed);
      if (!addFault(history, new Random(seed))) continue;
      count++;
      assert.ok(kindsOf(history).includes(kind), `seed ${seed}`);
    }
    assert.ok(count > ROUNDS / 2, `${count} histories`);
  });
}

const OFFERED = { queue: 'q', producer: 'p', outcome: 'done' as const };
const NOTHING: Generated = { changes: [], reads: [], lastReads: [], offers: [], polls: [] };

test('A poll without a response may lose one item with mayLosePolled, otherwise none', () => {
  const offers = ['a', 'b'].map((item, at) => ({ ...OFFERED, item, start: at, end: at + 0.5 }));
  const polls = [{ queue: 'q', start: 2, end: 3, outcome: 'unanswered' as const }];
  const history = { ...NOTHING, offers, polls };
  const may = { ...OPTIONS, mayLosePolled: true };
  assert.equal(checkHistory(history, may).faults.length, 1);
  assert.equal(checkHistory(history, may).lostCount, 1);
  assert.equal(checkHistory(history, OPTIONS).faults.length, 2);
  const ofOtherQueue = { ...history, polls: [{ ...polls[0]!, queue: 'other' }] };
  assert.equal(checkHistory(ofOtherQueue, may).faults.length, 2);
});

test('An item may be late only if a poll may have held it', () => {
  const offers = ['a', 'b'].map((item, at) => ({ ...OFFERED, item, start: at, end: at + 0.5 }));
  const found = ['b', 'a'].map((item, at) => {
    return { queue: 'q', item, start: 10 + at, end: 10.5 + at, outcome: 'found' as const };
  });
  const holding = (start: number, end: number): History => {
    const held = { queue: 'q', start, end, outcome: 'unknown' as const };
    return { ...NOTHING, offers, polls: [held, ...found] };
  };
  assert.deepEqual(kindsOf(holding(5, 10)), []);
  assert.equal(checkHistory(holding(5, 10), OPTIONS).excusedCount, 1);
  assert.deepEqual(kindsOf(holding(11, 12)), ['order']);
  assert.deepEqual(kindsOf(holding(-2, -1)), ['order']);
});

test('A read that overlaps a change may return either value', () => {
  const changes = [
    { key: 'k', value: 'a', start: 0, end: 1, outcome: 'done' as const },
    { key: 'k', value: 'b', start: 10, end: 300, outcome: 'done' as const },
  ];
  const reads = ['a', 'b'].map((value) => ({ key: 'k', value, start: 299, end: 310 }));
  const lastReads = [{ key: 'k', value: 'b', start: 400, end: 401 }];
  assert.deepEqual(kindsOf({ ...NOTHING, changes, reads, lastReads }), []);
  const early = [{ key: 'k', value: 'b', start: 2, end: 9 }];
  assert.deepEqual(kindsOf({ ...NOTHING, changes, reads: early, lastReads }), [
    'refused write seen',
  ]);
});
