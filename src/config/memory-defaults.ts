/**
 * The defaults that depend on the memory of the machine or container: max-memory, body-bytes-max,
 * in-flight-bytes-max and wan.queue-bytes-max. Together they leave room for the process, for recovery and,
 * where the member takes part in WAN replication, for its queues.
 */
import { type MachineMemory, machineMemory } from '../base/machine-memory.ts';
import { exceptionBytes } from '../base/wan-bytes.ts';
import { MEMORY_SHARE, pathOf, SETTINGS } from './settings.ts';

/** Share of the memory for one body, for all in flight, and for WAN queues: at most their fallbacks. */
const FLIGHT_SHARE = 1 / 8;
/** Memory of the process itself, under load. */
const PROCESS_BYTES = 88_080_384;
/** Memory that recovery reads into: a share of the memory, at most two segments of 32 MiB. */
const RECOVERY_SHARE = 1 / 16;
const RECOVERY_BYTES_MAX = 67_108_864;
/**
 * The C library's heap keeps values of 16 to 256 KiB. It keeps freed memory when shorter values replace
 * them: as much as all the data, in the worst case (soak: container). At most this much is set aside
 * for it, also on a large machine.
 */
const RETAINED_BYTES_MAX = 268_435_456;
/** With a smaller share of 128 MiB, not every partition would have its first extent. */
const DATA_SHARE_MIN = 3 / 16;
/** What the chunks of queues leave free, as a share of the bytes in them. */
const CHUNKS_SHARE = 1 / 4;
const MIB = 1_048_576;

interface MemorySettings {
  readonly maxMemory: number;
  readonly bodyBytesMax: number;
  readonly inFlightBytesMax: number;
  readonly wanQueueBytesMax: number;
}

export type MemoryKey = keyof MemorySettings;

export const MEMORY_KEYS = [
  ...(['maxMemory', 'bodyBytesMax', 'inFlightBytesMax', 'wanQueueBytesMax'] as const),
] as const;

interface MemoryDefault {
  readonly value: number;
  /** How it was calculated: `70 % of 256 MiB, container`; empty for a fixed default. */
  readonly from: string;
}

/**
 * The defaults, where `given` has the values that are configured. `hasWan`: whether the member has
 * publishers, or may receive what others send.
 */
export function memoryDefaults(
  given: Partial<MemorySettings>,
  memory: MachineMemory = machineMemory(),
  hasWan = false,
): Readonly<Record<MemoryKey, MemoryDefault>> {
  const eighth = Math.floor(memory.bytes * FLIGHT_SHARE);
  const whole = `${inMib(memory.bytes)}, ${memory.isContainer ? 'container' : 'machine'}`;
  const least = (most: number): MemoryDefault =>
    most <= eighth ? { value: most, from: '' } : { value: eighth, from: `1/8 of ${whole}` };
  const bodyBytesMax = least(SETTINGS.bodyBytesMax.fallback);
  const body = given.bodyBytesMax ?? bodyBytesMax.value;
  const flight = least(SETTINGS.inFlightBytesMax.fallback);
  const inFlightBytesMax =
    flight.value >= body ? flight : { value: body, from: pathOf('bodyBytesMax') };
  const wanQueueBytesMax = least(SETTINGS.wanQueueBytesMax.fallback);
  const ofWan = hasWan ? wanBytes(given.wanQueueBytesMax ?? wanQueueBytesMax.value) : 0;
  // Recovery reads while no requests run, into less memory than requests in flight may take.
  const rest =
    memory.bytes - PROCESS_BYTES - (given.inFlightBytesMax ?? inFlightBytesMax.value) - ofWan;
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

/** Bytes that recovery may read at a time; two such pieces are in memory. */
export function segmentBytesMax(memory: MachineMemory): number {
  return Math.floor(recoveryBytes(memory) / 2);
}

/** Bytes that recovery may take besides the data. */
function recoveryBytes({ bytes }: MachineMemory): number {
  return Math.min(Math.floor(bytes * RECOVERY_SHARE), RECOVERY_BYTES_MAX);
}

/** Memory of WAN replication: queues, what their chunks leave free, and both exceptions (wan-bytes.ts). */
function wanBytes(queueBytesMax: number): number {
  return (
    queueBytesMax + Math.floor(queueBytesMax * CHUNKS_SHARE) + 2 * exceptionBytes(queueBytesMax)
  );
}

/** A warning where data, requests and the process together may take more than the memory. */
export function memoryWarning(
  config: MemoryShares,
  memory: MachineMemory = machineMemory(),
): string | undefined {
  const { maxMemory, inFlightBytesMax, wanQueueBytesMax } = config;
  const ofWan = takesPartInWan(config) ? wanBytes(wanQueueBytesMax) : 0;
  const all = maxMemory + inFlightBytesMax + PROCESS_BYTES + ofWan;
  if (all <= memory.bytes) return undefined;
  const queues =
    ofWan === 0 ? '' : `, WAN replication (${inMib(ofWan)}, ${pathOf('wanQueueBytesMax')})`;
  return (
    `${pathOf('maxMemory')} (${inMib(maxMemory)}), ` +
    `${pathOf('inFlightBytesMax')} (${inMib(inFlightBytesMax)})${queues} ` +
    `and the process (${inMib(PROCESS_BYTES)}) are more than the ` +
    `${memory.isContainer ? 'container' : 'machine'} has, ${inMib(memory.bytes)}`
  );
}

interface MemoryShares
  extends Pick<MemorySettings, 'maxMemory' | 'inFlightBytesMax' | 'wanQueueBytesMax'> {
  readonly endpointGroups: ReadonlyMap<string, boolean>;
  readonly wanReplications: ReadonlyMap<string, unknown>;
}

/** Whether the member has publishers, or may receive what others send. */
function takesPartInWan({
  endpointGroups,
  wanReplications,
}: Pick<MemoryShares, 'endpointGroups' | 'wanReplications'>): boolean {
  return wanReplications.size > 0 || endpointGroups.get('WAN') === true;
}

function inMib(bytes: number): string {
  return `${Math.round((bytes / MIB) * 10) / 10} MiB`;
}
