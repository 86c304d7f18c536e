/**
 * Where things stand in the store, format 1. Each partition has a hash tag, so that its keys share a slot
 * of Redis Cluster, and the tags are spread evenly over the slots. The tag stands before any name, as
 * names have braces. The name of the cluster follows, with its length before it, so that several
 * clusters share a server; then what the key is for, and the name of the map or queue:
 *
 *     {TAG}LENGTH:CLUSTER/KIND:NAME
 */
import { ViewedBytes } from '../../base/short-copies.ts';
import { Span } from '../../base/span.ts';
import { partitionOf } from '../hash.ts';
import { KeyWords } from '../key-words.ts';

/** Slots of Redis Cluster. */
export const SLOT_COUNT = 16384;

/** What a key is for: a place among the letters, one of which stands in the key. */
export const MAP = 0;
/** The ends of life of a map's entries: a sorted set beside the hash. */
export const EXPIRIES = 1;
/** The maps of a partition that have such a set: a sorted set, by the end that comes first. */
export const EXPIRING = 2;
/** The items of a queue. */
export const ITEMS = 3;
/** The items of a queue that came back, which are polled first. */
export const RETURNED = 4;
/** Numbers of a queue. */
export const QUEUE = 5;
/** The members whose polls wait at a queue. */
export const WAITING = 6;
/** The items that members hold, of a partition. */
export const HELD = 7;
/** The marks of holds that have ended, of a partition. */
export const MARKS = 8;
/** The channel of a member: what comes into the queues of a partition where its polls wait. */
export const WAKE_UPS = 9;

const LETTERS = 'mxeqrnwhku';
/** Of the cluster's own keys. */
const CLUSTER_LETTER = 'c';

export type KeyKind = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

export class Layout {
  readonly partitionCount: number;
  readonly #tags: readonly string[];
  readonly #slots: Uint16Array;
  readonly #owner: string;
  /** By kind, then partition; those of a kind lie in one memory. */
  readonly #prefixes: Span[][] = [];
  readonly #key = new KeyWords();

  constructor(clusterName: string, partitionCount: number) {
    this.partitionCount = partitionCount;
    this.#tags = tagsOf(partitionCount);
    this.#slots = Uint16Array.from(this.#tags, (tag) => slotOfTag(tag));
    this.#owner = `${Buffer.byteLength(clusterName)}:${clusterName}/`;
  }

  /** The partition of a key of a map, or of a queue by its name. */
  partitionOf(name: Span): number {
    const { words, length } = this.#key.load(name);
    return partitionOf(words, 0, length, this.partitionCount);
  }

  /** The slot of everything in the partition. */
  slotOf(partition: number): number {
    return this.#slots[partition]!;
  }

  /** What stands before the name in the partition's keys of that kind. */
  prefix(kind: KeyKind, partition: number): Span {
    this.#prefixes[kind] ??= this.#prefixesOf(kind);
    return this.#prefixes[kind][partition]!;
  }

  /** The partition's key of that kind and name. */
  key(kind: KeyKind, partition: number, name: Buffer): Buffer {
    return Buffer.concat([this.prefix(kind, partition).toBuffer(), name]);
  }

  /** The key of the cluster's own value of that name; all of them share a slot. */
  clusterKey(name: string): Buffer {
    return Buffer.from(`{${this.#tags[0]}}${this.#owner}${CLUSTER_LETTER}:${name}`);
  }

  /** The pattern of all keys, or channels, of that kind, as access control lists have it. */
  pattern(kind: KeyKind): string {
    return this.#pattern(LETTERS[kind]!);
  }

  /** The pattern of the cluster's own keys. */
  get clusterKeyPattern(): string {
    return this.#pattern(CLUSTER_LETTER);
  }

  /** Access control lists take no spaces. */
  #pattern(letter: string): string {
    const owner = this.#owner.replace(/[*?[\]\\]/g, '\\$&').replaceAll(' ', '?');
    return `{*}${owner}${letter}:*`;
  }

  #prefixesOf(kind: KeyKind): Span[] {
    const texts = this.#tags.map((tag) => `{${tag}}${this.#owner}${LETTERS[kind]}:`);
    const { bytes, view } = ViewedBytes.copyOf(Buffer.from(texts.join('')));
    let end = 0;
    return texts.map((text) => {
      const start = end;
      end += Buffer.byteLength(text);
      return new Span().setViewed(bytes, view, start, end);
    });
  }
}

/** The tag of each partition: a number, in base 36, of the slot that the partition is to have. */
function tagsOf(partitionCount: number): string[] {
  const tags: string[] = new Array(partitionCount).fill('');
  const wanted = new Map<number, number[]>();
  for (let partition = 0; partition < partitionCount; partition++) {
    const slot = Math.floor((partition * SLOT_COUNT) / partitionCount);
    wanted.set(slot, [...(wanted.get(slot) ?? []), partition]);
  }
  for (let number = 0; wanted.size > 0; number++) {
    const tag = number.toString(36);
    const slot = slotOfTag(tag);
    const partitions = wanted.get(slot);
    if (partitions === undefined) continue;
    tags[partitions.shift()!] = tag;
    if (partitions.length === 0) wanted.delete(slot);
  }
  return tags;
}

/** CRC-16/XMODEM of the tag, as Redis Cluster has it. */
function slotOfTag(tag: string): number {
  let crc = 0;
  for (let at = 0; at < tag.length; at++) {
    crc ^= tag.charCodeAt(at) << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc % SLOT_COUNT;
}
