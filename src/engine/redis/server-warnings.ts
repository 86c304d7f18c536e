/**
 * Warnings about server settings that weaken the engine's guarantees, each a sentence.
 * Tested by store-checks.spec.ts.
 */

import { counted } from '../../base/quantities.ts';
import { addressText, type ServerAddress } from '../../base/server-address.ts';
import { SETTINGS_IN_MESSAGES } from '../../base/settings-in-messages.ts';
import type { ControlConnection } from './control-connection.ts';
import { ServerError } from './control-connection.ts';
import { evictionPolicyIn, fieldsIn, modeOf } from './server-info.ts';
import { StoreUnusable } from './servers.ts';

const ASKED = ['min-replicas-to-write', 'appendonly', 'cluster-require-full-coverage'];

interface Needed {
  /** The greatest number of replicas that a change needs. */
  readonly replicaCount: number;
  /** 0 for a single server. */
  readonly usualReplicaCount: number;
  readonly allowsEviction: boolean;
}

/**
 * Resolves with the warnings. Rejects with StoreUnusable if the server is too old, or may drop
 * data.
 */
export async function warningsOf(
  control: ControlConnection,
  { usualReplicaCount, replicaCount, allowsEviction }: Needed,
): Promise<string[]> {
  const where = addressText(control.address);
  const mode = await modeOf(control);
  const warnings: string[] = [];
  if (usualReplicaCount === 0 && replicaCount === 0) {
    warnings.push(
      `${where} is a single server without replicas: confirmed changes are lost with it`,
    );
  }
  const memory = fieldsIn(await control.ask('INFO', 'memory'));
  const eviction = evictionPolicyIn(memory);
  if (eviction !== undefined && !allowsEviction) {
    throw new StoreUnusable(
      `Cannot use the server ${where}: it drops any data once maxmemory is reached, as ` +
        `maxmemory-policy is ${eviction}; set it to noeviction, or ${SETTINGS_IN_MESSAGES.engineAllowEviction} to true`,
    );
  }
  const policy = memory.get('maxmemory_policy') ?? 'noeviction';
  if (eviction !== undefined) warnings.push(evictionText(control.address, eviction));
  else if (policy !== 'noeviction') {
    const why = policy.startsWith('volatile-')
      ? 'stored data has no expiry at the server, so it drops none; set it to noeviction'
      : 'the server would drop stored data if maxmemory were set';
    warnings.push(`${where}: maxmemory-policy is ${policy}: ${why}`);
  }
  const connected = await replicasOf(control);
  if (connected < replicaCount) {
    warnings.push(
      `${where} has ${counted(connected, 'replica')}, and changes need ${replicaCount}: ` +
        'changes are refused until there are more',
    );
  }
  const settings = await settingsOf(control);
  if (typeof settings === 'string') return [...warnings, `${where}: ${settings}`];
  const add = (name: string, isRight: (value: string) => boolean, why: string) => {
    const value = settings.get(name);
    if (value !== undefined && !isRight(value))
      warnings.push(`${where}: ${name} is ${value}: ${why}`);
  };
  if (replicaCount > 0) {
    add(
      ASKED[0]!,
      (value) => Number(value) >= replicaCount,
      `at ${replicaCount} or more, changes without replicas are refused before they are made`,
    );
  }
  add('appendonly', isYes, 'a server that restarts before it is replaced loses confirmed changes');
  if (mode === 'cluster') {
    add(ASKED[2]!, (value) => !isYes(value), 'all requests fail while some slots have no server');
  }
  return warnings;
}

/** Returns a warning. */
export function evictionText(address: ServerAddress, policy: string): string {
  return (
    `${addressText(address)}: maxmemory-policy is ${policy}: the server drops stored data ` +
    'once maxmemory is reached'
  );
}

function isYes(value: string): boolean {
  return value === 'yes';
}

async function replicasOf(control: ControlConnection): Promise<number> {
  const role = await control.ask('ROLE');
  const replicas = Array.isArray(role) ? role[2] : undefined;
  return Array.isArray(replicas) ? replicas.length : 0;
}

/** Resolves with the settings, or with a text that explains why they could not be read. */
async function settingsOf(
  control: ControlConnection,
): Promise<ReadonlyMap<string, string> | string> {
  try {
    const reply = await control.ask('CONFIG', 'GET', ...ASKED);
    const words: readonly unknown[] = Array.isArray(reply) ? reply : [];
    const pairs = ASKED.map((name) => [name, words[words.indexOf(name) + 1]] as const);
    return new Map(
      pairs.filter((pair): pair is readonly [string, string] => {
        return words.includes(pair[0]) && typeof pair[1] === 'string';
      }),
    );
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    return `${ASKED.join(', ')} could not be read: ${error.message}`;
  }
}
