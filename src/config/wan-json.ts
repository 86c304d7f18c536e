/**
 * Reads the WAN replication that a request adds: JSON in the form of the WanReplicationConfig of
 * the original. Its names are those of a file in camel case; its enumerations are numbers or names.
 * Unknown names are ignored and null counts as missing, as in the original. Settings, ranges and
 * refusals are the same as in a file. Messages name the field: `batchPublishers[0].batchSize`.
 */
import { GridError } from '../base/errors.ts';
import type { Config } from './config.ts';
import { ConfigFault } from './config-fault.ts';
import { finding } from './finding.ts';
import { FINDINGS_MAX, quoted } from './finding-list.ts';
import { isHidden, MASK } from './setting.ts';
import {
  ACKNOWLEDGE_TYPES,
  CONSISTENCY_CHECK_STRATEGIES,
  PUBLISHER_STATES,
  PUBLISHERS_MAX,
  QUEUE_FULL_BEHAVIORS,
  type WanPublisher,
  type WanReplication,
} from './wan-config.ts';
import { publisherOf, type SpecifiedPublisher } from './wan-publisher.ts';
import {
  PUBLISHER_KEYS,
  PUBLISHER_SETTINGS,
  type PublisherKey,
  publisherNameOf,
} from './wan-publisher-settings.ts';

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
const DISCOVERIES = ['aws', 'gcp', 'azure', 'kubernetes', 'eureka'];
const NO_CLASS = 'custom classes are not supported';
const NAME = PUBLISHER_SETTINGS.publisherId;

/**
 * Parses the text. `config`: the configuration in force. Throws ConfigFault with all problems, and
 * GridError WAN_PUBLISHERS_MAX for more publishers than a member may have.
 */
export function parseWanReplication(
  text: string,
  config: Pick<Config, 'wanEndpoints' | 'wanQueueBytesMax'>,
): WanReplication {
  return new JsonReader(config).read(text);
}

/**
 * Returns the text without the publisher, if it is of that replication. The name of the replication
 * remains, because maps may refer to it. `text`: one that parseWanReplication has read.
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
  readonly #config: Pick<Config, 'wanEndpoints' | 'wanQueueBytesMax'>;
  readonly #problems: string[] = [];

  constructor(config: Pick<Config, 'wanEndpoints' | 'wanQueueBytesMax'>) {
    this.#config = config;
  }

  read(text: string): WanReplication {
    const root = this.#parsed(text);
    const name = this.#text(root, 'name', 'name');
    if (root.name === undefined || root.name === null) {
      this.#complain('name', 'no value; it names the replication');
    } else if (name !== undefined && 'fault' in NAME.parse(name)) {
      this.#complain('name', `${quoted(name)} is not ${NAME.expects}`);
    }
    this.#refuseClasses(root);
    const publishers = new Map<string, WanPublisher>();
    const items = this.#list(root, 'batchPublishers');
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
    this.#throwProblems();
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
    for (const [index] of this.#list(root, 'customPublishers').entries()) {
      this.#complain(`customPublishers[${index}]`, `${NO_CLASS}; use batchPublishers`);
    }
    const consumer = this.#object(root, 'consumer', 'consumer');
    const path = 'consumer.className';
    const className = this.#text(consumer, 'className', path);
    if (className !== undefined) this.#complain(path, `${NO_CLASS}; omit it`);
    this.#boolean(consumer, 'persistWanReplicatedData', 'consumer.persistWanReplicatedData');
  }

  #publisher(item: unknown, path: string): WanPublisher | undefined {
    if (!isObject(item)) {
      this.#complain(path, 'not an object');
      return undefined;
    }
    const { specified, wrong } = this.#readPublisher(item, path);
    this.#checkUnused(item, path);
    if (this.#refuseDiscovery(item, path)) wrong.add('targetEndpoints');
    const { wanEndpoints, wanQueueBytesMax } = this.#config;
    const made = publisherOf(specified, undefined, wanEndpoints, wanQueueBytesMax);
    if ('publisherId' in made) return made;
    for (const { key, isMissing, reason } of made) {
      if (wrong.has(key)) continue;
      const problem = isMissing
        ? `no value; ${reason}`
        : `${quoted(String(specified[key]))}: ${reason}`;
      this.#complain(`${path}.${fieldOf(key)}`, problem);
    }
    return undefined;
  }

  /** Returns the values of the settings, and the settings whose values are wrong. */
  #readPublisher(
    item: Fields,
    path: string,
  ): { specified: SpecifiedPublisher; wrong: Set<PublisherKey> } {
    const specified: Record<string, unknown> = {};
    const wrong = new Set<PublisherKey>();
    const sections = {
      '': item,
      sync: this.#object(item, 'sync', `${path}.sync`),
      properties: this.#properties(item, `${path}.properties`),
    };
    for (const key of PUBLISHER_KEYS) {
      const [last = '', section = ''] = fieldOf(key).split('.').reverse();
      const value = sections[section as keyof typeof sections][last];
      if (value === undefined || value === null) continue;
      // As in the original, a blank id counts as missing.
      if (key === 'publisherId' && typeof value === 'string' && value.trim() === '') continue;
      const row = PUBLISHER_SETTINGS[key];
      const text = textOf(key, value);
      const parsed = text === undefined ? ({ fault: 'type' } as const) : row.parse(text);
      if ('value' in parsed) specified[key] = parsed.value;
      else {
        wrong.add(key);
        const seen = isHidden(row, seenText(value)) ? MASK : seenText(value);
        this.#complain(`${path}.${fieldOf(key)}`, `${seen} is not ${expected(key)}`);
      }
    }
    return { specified: specified as SpecifiedPublisher, wrong };
  }

  /** Checks the types of settings that have no effect. */
  #checkUnused(item: Fields, path: string): void {
    for (const name of ['idleMaxParkNs', 'idleMinParkNs', 'maxTargetEndpoints']) {
      const value = item[name];
      if (value === undefined || value === null || Number.isSafeInteger(value)) continue;
      this.#complain(`${path}.${name}`, `${seenText(value)} is not an integer`);
    }
    this.#boolean(item, 'useEndpointPrivateAddress', `${path}.useEndpointPrivateAddress`);
  }

  /** Refuses enabled discovery; returns whether any is enabled. */
  #refuseDiscovery(item: Fields, path: string): boolean {
    const on = DISCOVERIES.filter((kind) => {
      const section = this.#object(item, kind, `${path}.${kind}`);
      return this.#boolean(section, 'enabled', `${path}.${kind}.enabled`) === true;
    });
    const discovery = this.#object(item, 'discovery', `${path}.discovery`);
    const strategies = this.#list(discovery, 'discoveryStrategy', `${path}.discovery`);
    if (strategies.length > 0) on.push('discovery');
    for (const kind of on) {
      this.#complain(
        `${path}.${kind}`,
        'discovery of targets is not supported; use targetEndpoints',
      );
    }
    return on.length > 0;
  }

  /** Returns the properties, which must be texts; as in the original, null is also wrong. */
  #properties(item: Fields, path: string): Fields {
    const properties = this.#object(item, 'properties', path);
    const wrong = Object.entries(properties).filter(([, value]) => typeof value !== 'string');
    for (const [name] of wrong) this.#complain(`${path}.${name}`, 'not a text');
    return Object.fromEntries(Object.entries(properties).filter((each) => !wrong.includes(each)));
  }

  #text(fields: Fields, name: string, path: string): string | undefined {
    const value = fields[name] ?? undefined;
    if (value === undefined || typeof value === 'string') return value;
    this.#complain(path, `${seenText(value)} is not a text`);
    return undefined;
  }

  #boolean(fields: Fields, name: string, path: string): boolean | undefined {
    const value = fields[name] ?? undefined;
    if (value === undefined || typeof value === 'boolean') return value;
    this.#complain(path, `${seenText(value)} is not true or false`);
    return undefined;
  }

  #object(fields: Fields, name: string, path: string): Fields {
    const value = fields[name] ?? {};
    if (isObject(value)) return value;
    this.#complain(path, 'not an object');
    return {};
  }

  #list(fields: Fields, name: string, around?: string): readonly unknown[] {
    const value = fields[name] ?? [];
    if (Array.isArray(value)) return value;
    this.#complain(around === undefined ? name : `${around}.${name}`, 'not an array');
    return [];
  }

  #complain(path: string, reason: string): void {
    if (this.#problems.length < FINDINGS_MAX) {
      this.#problems.push(`Cannot use ${quoted(path).slice(1, -1)}: ${reason}`);
    }
  }

  #throwProblems(): void {
    if (this.#problems.length > 0) throw fault(this.#problems);
  }
}

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

/** Returns the text that a file has for the value, or undefined for a value of another type. */
function textOf(key: PublisherKey, value: unknown): string | undefined {
  const words = NUMBERED[key];
  if (words !== undefined && typeof value === 'number') return words[value];
  const wanted = words === undefined ? typeof PUBLISHER_SETTINGS[key].fallback : 'string';
  const isText = typeof value === 'string' && (wanted === 'undefined' || BYTES.has(key));
  return isText || typeof value === wanted ? String(value) : undefined;
}

function expected(key: PublisherKey): string {
  const { expects } = PUBLISHER_SETTINGS[key];
  const words = NUMBERED[key];
  return words === undefined ? expects : `${expects}, or their numbers 0 to ${words.length - 1}`;
}

function seenText(value: unknown): string {
  return typeof value === 'string' ? quoted(value) : quoted(JSON.stringify(value)).slice(1, -1);
}
