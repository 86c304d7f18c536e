/**
 * Reads the WAN replication that a request adds: JSON in the form of the WanReplicationConfig of
 * the original. Its names are those of a file in camel case; its enumerations are numbers or names.
 * Unknown names are ignored and null counts as missing, as in the original. Its fields are renamed
 * to the rows of a file, so that settings, ranges and refusals are the same. Messages name the
 * field: `batchPublishers[0].batchSize`. Adds the replication to those of a member, and removes
 * added publishers.
 */
import { GridError } from '../base/errors.ts';
import { ConfigFault, finding } from '../config/finding.ts';
import { FINDINGS_MAX, quoted } from '../config/finding-list.ts';
import { readRows } from '../config/section-reading.ts';
import { isHidden, MASK } from '../config/setting.ts';
import type { Statement } from '../config/statements.ts';
import {
  PUBLISHERS_MAX,
  type WanConfig,
  type WanPublisherOptions,
  type WanReplication,
} from './wan-config.ts';
import { publisherOf, type QueueLimits } from './wan-publisher.ts';
import {
  ACKNOWLEDGE_TYPES,
  CONSISTENCY_CHECK_STRATEGIES,
  DISCOVERIES,
  NO_CLASS,
  PUBLISHER_KEYS,
  PUBLISHER_SETTINGS,
  PUBLISHER_STATES,
  type PublisherKey,
  publisherNameOf,
  QUEUE_FULL_BEHAVIORS,
} from './wan-settings.ts';

type Config = Pick<WanConfig, 'wanEndpoints'> & QueueLimits;
type Fields = Readonly<Record<string, unknown>>;

/** Settings whose words have numbers: the words in the order of the numbers. */
const NUMBERED: Readonly<Partial<Record<PublisherKey, readonly string[]>>> = {
  acknowledgeType: ACKNOWLEDGE_TYPES,
  initialPublisherState: PUBLISHER_STATES,
  queueFullBehavior: QUEUE_FULL_BEHAVIORS,
  consistencyCheckStrategy: CONSISTENCY_CHECK_STRATEGIES,
};
/** Settings that are a number of bytes, or a text as in a file. */
const BYTES: ReadonlySet<PublisherKey> = new Set(['queueBytesMax']);
const NAME = PUBLISHER_SETTINGS.publisherId;
/** A value of JSON has no place in a file. */
const NOWHERE = { file: '', line: 0, column: 0 };
/** The type of a value that is of another type than its setting. */
const OTHER_TYPE = { expects: '', accepts: () => false };

/**
 * Returns the text without the publisher, if it is of that replication. The name of the replication
 * remains, because maps may refer to it. `text`: one that addWanText has read.
 */
export function withoutPublisher(text: string, replication: string, publisherId: string): string {
  const root = fieldsIn(text);
  const items = root?.batchPublishers;
  if (root?.name !== replication || !Array.isArray(items)) return text;
  const left = items.filter((item) => !isObject(item) || publisherIdIn(item) !== publisherId);
  return left.length === items.length ? text : JSON.stringify({ ...root, batchPublishers: left });
}

/**
 * Returns the name of the replication whose publishers the text adds, and whether it adds no
 * publisher.
 */
export function replicationIn(text: string): { readonly name: unknown; readonly isEmpty: boolean } {
  const { name, batchPublishers } = fieldsIn(text) ?? {};
  return { name, isEmpty: !Array.isArray(batchPublishers) || batchPublishers.length === 0 };
}

function fieldsIn(text: string): Fields | undefined {
  try {
    const root: unknown = JSON.parse(text);
    return isObject(root) ? root : undefined;
  } catch {
    // The start has already reported it.
    return undefined;
  }
}

/** Returns the id of a publisher. As in the original, a blank one counts as missing. */
function publisherIdIn({ publisherId, clusterName }: Fields): unknown {
  return typeof publisherId === 'string' && publisherId.trim() !== '' ? publisherId : clusterName;
}

class JsonReader {
  readonly #config: Config;
  readonly #problems: string[] = [];

  constructor(config: Config) {
    this.#config = config;
  }

  /**
   * Parses the text. Throws ConfigFault with all problems, and GridError WAN_PUBLISHERS_MAX for more
   * publishers than a member may have.
   */
  read(text: string): WanReplication {
    const root = this.#parsed(text);
    const name = this.#field(root, 'name', 'text');
    if (root.name === undefined || root.name === null) {
      this.#complain('name', 'no value; it names the replication');
    } else if (name !== undefined && 'fault' in NAME.parse(name)) {
      this.#complain('name', `${quoted(name)} is not ${NAME.expects}`);
    }
    this.#refuseClasses(root);
    const publishers = new Map<string, WanPublisherOptions>();
    const items = this.#field(root, 'batchPublishers', 'list') ?? [];
    // More would exceed the limit in any case, and take long to read.
    if (items.length > PUBLISHERS_MAX) {
      throw new GridError('WAN_PUBLISHERS_MAX', {
        replication: quoted(name ?? '').slice(1, -1),
        max: PUBLISHERS_MAX,
      });
    }
    for (const [index, item] of items.entries()) {
      const path = `batchPublishers[${index}]`;
      const publisher = this.#publisher(item, path);
      if (publisher === undefined) continue;
      const { publisherId } = publisher;
      if (publishers.has(publisherId)) {
        this.#complain(path, `publisher id ${quoted(publisherId)} already exists`);
      }
      publishers.set(publisherId, publisher);
    }
    if (this.#problems.length > 0) throw fault(this.#problems);
    return { name: name ?? '', publishers: [...publishers.values()] };
  }

  #parsed(text: string): Fields {
    let root: unknown;
    try {
      root = JSON.parse(text);
    } catch {
      // The parser's message contains a part of the text, which may be a password.
      throw fault(['Cannot read the WAN replication: not JSON']);
    }
    if (!isObject(root)) throw fault(['Cannot read the WAN replication: not an object']);
    return root;
  }

  #refuseClasses(root: Fields): void {
    for (const [index] of (this.#field(root, 'customPublishers', 'list') ?? []).entries()) {
      this.#complain(`customPublishers[${index}]`, `${NO_CLASS}use batchPublishers`);
    }
    const consumer = this.#field(root, 'consumer', 'object') ?? {};
    const className = this.#field(consumer, 'className', 'text', 'consumer');
    if (className !== undefined) this.#complain('consumer.className', `${NO_CLASS}omit it`);
    this.#field(consumer, 'persistWanReplicatedData', 'boolean', 'consumer');
  }

  #publisher(item: unknown, path: string): WanPublisherOptions | undefined {
    if (!isObject(item)) {
      this.#complain(path, 'not an object');
      return undefined;
    }
    const fields = this.#valuesOf(item, path);
    const statements = new Map([...fields].map(([key, value]) => [key, statementOf(key, value)]));
    const { values, wrong } = readRows(PUBLISHER_SETTINGS, statements, (key) => {
      const text = seenText(fields.get(key));
      const seen = isHidden(PUBLISHER_SETTINGS[key], text) ? MASK : text;
      this.#complain(`${path}.${fieldOf(key)}`, `${seen} is not ${expected(key)}`);
    });
    // The types of settings that have no effect.
    for (const name of ['idleMaxParkNs', 'idleMinParkNs', 'maxTargetEndpoints']) {
      this.#field(item, name, 'integer', path);
    }
    this.#field(item, 'useEndpointPrivateAddress', 'boolean', path);
    if (this.#refuseDiscovery(item, path)) wrong.add('targetEndpoints');
    const made = publisherOf(values, undefined, this.#config.wanEndpoints, this.#config);
    if ('publisherId' in made) return made;
    for (const { key, isMissing, reason } of made) {
      if (wrong.has(key)) continue;
      const seen = isMissing ? 'no value; ' : `${quoted(String(values[key]))}: `;
      this.#complain(`${path}.${fieldOf(key)}`, seen + reason);
    }
    return undefined;
  }

  /** Returns the values of the settings. */
  #valuesOf(item: Fields, path: string): ReadonlyMap<PublisherKey, unknown> {
    const sync = this.#field(item, 'sync', 'object', path) ?? {};
    const properties = this.#field(item, 'properties', 'object', path) ?? {};
    // As in the original, null is also wrong.
    for (const [name, value] of Object.entries(properties)) {
      if (typeof value !== 'string') this.#complain(`${path}.properties.${name}`, 'not a text');
    }
    const sections = { '': item, sync, properties };
    const values = new Map<PublisherKey, unknown>();
    for (const key of PUBLISHER_KEYS) {
      const [last = '', section = ''] = fieldOf(key).split('.').reverse();
      const value = sections[section as keyof typeof sections][last];
      if (value !== undefined && value !== null) values.set(key, value);
    }
    return values;
  }

  /** Refuses enabled discovery; returns whether any is enabled. */
  #refuseDiscovery(item: Fields, path: string): boolean {
    const on: string[] = DISCOVERIES.filter((kind) => {
      const section = this.#field(item, kind, 'object', path) ?? {};
      return this.#field(section, 'enabled', 'boolean', `${path}.${kind}`) === true;
    });
    const discovery = this.#field(item, 'discovery', 'object', path) ?? {};
    const strategies = this.#field(discovery, 'discoveryStrategy', 'list', `${path}.discovery`);
    if (strategies !== undefined && strategies.length > 0) on.push('discovery');
    for (const kind of on) {
      this.#complain(
        `${path}.${kind}`,
        'discovery of targets is not supported; use targetEndpoints',
      );
    }
    return on.length > 0;
  }

  /** Returns the value of a field; one of another type is a problem and counts as missing. */
  #field<Kind extends keyof Kinds>(
    fields: Fields,
    name: string,
    kind: Kind,
    around?: string,
  ): Kinds[Kind] | undefined {
    const value = fields[name] ?? undefined;
    const [isOfKind, expected] = KINDS[kind];
    if (value === undefined || isOfKind(value)) return value as Kinds[Kind] | undefined;
    const path = around === undefined ? name : `${around}.${name}`;
    const isSeen = kind !== 'object' && kind !== 'list';
    this.#complain(path, isSeen ? `${seenText(value)} is not ${expected}` : `not ${expected}`);
    return undefined;
  }

  #complain(path: string, reason: string): void {
    if (this.#problems.length < FINDINGS_MAX) {
      this.#problems.push(`Cannot use ${quoted(path).slice(1, -1)}: ${reason}`);
    }
  }
}

interface Kinds {
  readonly text: string;
  readonly boolean: boolean;
  readonly integer: number;
  readonly object: Fields;
  readonly list: readonly unknown[];
}

/** Whether a value is of the kind, and the name of the kind. */
const KINDS: Readonly<Record<keyof Kinds, readonly [(value: unknown) => boolean, string]>> = {
  text: [(value) => typeof value === 'string', 'a text'],
  boolean: [(value) => typeof value === 'boolean', 'true or false'],
  integer: [Number.isSafeInteger, 'an integer'],
  object: [isObject, 'an object'],
  list: [Array.isArray, 'an array'],
};

function fault(problems: readonly string[]): ConfigFault {
  return new ConfigFault(problems.map((problem) => finding('error', problem)));
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the name of a setting in a request: `sync.consistencyCheckStrategy`. */
function fieldOf(key: PublisherKey): string {
  return publisherNameOf(key).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the statement that a file has for the value. */
function statementOf(key: PublisherKey, value: unknown): Statement {
  const words = NUMBERED[key];
  const isNumber = words !== undefined && typeof value === 'number';
  const word = isNumber ? words[value] : undefined;
  const wanted = words === undefined ? typeof PUBLISHER_SETTINGS[key].fallback : 'string';
  const isText = typeof value === 'string' && (wanted === 'undefined' || BYTES.has(key));
  const isOfType = isNumber ? word !== undefined : isText || typeof value === wanted;
  const text = word ?? String(value);
  return { path: [], pattern: '', at: NOWHERE, text, types: isOfType ? [] : [OTHER_TYPE] };
}

function expected(key: PublisherKey): string {
  const { expects } = PUBLISHER_SETTINGS[key];
  const words = NUMBERED[key];
  return words === undefined ? expects : `${expects}, or their numbers 0 to ${words.length - 1}`;
}

function seenText(value: unknown): string {
  return typeof value === 'string' ? quoted(value) : quoted(JSON.stringify(value)).slice(1, -1);
}

const NONE: WanReplication = { name: '', publishers: [] };

type Needed = WanConfig & QueueLimits;

export interface WanAddition<Config> {
  readonly config: Config;
  readonly addedPublisherIds: readonly string[];
  /** Publishers that the replication already has; they do not change. */
  readonly ignoredPublisherIds: readonly string[];
}

/**
 * Adds the publishers of `text`: JSON in the form of the header. An unknown replication is created.
 * Throws ConfigFault, and GridError WAN_PUBLISHERS_MAX if the member would have more than
 * PUBLISHERS_MAX.
 */
export function addWanText<Config extends Needed>(
  config: Config,
  text: string,
): WanAddition<Config> {
  const { name, publishers } = new JsonReader(config).read(text);
  const before = config.wanReplications.get(name)?.publishers ?? [];
  const existing = new Set(before.map(idOf));
  const added = publishers.filter((each) => !existing.has(each.publisherId));
  const others = [...config.wanReplications.values()].reduce(sumOf, 0);
  if (others + added.length > PUBLISHERS_MAX) {
    throw new GridError('WAN_PUBLISHERS_MAX', { replication: name, max: PUBLISHERS_MAX });
  }
  const whole: WanReplication = { name, publishers: [...before, ...added] };
  return {
    config: { ...config, wanReplications: new Map(config.wanReplications).set(name, whole) },
    addedPublisherIds: added.map(idOf),
    ignoredPublisherIds: publishers.map(idOf).filter((id) => existing.has(id)),
  };
}

/**
 * Returns the configuration without the publisher. The replication remains, because maps may refer
 * to it.
 */
export function withoutWanPublisher<Config extends Needed>(
  config: Config,
  replication: string,
  publisherId: string,
): Config {
  const { name, publishers } = config.wanReplications.get(replication) ?? NONE;
  const left = publishers.filter((each) => each.publisherId !== publisherId);
  const whole: WanReplication = { name, publishers: left };
  return { ...config, wanReplications: new Map(config.wanReplications).set(replication, whole) };
}

function idOf({ publisherId }: WanPublisherOptions): string {
  return publisherId;
}

function sumOf(sum: number, { publishers }: WanReplication): number {
  return sum + publishers.length;
}
