/** The script of lists of entries for a fake server; see fake-scripts.ts. */
import { createHash } from 'node:crypto';
import { LISTED_ELEMENT_BYTES } from '../../src/engine/engine.ts';
import type { Value } from './fake-data.ts';
import { headLength, type ScriptFunction, type ScriptRun } from './script-run.ts';

const DIGITS = 16;
const PASSED_MAX = 65_535;

interface Element {
  readonly key: string;
  readonly value: string;
  readonly length: number | undefined;
  hash: string;
}

/** A run of the script. */
class Listing {
  readonly reply: Value[] = [0, '', '', 0, '', 0];
  count = 0;
  bytes = 0;
  looked = 0;
  lookedBytes = 0;
  /** 2 if elements may be listed again. */
  again = 0;
  readonly #run: ScriptRun;
  readonly #hash: string;
  readonly #prefix: string;
  readonly #valueMax: number;

  constructor(run: ScriptRun, hash: string, prefix: string, valueMax: number) {
    this.#run = run;
    this.#valueMax = valueMax;
    this.#hash = hash;
    this.#prefix = prefix;
  }

  get serverRun(): string {
    return /run_id:(\w{8})/.exec(this.#run.text('INFO', 'server') ?? '')?.[1] ?? '';
  }

  scan(cursor: string, count: number): [string, Element[]] {
    const [next, found] = this.#run.call('HSCAN', this.#hash, cursor, 'COUNT', count) as [
      string,
      string[],
    ];
    const elements: Element[] = [];
    for (let at = 0; at < found.length; at += 2) {
      const key = found[at]!;
      let value = found[at + 1]!;
      let length: number | undefined;
      this.lookedBytes += key.length + value.length;
      if (!key.startsWith(this.#prefix)) continue;
      const head = value.length > this.#valueMax ? headLength(value) : 0;
      if (value.length - head > this.#valueMax) {
        length = value.length;
        value = value.slice(0, head);
      }
      elements.push({ key, value, length, hash: '' });
    }
    this.looked += Math.max(count, found.length / 2);
    return [next, elements];
  }

  pass(element: Element): void {
    this.reply.push(element.key, element.value);
    if (element.length !== undefined) this.reply.push(element.length);
    this.count++;
    this.bytes += bytesOf([element]);
  }

  stop(cursor: string, passed: number, hash: string): Value {
    this.reply[0] = Number(this.reply[0]) + this.again;
    this.reply[1] = cursor;
    if (cursor !== '0') this.reply[2] = this.serverRun;
    this.reply[3] = passed;
    this.reply[4] = hash;
    this.reply[5] = this.looked;
    return this.reply;
  }
}

export const listEntries: ScriptFunction = (run, [key = ''], args) => {
  const [prefix = '', from = '', ofRun = '', passedText = '', fromHash = ''] = args;
  const [countMax = 0, bytesMax = 0, lookedMax = 0, lookedBytesMax = 0] = args.slice(5).map(Number);
  const passesAny = args[9];
  const listing = new Listing(run, key, prefix, Number(args[10]));
  const isLost = from !== '0' && ofRun !== listing.serverRun;
  const [cursor, passed, hash] = isLost ? ['0', 0, ''] : [from, Number(passedText), fromHash];
  if (isLost) listing.again = 2;
  let [after, found] = listing.scan(cursor, 1);
  const isWhole = cursor === '0' && after === '0';
  let skipped = 0;
  if (passed > 0) {
    sort(found);
    if (passed <= found.length && hashOf(found.slice(0, passed)) === hash) skipped = passed;
    else listing.again = 2;
  } else if (isWhole && hash !== '') {
    sort(found);
    while (skipped < found.length && found[skipped]!.hash <= hash) skipped++;
  } else if (hash !== '') listing.again = 2;
  const rest = found.slice(skipped);
  if (rest.length > countMax || bytesOf(rest) > bytesMax) {
    if (found[0]!.hash === '') sort(found);
    let last = skipped;
    while (last < found.length && listing.count < countMax && listing.bytes < bytesMax) {
      const element = found[last]!;
      if (passesAny === '0' && listing.bytes + bytesOf([element]) > bytesMax) break;
      listing.pass(element);
      last++;
    }
    if (last < found.length) {
      if (last === skipped) return listing.stop(cursor, passed, hash);
      const lastHash = found[last - 1]!.hash;
      if (isWhole && lastHash < found[last]!.hash) return listing.stop(cursor, 0, lastHash);
      last = Math.min(last, PASSED_MAX);
      return listing.stop(cursor, last, hashOf(found.slice(0, last)));
    }
  } else for (const element of rest) listing.pass(element);
  let count = 1;
  while (after !== '0' && listing.count < countMax && listing.bytes < bytesMax) {
    const { looked, lookedBytes } = listing;
    if (looked >= lookedMax || lookedBytes >= lookedBytesMax) break;
    const room = Math.min(
      (countMax - listing.count) / Math.max(listing.count, 1),
      (bytesMax - listing.bytes) / Math.max(listing.bytes, 1),
      (lookedMax - looked) / looked,
      (lookedBytesMax - lookedBytes) / Math.max(lookedBytes, 1),
    );
    count = Math.max(1, Math.floor(Math.min(2 * count, looked * room)));
    let next: string;
    [next, found] = listing.scan(after, count);
    const bytes = listing.bytes + bytesOf(found);
    if (listing.count + found.length > countMax || bytes > bytesMax) break;
    for (const element of found) listing.pass(element);
    after = next;
  }
  if (after === '0') listing.reply[0] = 1;
  return listing.stop(after, 0, '');
};

function bytesOf(elements: readonly Element[]): number {
  const bytes = elements.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  return bytes + elements.length * LISTED_ELEMENT_BYTES;
}

function sort(elements: Element[]): void {
  for (const element of elements) element.hash = sha1(element.key).slice(0, DIGITS);
  elements.sort((a, b) => (a.hash + a.key < b.hash + b.key ? -1 : 1));
}

function hashOf(elements: readonly Element[]): string {
  return sha1(elements.map(({ key }) => sha1(key)).join('')).slice(0, DIGITS);
}

function sha1(text: string): string {
  return createHash('sha1').update(text, 'latin1').digest('hex');
}
