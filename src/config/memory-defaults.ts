/**
 * The settings whose defaults depend on the memory of the machine or container: max-memory,
 * body-bytes-max and in-flight-bytes-max. Together they leave room for the process and for recovery.
 */
import { type MachineMemory, machineMemory } from '../base/machine-memory.ts';

/** Of the memory, for stored data. */
export const MEMORY_SHARE = 0.7;
/** Of the memory, for one body, and for all bodies and answers under way; and what is enough. */
export const FLIGHT_SHARE = 1 / 8;
export const BODY_BYTES_MAX = 16_777_216;
export const IN_FLIGHT_BYTES_MAX = 268_435_456;
/** The process itself, under load. */
const PROCESS_BYTES = 88_080_384;
/** What recovery reads into, as a share of the memory, and at most: two segments of 32 MiB. */
const RECOVERY_SHARE = 1 / 16;
const RECOVERY_BYTES_MAX = 67_108_864;
/**
 * The C library's heap, in which values of 16 to 256 KiB lie, keeps what is freed there when shorter ones
 * come instead: as much as all the data, in the worst case (soak: container). On a large machine that is
 * not provided for beyond this.
 */
const RETAINED_BYTES_MAX = 268_435_456;
/** With less of 128 MiB, not every partition would have its first segment. */
const DATA_SHARE_MIN = 3 / 16;
const MIB = 1_048_576;

export interface MemorySettings {
  readonly maxMemory: number;
  readonly bodyBytesMax: number;
  readonly inFlightBytesMax: number;
}

export type MemoryKey = keyof MemorySettings;

export const MEMORY_KEYS = ['maxMemory', 'bodyBytesMax', 'inFlightBytesMax'] as const;

export interface MemoryDefault {
  readonly value: number;
  /** What it is of what. */
  readonly from: string;
}

/** The defaults of what is not given. */
export function memoryDefaults(
  given: Partial<MemorySettings>,
  memory: MachineMemory = machineMemory(),
): Readonly<Record<MemoryKey, MemoryDefault>> {
  const eighth = Math.floor(memory.bytes * FLIGHT_SHARE);
  const whole = `${inMib(memory.bytes)}, ${memory.isContainer ? 'container' : 'machine'}`;
  const least = (most: number): MemoryDefault =>
    most <= eighth ? { value: most, from: '' } : { value: eighth, from: `1/8 of ${whole}` };
  const bodyBytesMax = least(BODY_BYTES_MAX);
  const body = given.bodyBytesMax ?? bodyBytesMax.value;
  const flight = least(IN_FLIGHT_BYTES_MAX);
  const inFlightBytesMax =
    flight.value >= body ? flight : { value: body, from: 'network.http.body-bytes-max' };
  // Recovery reads while no requests are under way, into less than those may have.
  const rest = memory.bytes - PROCESS_BYTES - (given.inFlightBytesMax ?? inFlightBytesMax.value);
  const left = Math.floor(
    Math.max(rest - RETAINED_BYTES_MAX, rest / 2, memory.bytes * DATA_SHARE_MIN),
  );
  const share = Math.floor(memory.bytes * MEMORY_SHARE);
  const maxMemory =
    share <= left
      ? { value: share, from: `${MEMORY_SHARE * 100} % of ${whole}` }
      : { value: left, from: `${Math.floor((left / memory.bytes) * 100)} % of ${whole}` };
  return { maxMemory, bodyBytesMax, inFlightBytesMax };
}

/** What recovery may read at a time; two such pieces are in memory. */
export function segmentBytesMax(memory: MachineMemory): number {
  return Math.floor(recoveryBytes(memory) / 2);
}

/** What recovery may hold besides the data. */
function recoveryBytes({ bytes }: MachineMemory): number {
  return Math.min(Math.floor(bytes * RECOVERY_SHARE), RECOVERY_BYTES_MAX);
}

/** What is to be said where data, requests and the process together have more than there is. */
export function memoryWarning(
  { maxMemory, inFlightBytesMax }: Pick<MemorySettings, 'maxMemory' | 'inFlightBytesMax'>,
  memory: MachineMemory = machineMemory(),
): string | undefined {
  const all = maxMemory + inFlightBytesMax + PROCESS_BYTES;
  if (all <= memory.bytes) return undefined;
  return (
    `max-memory (${inMib(maxMemory)}), network.http.in-flight-bytes-max (${inMib(inFlightBytesMax)}) ` +
    `and the process (${inMib(PROCESS_BYTES)}) are more than the ` +
    `${memory.isContainer ? 'container' : 'machine'} has, ${inMib(memory.bytes)}`
  );
}

function inMib(bytes: number): string {
  return `${Math.round((bytes / MIB) * 10) / 10} MiB`;
}
