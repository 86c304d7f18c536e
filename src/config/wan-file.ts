/** The part of a file for WAN replication. Tested by wan.spec.ts. */
import type { Config } from './config.ts';
import type { WanConfig } from './wan-config.ts';
import { WanFindings, type WanText } from './wan-findings.ts';
import { readMapWan } from './wan-map-reading.ts';
import { ENDPOINT_PATTERN, PUBLISHER_PATH, REF_PATH, REPLICATION_PATTERN } from './wan-paths.ts';
import { readWanReplications } from './wan-reading.ts';

/** Patterns of names that have an effect without content. */
export const WAN_BLOCKS = [
  REPLICATION_PATTERN,
  PUBLISHER_PATH,
  ENDPOINT_PATTERN,
  REF_PATH,
] as const;

interface WanFile
  extends Pick<WanFindings, 'used' | 'problems' | 'refused' | 'values' | 'warnings'> {
  readonly config: WanConfig;
}

/**
 * Reads the part. `config`: the configuration without WAN replication. `replications`: the names
 * that maps may refer to, if these are not defined in the text.
 */
export function readWan(text: WanText, config: Config, replications?: readonly string[]): WanFile {
  const findings = new WanFindings();
  const own = readWanReplications(text, config, findings);
  const names = new Set(replications ?? own.wanReplications.keys());
  const mapWan = readMapWan(text, names, findings);
  const { used, problems, refused, values, warnings } = findings;
  return { config: { ...own, mapWan }, used, problems, refused, values, warnings };
}
