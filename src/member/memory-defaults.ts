/**
 * Calculates the defaults that depend on the memory of the machine or container: max-memory,
 * body-bytes-max, in-flight-bytes-max and wan.queue-bytes-max. Together they leave room for the
 * process, for recovery and, if the member takes part in WAN replication, for its queues.
 */
import { type MachineMemory, MIB, machineMemory } from '../base/machine-memory.ts';
import { exceptionBytes } from '../base/wan-bytes.ts';
import { pathOf } from '../config/setting.ts';
import { MEMORY_SHARE } from '../engine/engine-settings.ts';
import { SETTINGS } from './settings.ts';

/**
 * Share of the memory for one body, for all bytes in flight, and for WAN queues; never more than
 * their fallbacks.
 */
const FLIGHT_SHARE = 1 / 8;
/** Memory of the process itself under load, in bytes. */
const PROCESS_BYTES = 88_080_384;
/**
 * Maximum amount of memory reserved for the C library's heap, in bytes, even on a large machine.
 * The heap stores values of 16 to 256 KiB, and retains freed memory when shorter values replace
 * them: in the worst case as much as all the data (soak: container).
 */
const RETAINED_BYTES_MAX = 268_435_456;
/**
 * Minimum share for data. With a smaller share of 128 MiB, not every partition would have its first
 * extent.
 */
const DATA_SHARE_MIN = 3 / 16;
/** Free space in the chunks of queues, as a share of the bytes in them. */
const CHUNKS_SHARE = 1 / 4;

interface MemorySettings {
  readonly maxMemory: number;
  readonly bodyBytesMax: number;
  readonly inFlightBytesMax: number;
  readonly wanQueueBytesMax: number;
}

export type MemoryKey = keyof MemorySettings;

export const MEMORY_KEYS = [
  'maxMemory',
  'bodyBytesMax',
  'inFlightBytesMax',
  'wanQueueBytesMax',
] as const;

interface MemoryDefault {
  readonly value: number;
  /** Its calculation: `70 % of 256 MiB, container`; empty for a fixed default. */
  readonly from: string;
}

/**
 * Returns the defaults. `specified`: the configured values. `hasWan`: whether the member has
 * publishers, or may receive changes of other clusters.
 */
export function memoryDefaults(
  specified: Partial<MemorySettings>,
  memory: MachineMemory = machineMemory(),
  hasWan = false,
): Readonly<Record<MemoryKey, MemoryDefault>> {
  const eighth = Math.floor(memory.bytes * FLIGHT_SHARE);
  const whole = `${inMib(memory.bytes)}, ${memory.isContainer ? 'container' : 'machine'}`;
  const least = (most: number): MemoryDefault =>
    most <= eighth ? { value: most, from: '' } : { value: eighth, from: `1/8 of ${whole}` };
  const bodyBytesMax = least(SETTINGS.bodyBytesMax.fallback);
  const body = specified.bodyBytesMax ?? bodyBytesMax.value;
  const flight = least(SETTINGS.inFlightBytesMax.fallback);
  const inFlightBytesMax =
    flight.value >= body ? flight : { value: body, from: pathOf(SETTINGS.bodyBytesMax) };
  const wanQueueBytesMax = least(SETTINGS.wanQueueBytesMax.fallback);
  const ofWan = hasWan ? wanBytes(specified.wanQueueBytesMax ?? wanQueueBytesMax.value) : 0;
  // Recovery reads while no requests run, into less memory than requests in flight may use.
  const rest =
    memory.bytes - PROCESS_BYTES - (specified.inFlightBytesMax ?? inFlightBytesMax.value) - ofWan;
  const left = Math.floor(
    Math.max(rest - RETAINED_BYTES_MAX, rest / 2, memory.bytes * DATA_SHARE_MIN),
  );
  const share = Math.floor(memory.bytes * MEMORY_SHARE);
  const maxMemory =
    share <= left
      ? { value: share, from: `${MEMORY_SHARE * 100} % of ${whole}` }
      : { value: left, from: `${Math.floor((left / memory.bytes) * 100)} % of ${whole}` };
  return { maxMemory, bodyBytesMax, inFlightBytesMax, wanQueueBytesMax };
}

/**
 * Returns the memory of WAN replication: queues, free space in their chunks, and both exceptions
 * (wan-bytes.ts).
 */
function wanBytes(queueBytesMax: number): number {
  return (
    queueBytesMax + Math.floor(queueBytesMax * CHUNKS_SHARE) + 2 * exceptionBytes(queueBytesMax)
  );
}

/** Returns a warning if data, requests and the process together may use more than the memory. */
export function memoryWarning(
  config: MemoryShares,
  memory: MachineMemory = machineMemory(),
): string | undefined {
  const { maxMemory, inFlightBytesMax, wanQueueBytesMax, endpointGroups, wanReplications } = config;
  const hasWan = wanReplications.size > 0 || endpointGroups.get('WAN') === true;
  const ofWan = hasWan ? wanBytes(wanQueueBytesMax) : 0;
  const all = maxMemory + inFlightBytesMax + PROCESS_BYTES + ofWan;
  if (all <= memory.bytes) return undefined;
  const queues =
    ofWan === 0 ? '' : `, WAN replication (${inMib(ofWan)}, ${pathOf(SETTINGS.wanQueueBytesMax)})`;
  return (
    `${pathOf(SETTINGS.maxMemory)} (${inMib(maxMemory)}), ` +
    `${pathOf(SETTINGS.inFlightBytesMax)} (${inMib(inFlightBytesMax)})${queues} ` +
    `and the process (${inMib(PROCESS_BYTES)}) are more than the ` +
    `${memory.isContainer ? 'container' : 'machine'} has, ${inMib(memory.bytes)}`
  );
}

interface MemoryShares
  extends Pick<MemorySettings, 'maxMemory' | 'inFlightBytesMax' | 'wanQueueBytesMax'> {
  readonly endpointGroups: ReadonlyMap<string, boolean>;
  readonly wanReplications: ReadonlyMap<string, unknown>;
}

function inMib(bytes: number): string {
  return `${Math.round((bytes / MIB) * 10) / 10} MiB`;
}
