/**
 * The payloads of the messages about hash trees (message-format.ts describes the head). A request
 * asks for sums of the trees of a map's partitions: those of nodes of one level, or of all nodes
 * some levels below them. Payload of a request:
 *
 *     0  key of the hashes (entry-hash.ts), 8 bytes
 *     8  number of partitions of the sender, four bytes
 *    12  depth of the sender's trees, one byte: 2 to 16
 *    13  level of the nodes, one byte: 0 for roots, less than the depth
 *    14  levels, one byte: how far the sums are below the nodes; level + levels is below the depth
 *    15  zero
 *    16  two texts: required name of the target's cluster, and name of the map, 1 byte or more
 *        then four bytes: number of nodes, 1 or more; number x 2^levels is 8000 at most
 *        then for each node its partition, two bytes, and its index in its level, two bytes;
 *        ascending, each once. Unless only roots are requested, their trees take 8 MiB at most
 *
 * Payload of the response:
 *
 *     0  reason why there are no sums, one byte: 0 there are, 1 the trees of the map are turned off,
 *        2 the depths differ, 3 the numbers of partitions differ
 *     1  depth of the responder's trees of the map, one byte; at 2 zero, two bytes
 *     4  number of partitions of the responder, four bytes
 *     8  for each node 2^levels sums, from the lowest index on: low word, high word
 */

import { type FieldReader, FieldWriter } from '../base/fields.ts';
import { counted } from '../base/quantities.ts';
import { isReservedMap } from '../base/reserved-map.ts';
import { headOf, openResponse, type Sender } from './batch.ts';
import { HASH_KEY_BYTES } from './entry-hash.ts';
import {
  HEAD_BYTES,
  malformed,
  type OpenedMessage,
  payloadReader,
  sealPlain,
  TREES_REQUEST,
  TREES_RESPONSE,
} from './message-format.ts';
import { SUM_BYTES, TREE_DEPTH_MAX, treesMax } from './partition-tree.ts';

/** Maximum number of sums in a response, which then stays below RESPONSE_BYTES_MAX. */
export const SUMS_MAX = 8000;

export const COMPARABLE = 0;
export const TURNED_OFF = 1;
export const OTHER_DEPTH = 2;
export const OTHER_PARTITION_COUNT = 3;

const DEPTH_MIN = 2;
const PARTITION_COUNT_MAX = 65_536;
const REQUEST_BYTES = 20;
const RESPONSE_BYTES = 8;
const NODE_BYTES = 4;
/** A node's number is its partition times this factor, plus its index. */
const PARTITION_FACTOR = 65_536;

/** A node of a level as one number. Numbers sort in the order of a request. */
export type NodeNumber = number;

export function nodeOf(partition: number, index: number): NodeNumber {
  return partition * PARTITION_FACTOR + index;
}

export function partitionOf(node: NodeNumber): number {
  return Math.floor(node / PARTITION_FACTOR);
}

export function indexOf(node: NodeNumber): number {
  return node % PARTITION_FACTOR;
}

/** A request for the sums `levels` levels below these nodes. */
export interface TreeQuestion {
  /** Key of the hashes. */
  readonly key: Buffer;
  readonly partitionCount: number;
  readonly depth: number;
  readonly level: number;
  readonly levels: number;
  readonly nodes: readonly NodeNumber[];
}

export interface ReceivedTreeRequest extends TreeQuestion {
  readonly clusterName: string;
  readonly map: Buffer;
}

/** Builds a request. `texts` are the encoded names of the cluster and the map. */
export function treeRequest(sender: Sender, texts: Buffer, question: TreeQuestion): Buffer {
  const { key, partitionCount, depth, level, levels, nodes } = question;
  const length = REQUEST_BYTES + texts.length + nodes.length * NODE_BYTES;
  const writer = new FieldWriter(Buffer.alloc(HEAD_BYTES + length), HEAD_BYTES);
  writer.put(key).word(partitionCount).byte(depth).byte(level).byte(levels).byte(0).put(texts);
  writer.word(nodes.length);
  for (const node of nodes) writer.short(partitionOf(node)).short(indexOf(node));
  return sealPlain(writer.bytes, headOf(sender, TREES_REQUEST));
}

/** Reads a request. Throws GridError WAN_MESSAGE_INVALID. */
export function readTreeRequest({ payload }: OpenedMessage): ReceivedTreeRequest {
  const reader = payloadReader(payload);
  const key = Buffer.from(reader.bytes(HASH_KEY_BYTES));
  const partitionCount = reader.word();
  const depth = reader.byte();
  const level = reader.byte();
  const levels = reader.byte();
  if (reader.byte() !== 0) throw malformed('it has an unknown flag');
  if (partitionCount === 0 || partitionCount > PARTITION_COUNT_MAX) {
    throw malformed(`its sender has ${counted(partitionCount, 'partition')}`);
  }
  if (depth < DEPTH_MIN || depth > TREE_DEPTH_MAX) throw malformed(`its trees have depth ${depth}`);
  if (level + levels >= depth)
    throw malformed(`it asks for level ${level} + ${levels} of trees of depth ${depth}`);
  const clusterName = reader.text().toString();
  const map = Buffer.from(reader.text());
  if (isReservedMap(map)) throw malformed('it names no map');
  const nodes = readNodes(reader, partitionCount, depth, level, levels);
  reader.end();
  return { key, partitionCount, depth, level, levels, clusterName, map, nodes };
}

function readNodes(
  reader: FieldReader,
  partitionCount: number,
  depth: number,
  level: number,
  levels: number,
): NodeNumber[] {
  const count = reader.word();
  if (count === 0 || count * 2 ** levels > SUMS_MAX)
    throw malformed(`it asks for ${counted(count, 'node')}`);
  const nodes: NodeNumber[] = [];
  let treeCount = 0;
  let last = -1;
  for (let each = 0; each < count; each++) {
    const partition = reader.short();
    const index = reader.short();
    if (partition >= partitionCount) throw malformed(`it asks for partition ${partition}`);
    if (index >= 2 ** level) throw malformed(`it asks for node ${index} of level ${level}`);
    const node = nodeOf(partition, index);
    if (node <= last) throw malformed('its nodes are not in ascending order');
    if (last < 0 || partition !== partitionOf(last)) treeCount++;
    last = node;
    nodes.push(node);
  }
  if (level + levels > 0 && treeCount > treesMax(depth - 1))
    throw malformed(`it asks for ${counted(treeCount, 'tree')}`);
  return nodes;
}

/** The responder's trees, and the reason why they cannot be compared. */
export interface RespondingSide {
  readonly reason: number;
  readonly depth: number;
  readonly partitionCount: number;
}

/** Builds a response without its head. `sums` are low and high words. */
export function unsealedTreesResponse(
  { reason, depth, partitionCount }: RespondingSide,
  sums: Uint32Array,
): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES + RESPONSE_BYTES + sums.length * 4);
  const writer = new FieldWriter(bytes, HEAD_BYTES)
    .byte(reason)
    .byte(depth)
    .short(0)
    .word(partitionCount);
  for (const word of sums) writer.word(word);
  return bytes;
}

interface TreesResponse extends RespondingSide {
  readonly dataSet: Buffer;
  /** Low and high words. */
  readonly sums: Uint32Array;
}

/** Reads the response to a request. Rejects with GridError WAN_MESSAGE_INVALID. */
export async function readTreesResponse(
  body: Uint8Array,
  message: Buffer,
  { nodes, levels }: TreeQuestion,
): Promise<TreesResponse> {
  const { opened, reader } = await openResponse(body, message, TREES_RESPONSE);
  const reason = reader.byte();
  if (reason > OTHER_PARTITION_COUNT) throw malformed(`its reason is ${reason}`);
  const depth = reader.byte();
  reader.short();
  const partitionCount = reader.word();
  const { dataSet, payload } = opened;
  const count = reason === COMPARABLE ? nodes.length * 2 ** levels : 0;
  if (payload.length !== RESPONSE_BYTES + count * SUM_BYTES)
    throw malformed('its number of sums does not match');
  const sums = new Uint32Array(2 * count);
  for (let at = 0; at < sums.length; at++) sums[at] = reader.word();
  return { reason, depth, partitionCount, dataSet, sums };
}
