/**
 * Checks the history of a round: the requests of clients and their outcomes while servers and
 * members failed. A key has one writer, which writes one value after the other; each value, and
 * each item of a queue, is written once. A call with the outcome `done` is confirmed. The rules
 * are:
 *
 * - At the end, a key has the value of its last confirmed change, or of a later one with an unknown
 *   outcome.
 * - Any other read returns a value whose change had begun and was not refused. The value may be
 *   older than one that was confirmed before the read began, but not by more than `staleMsMax`.
 * - An item is polled at most once, and not if its offer was refused. Each confirmed item is
 *   polled. With `mayLosePolled`, a poll without a response may have lost one.
 * - The items of a producer are polled in the order of the offers. An item that was returned to the
 *   queue, because its poll had no certain response, may be late: `excusedCount`.
 *
 * All times are in ms, of one clock.
 */
export type Outcome = 'done' | 'not-applied' | 'unknown';

interface Call {
  readonly start: number;
  readonly end: number;
}

export interface MapChange extends Call {
  readonly key: string;
  /** Undefined if the key is removed. */
  readonly value: string | undefined;
  readonly outcome: Outcome;
}

export interface MapRead extends Call {
  readonly key: string;
  /** Undefined if the key is absent. */
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
  /** The polled item, if there was one. */
  readonly item?: string | undefined;
  /** `unanswered`: the request was sent, and the connection ended without a response. */
  readonly outcome: 'found' | 'empty' | 'not-applied' | 'unknown' | 'unanswered';
}

export interface History {
  readonly changes: readonly MapChange[];
  readonly reads: readonly MapRead[];
  /** Reads of all keys once the cluster is healthy again. */
  readonly lastReads: readonly MapRead[];
  readonly offers: readonly Offer[];
  /** All polls, until all queues were empty. */
  readonly polls: readonly Poll[];
}

interface CheckOptions {
  readonly staleMsMax: number;
  readonly mayLosePolled: boolean;
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

export interface Verdict {
  readonly faults: readonly Fault[];
  /**
   * Maximum age of a stale read: time from the confirmation of a newer value to the read, in ms.
   */
  readonly staleMs: number;
  readonly staleCount: number;
  /** Number of items that were lost with polls without a response. */
  readonly lostCount: number;
  /** Number of items that were late because of a poll without a certain response. */
  readonly excusedCount: number;
}

export function checkHistory(history: History, options: CheckOptions): Verdict {
  const faults: Fault[] = [];
  const add = (kind: FaultKind, text: string): void => {
    faults.push({ kind, text });
  };
  const stale = checkMaps(history, options.staleMsMax, add);
  const items = checkItems(history, options.mayLosePolled, add);
  const excusedCount = checkOrder(history, add);
  return { faults, ...stale, ...items, excusedCount };
}

type Add = (kind: FaultKind, text: string) => void;

function checkMaps(
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
    if (age > staleMsMax) add('stale read', `${describe(read)} is stale by ${age.toFixed(0)} ms`);
  }
  const seen = new Set<string>();
  for (const read of lastReads) {
    seen.add(read.key);
    const age = ageOf(read, byKey.get(read.key) ?? [], add);
    if (age > 0) add('write lost', `${describe(read)} at the end`);
  }
  for (const key of byKey.keys()) {
    if (!seen.has(key)) throw new Error(`${key} was not read at the end`);
  }
  return { staleMs, staleCount };
}

/**
 * Returns the time from the confirmation of a newer value to the read, in ms; 0 without a newer
 * value.
 */
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
  add(isRefused ? 'refused write seen' : 'value from nowhere', describe(read));
  return 0;
}

function checkItems(
  { offers, polls }: History,
  mayLosePolled: boolean,
  add: Add,
): { lostCount: number } {
  const outcomes = new Map(offers.map(({ queue, item, outcome }) => [`${queue} ${item}`, outcome]));
  const found = new Set<string>();
  const possiblyLost = new Map<string, number>();
  for (const poll of polls) {
    const { queue, item, outcome } = poll;
    if (outcome === 'unanswered') possiblyLost.set(queue, (possiblyLost.get(queue) ?? 0) + 1);
    if (outcome !== 'found') continue;
    const name = `${queue} ${item}`;
    const offered = outcomes.get(name);
    if (offered === undefined) add('item from nowhere', name);
    if (offered === 'not-applied') add('refused item seen', name);
    if (found.has(name)) add('item twice', name);
    found.add(name);
  }
  let lostCount = 0;
  for (const { queue, item, outcome, end } of offers) {
    const name = `${queue} ${item}`;
    if (outcome !== 'done' || found.has(name)) continue;
    const remaining = mayLosePolled ? (possiblyLost.get(queue) ?? 0) : 0;
    if (remaining === 0) {
      add('item lost', `${name}, offered at ${end.toFixed(0)}`);
      continue;
    }
    lostCount++;
    possiblyLost.set(queue, remaining - 1);
  }
  return { lostCount };
}

/** Returns the number of items that were late because a poll may have held them. */
function checkOrder({ offers, polls }: History, add: Add): number {
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

function describe({ key, value, start }: MapRead): string {
  return `${key} = ${value ?? 'absent'} at ${start.toFixed(0)}`;
}
