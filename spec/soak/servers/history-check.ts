/**
 * Judges the history of a round: what clients asked of members, and what they were answered, while servers
 * and members failed. A key has one writer, which writes one value after the other; each value, and each
 * item of a queue, is written once. So it is known which values a read may show:
 *
 * - At the end a key has the value of its last change that was answered done, or of a later one whose
 *   outcome is unknown.
 * - A read meanwhile shows a value whose change had begun and was not refused. It may be older than one
 *   that was answered done before the read began, but not by more than `staleMsMax`.
 * - An item is polled once at most, and not where its offer was refused. Each that was answered done is
 *   polled; but a poll that had no answer at all may have taken one with it, where `mayTakeAlong`.
 * - A producer's items are polled in the order offered. An item that came back, as its poll had no certain
 *   answer, may be late: `excusedCount`.
 *
 * Times are in ms, of one clock.
 */
export type Outcome = 'done' | 'not-applied' | 'unknown';

interface Call {
  readonly start: number;
  readonly end: number;
}

export interface MapChange extends Call {
  readonly key: string;
  /** Undefined: the key is removed. */
  readonly value: string | undefined;
  readonly outcome: Outcome;
}

export interface MapRead extends Call {
  readonly key: string;
  /** Undefined: there is none. */
  readonly value: string | undefined;
}

export interface Offer extends Call {
  readonly queue: string;
  readonly producer: string;
  readonly item: string;
  readonly outcome: Outcome;
}

export interface Poll extends Call {
  readonly queue: string;
  /** Where it has found one. */
  readonly item?: string | undefined;
  /** `unanswered`: the request was sent, and the connection ended. */
  readonly outcome: 'found' | 'empty' | 'not-applied' | 'unknown' | 'unanswered';
}

export interface History {
  readonly changes: readonly MapChange[];
  readonly reads: readonly MapRead[];
  /** Of all keys, once all is well again. */
  readonly lastReads: readonly MapRead[];
  readonly offers: readonly Offer[];
  /** Until all queues were empty. */
  readonly polls: readonly Poll[];
}

interface CheckOptions {
  readonly staleMsMax: number;
  readonly mayTakeAlong: boolean;
}

export type FaultKind =
  | 'write lost'
  | 'refused write seen'
  | 'value from nowhere'
  | 'stale read'
  | 'item lost'
  | 'item twice'
  | 'refused item seen'
  | 'item from nowhere'
  | 'order';

export interface Fault {
  readonly kind: FaultKind;
  readonly text: string;
}

export interface Judgement {
  readonly faults: readonly Fault[];
  /** How old a value was at most that a read has shown, since a newer one was answered done; ms. */
  readonly staleMs: number;
  readonly staleCount: number;
  /** Items that polls without an answer have taken along. */
  readonly takenAlong: number;
  /** Items out of order behind a poll without a certain answer. */
  readonly excusedCount: number;
}

export function judge(history: History, options: CheckOptions): Judgement {
  const faults: Fault[] = [];
  const add = (kind: FaultKind, text: string): void => {
    faults.push({ kind, text });
  };
  const stale = judgeMaps(history, options.staleMsMax, add);
  const items = judgeItems(history, options.mayTakeAlong, add);
  const excusedCount = judgeOrder(history, add);
  return { faults, ...stale, ...items, excusedCount };
}

type Add = (kind: FaultKind, text: string) => void;

function judgeMaps(
  { changes, reads, lastReads }: History,
  staleMsMax: number,
  add: Add,
): { staleMs: number; staleCount: number } {
  const byKey = groupedBy(changes, ({ key }) => key);
  for (const [key, own] of byKey) {
    for (const [index, change] of own.entries()) {
      if (index > 0 && change.start < own[index - 1]!.end) throw new Error(`${key}: two writers`);
    }
  }
  let staleMs = 0;
  let staleCount = 0;
  for (const read of reads) {
    const age = ageOf(read, byKey.get(read.key) ?? [], add);
    if (age <= 0) continue;
    staleMs = Math.max(staleMs, age);
    staleCount++;
    if (age > staleMsMax) add('stale read', `${told(read)} is older by ${age.toFixed(0)} ms`);
  }
  const seen = new Set<string>();
  for (const read of lastReads) {
    seen.add(read.key);
    const age = ageOf(read, byKey.get(read.key) ?? [], add);
    if (age > 0) add('write lost', `${told(read)} at the end`);
  }
  for (const key of byKey.keys()) {
    if (!seen.has(key)) throw new Error(`${key} was not read at the end`);
  }
  return { staleMs, staleCount };
}

/** How long before the read a newer value was answered done; 0 where none was. */
function ageOf(read: MapRead, changes: readonly MapChange[], add: Add): number {
  let isRefused = false;
  let nextDone: MapChange | undefined;
  for (let index = changes.length - 1; index >= -1; index--) {
    const change = changes[index];
    if (change?.value === read.value) {
      const mayBe = change === undefined || change.start <= read.end;
      if (mayBe && change?.outcome !== 'not-applied') {
        return nextDone === undefined ? 0 : Math.max(0, read.start - nextDone.end);
      }
      isRefused = true;
    }
    if (change?.outcome === 'done') nextDone = change;
  }
  add(isRefused ? 'refused write seen' : 'value from nowhere', told(read));
  return 0;
}

function judgeItems(
  { offers, polls }: History,
  mayTakeAlong: boolean,
  add: Add,
): { takenAlong: number } {
  const outcomes = new Map(offers.map(({ queue, item, outcome }) => [`${queue} ${item}`, outcome]));
  const found = new Set<string>();
  const mayBeTaken = new Map<string, number>();
  for (const poll of polls) {
    const { queue, item, outcome } = poll;
    if (outcome === 'unanswered') mayBeTaken.set(queue, (mayBeTaken.get(queue) ?? 0) + 1);
    if (outcome !== 'found') continue;
    const name = `${queue} ${item}`;
    const offered = outcomes.get(name);
    if (offered === undefined) add('item from nowhere', name);
    if (offered === 'not-applied') add('refused item seen', name);
    if (found.has(name)) add('item twice', name);
    found.add(name);
  }
  let takenAlong = 0;
  for (const { queue, item, outcome, end } of offers) {
    const name = `${queue} ${item}`;
    if (outcome !== 'done' || found.has(name)) continue;
    const left = mayTakeAlong ? (mayBeTaken.get(queue) ?? 0) : 0;
    if (left === 0) {
      add('item lost', `${name}, offered at ${end.toFixed(0)}`);
      continue;
    }
    takenAlong++;
    mayBeTaken.set(queue, left - 1);
  }
  return { takenAlong };
}

/** The number of items that were late behind a poll that may have held them. */
function judgeOrder({ offers, polls }: History, add: Add): number {
  const foundBy = new Map<string, Poll>();
  const uncertain = new Map<string, Poll[]>();
  for (const poll of polls) {
    if (poll.outcome === 'found') foundBy.set(`${poll.queue} ${poll.item}`, poll);
    else if (poll.outcome !== 'empty') push(uncertain, poll.queue, poll);
  }
  const done = offers.filter(({ outcome }) => outcome === 'done');
  let excusedCount = 0;
  for (const own of groupedBy(done, ({ queue, producer }) => `${queue} ${producer}`).values()) {
    let later: Poll | undefined;
    for (const offer of own.reverse()) {
      const poll = foundBy.get(`${offer.queue} ${offer.item}`);
      if (poll === undefined) continue;
      if (later !== undefined && later.end < poll.start) {
        const { end } = later;
        const mayHaveHeld = (held: Poll): boolean => held.start < end && held.end > offer.start;
        if (uncertain.get(offer.queue)?.some(mayHaveHeld) === true) excusedCount++;
        else add('order', `${offer.queue} ${offer.item} after ${later.item}`);
      }
      if (later === undefined || poll.end < later.end) later = poll;
    }
  }
  return excusedCount;
}

function groupedBy<Each>(all: readonly Each[], keyOf: (each: Each) => string): Map<string, Each[]> {
  const groups = new Map<string, Each[]>();
  for (const each of all) push(groups, keyOf(each), each);
  return groups;
}

function push<Each>(groups: Map<string, Each[]>, key: string, each: Each): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [each]);
  else group.push(each);
}

function told({ key, value, start }: MapRead): string {
  return `${key} = ${value ?? 'nothing'} at ${start.toFixed(0)}`;
}
