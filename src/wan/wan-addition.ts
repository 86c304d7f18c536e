/**
 * Adds a WAN replication of a request to those of a member, and removes added publishers.
 * Tested by wan-json.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import {
  PUBLISHERS_MAX,
  type WanConfig,
  type WanPublisher,
  type WanReplication,
} from './wan-config.ts';
import { parseWanReplication } from './wan-json.ts';
import type { WanSettings } from './wan-settings.ts';

const NONE: WanReplication = { name: '', publishers: [] };

type Needed = WanConfig & Pick<WanSettings, 'wanQueueBytesMax'>;

export interface WanAddition<Config> {
  readonly config: Config;
  readonly addedPublisherIds: readonly string[];
  /** Publishers that the replication already has; they do not change. */
  readonly ignoredPublisherIds: readonly string[];
}

/**
 * Adds the publishers of `text`: JSON, as wan-json.ts reads it. An unknown replication is created.
 * Throws ConfigFault, and GridError WAN_PUBLISHERS_MAX if the member would have more than
 * PUBLISHERS_MAX.
 */
export function addWanText<Config extends Needed>(
  config: Config,
  text: string,
): WanAddition<Config> {
  const { name, publishers } = parseWanReplication(text, config);
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

function idOf({ publisherId }: WanPublisher): string {
  return publisherId;
}

function sumOf(sum: number, { publishers }: WanReplication): number {
  return sum + publishers.length;
}
