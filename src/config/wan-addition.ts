/** Adds a WAN replication, which a request names, to those that a member has, and removes what was added. */
import { GridError } from '../base/errors.ts';
import type { Config } from './config.ts';
import { PUBLISHERS_MAX, type WanPublisher, type WanReplication } from './wan-config.ts';
import { parseWanReplication } from './wan-json.ts';

const NONE: WanReplication = { name: '', publishers: [] };

export interface WanAddition {
  readonly config: Config;
  readonly addedPublisherIds: readonly string[];
  /** Those that the replication has already; they stay as they are. */
  readonly ignoredPublisherIds: readonly string[];
}

/**
 * `text`: JSON, as wan-json.ts reads it. A replication of an unknown name is new. Throws ConfigFault, and
 * GridError WAN_PUBLISHERS_MAX where the member would have more than PUBLISHERS_MAX.
 */
export function addWanText(config: Config, text: string): WanAddition {
  const { name, publishers } = parseWanReplication(text, config);
  const before = config.wanReplications.get(name)?.publishers ?? [];
  const known = new Set(before.map(idOf));
  const added = publishers.filter((each) => !known.has(each.publisherId));
  const others = [...config.wanReplications.values()].reduce(sumOf, 0);
  if (others + added.length > PUBLISHERS_MAX) {
    throw new GridError('WAN_PUBLISHERS_MAX', { replication: name, max: PUBLISHERS_MAX });
  }
  const whole: WanReplication = { name, publishers: [...before, ...added] };
  return {
    config: { ...config, wanReplications: new Map(config.wanReplications).set(name, whole) },
    addedPublisherIds: added.map(idOf),
    ignoredPublisherIds: publishers.map(idOf).filter((id) => known.has(id)),
  };
}

/** The configuration without the publisher. The replication stays, as maps may refer to it. */
export function withoutWanPublisher(
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
