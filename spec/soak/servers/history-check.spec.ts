/** The check of histories, on histories made up: it passes what may be, and sees each fault put into it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import {
  type FaultKind,
  type History,
  judge,
  type MapChange,
  type MapRead,
  type Offer,
  type Outcome,
  type Poll,
} from './history-check.ts';

const OPTIONS = { staleMsMax: 100, mayTakeAlong: false };
const ROUNDS = 200;
const OUTCOMES: readonly Outcome[] = ['done', 'done', 'done', 'unknown', 'not-applied'];

interface MadeUp extends History {
  changes: MapChange[];
  reads: MapRead[];
  lastReads: MapRead[];
  offers: Offer[];
  polls: Poll[];
}

/** A store that does what is asked for at a moment between the start of a call and its end. */
function madeUp(seed: number): MadeUp {
  const random = new Random(seed);
  const history: MadeUp = { changes: [], reads: [], lastReads: [], offers: [], polls: [] };
  let now = 0;
  for (const key of ['a', 'b']) {
    let stored: string | undefined;
    for (let number = 0; number < 20; number++) {
      const outcome = OUTCOMES[random.below(OUTCOMES.length)]!;
      const value = random.below(5) === 0 ? undefined : `${key}${number}`;
      const start = ++now;
      const isMade = outcome === 'done' || (outcome === 'unknown' && random.below(2) === 0);
      if (isMade) stored = value;
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
    const isMade = outcome === 'done' || (outcome === 'unknown' && random.below(2) === 0);
    if (isMade) items.push(item);
    const call = { start: ++now, end: ++now };
    history.offers.push({ queue: 'q', producer: 'p', item, ...call, outcome });
    if (random.below(2) === 0) poll(history, items.shift(), ++now);
  }
  while (items.length > 0) poll(history, items.shift(), ++now + 1000);
  return history;
}

function poll(history: MadeUp, item: string | undefined, at: number): void {
  const outcome = item === undefined ? 'empty' : 'found';
  history.polls.push({ queue: 'q', item, start: at, end: at + 0.5, outcome });
}

function kindsOf(history: History, options = OPTIONS): FaultKind[] {
  return [...new Set(judge(history, options).faults.map(({ kind }) => kind))];
}

/** One change to a history, which has to be seen; undefined where the history has no place for it. */
type Spoil = (history: MadeUp, random: Random) => boolean;

const SPOILS: readonly (readonly [FaultKind, Spoil])[] = [
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

test('judge finds no fault in what may be', () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const { faults, staleMs, takenAlong, excusedCount } = judge(madeUp(seed), OPTIONS);
    assert.deepEqual(
      { faults, staleMs, takenAlong, excusedCount },
      { faults: [], staleMs: 0, takenAlong: 0, excusedCount: 0 },
      `seed ${seed}`,
    );
  }
});

for (const [kind, spoil] of SPOILS) {
  test(`judge sees each "${kind}"`, () => {
    let count = 0;
    for (let seed = 1; seed <= ROUNDS; seed++) {
      const history = madeUp(seed);
      if (!spoil(history, new Random(seed))) continue;
      count++;
      assert.ok(kindsOf(history).includes(kind), `seed ${seed}`);
    }
    assert.ok(count > ROUNDS / 2, `${count} histories`);
  });
}

const OFFERED = { queue: 'q', producer: 'p', outcome: 'done' as const };
const NOTHING: MadeUp = { changes: [], reads: [], lastReads: [], offers: [], polls: [] };

test('a poll without an answer may take one item along, where that is allowed', () => {
  const offers = ['a', 'b'].map((item, at) => ({ ...OFFERED, item, start: at, end: at + 0.5 }));
  const polls = [{ queue: 'q', start: 2, end: 3, outcome: 'unanswered' as const }];
  const history = { ...NOTHING, offers, polls };
  const may = { ...OPTIONS, mayTakeAlong: true };
  assert.equal(judge(history, may).faults.length, 1);
  assert.equal(judge(history, may).takenAlong, 1);
  assert.equal(judge(history, OPTIONS).faults.length, 2);
  const elsewhere = { ...history, polls: [{ ...polls[0]!, queue: 'other' }] };
  assert.equal(judge(elsewhere, may).faults.length, 2);
});

test('an item may be late behind a poll that may have held it, and only then', () => {
  const offers = ['a', 'b'].map((item, at) => ({ ...OFFERED, item, start: at, end: at + 0.5 }));
  const found = ['b', 'a'].map((item, at) => {
    return { queue: 'q', item, start: 10 + at, end: 10.5 + at, outcome: 'found' as const };
  });
  const holding = (start: number, end: number): History => {
    const held = { queue: 'q', start, end, outcome: 'unknown' as const };
    return { ...NOTHING, offers, polls: [held, ...found] };
  };
  assert.deepEqual(kindsOf(holding(5, 10)), []);
  assert.equal(judge(holding(5, 10), OPTIONS).excusedCount, 1);
  assert.deepEqual(kindsOf(holding(11, 12)), ['order']);
  assert.deepEqual(kindsOf(holding(-2, -1)), ['order']);
});

test('reads that overlap a change may show either value', () => {
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
