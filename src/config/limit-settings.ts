/**
 * The settings `network.http.*`: limits of the resources that clients can use.
 * Tested by config.spec.ts.
 */
import { bytesSetting, integerSetting, type Setting } from './setting.ts';

/**
 * Largest limit, in bytes: the parser keeps the unfinished header section of each connection in
 * memory.
 */
const HEADER_BYTES_MAX = 1_048_576;
const TARGET_BYTES_MAX = 65536;
/** Largest limit, in bytes: a value is stored in one buffer. */
const BODY_BYTES_LIMIT = 1_073_741_824;
const IN_FLIGHT_BYTES_LIMIT = 1_099_511_627_776;
const COUNT_MAX = 1_000_000;
const DAY_SECONDS = 86_400;

export const LIMIT_SETTINGS = {
  headerBytesMax: bytesSetting({
    path: 'network.http.header-bytes-max',
    flag: { name: '--header-bytes-max', argument: 'BYTES' },
    about: 'All header fields of a request with their line ends; above it, 431',
    unit: 'bytes',
    fallback: 32768,
    minimum: 1,
    maximum: HEADER_BYTES_MAX,
  }),
  targetBytesMax: bytesSetting({
    path: 'network.http.target-bytes-max',
    flag: { name: '--target-bytes-max', argument: 'BYTES' },
    about: 'Request target; above it, 414',
    unit: 'bytes',
    fallback: 32768,
    minimum: 1,
    maximum: TARGET_BYTES_MAX,
  }),
  bodyBytesMax: bytesSetting({
    path: 'network.http.body-bytes-max',
    flag: { name: '--body-bytes-max', argument: 'BYTES' },
    about: 'Body of a request; above it, 413',
    unit: 'bytes',
    fallback: 16_777_216,
    fallbackText: '16777216, or 1/8 of the memory if that is less',
    minimum: 1,
    maximum: BODY_BYTES_LIMIT,
  }),
  connectionsMax: integerSetting({
    path: 'network.http.connections-max',
    flag: { name: '--connections-max', argument: 'COUNT' },
    about: 'Open connections; the next one gets 503 and is closed',
    fallback: 10_000,
    minimum: 1,
    maximum: COUNT_MAX,
  }),
  pipelineMax: integerSetting({
    path: 'network.http.pipeline-max',
    flag: { name: '--pipeline-max', argument: 'COUNT' },
    about:
      'Requests that wait on one connection; above it, reading pauses if earlier responses cannot be ' +
      'sent yet, and the connection is closed if they wait for a poll',
    fallback: 1024,
    minimum: 1,
    maximum: COUNT_MAX,
  }),
  headerTimeoutSeconds: secondsSetting(
    'header-timeout-seconds',
    10,
    'Time from the first byte of a request to the end of its header; then 408',
  ),
  bodyProgressTimeoutSeconds: secondsSetting(
    'body-progress-timeout-seconds',
    10,
    'Time without a byte of a body; then 408',
  ),
  writeProgressTimeoutSeconds: secondsSetting(
    'write-progress-timeout-seconds',
    30,
    'Time without progress in sending a response; then the connection is closed',
  ),
  keepAliveTimeoutSeconds: secondsSetting(
    'keep-alive-timeout-seconds',
    75,
    'Time without a request; then the connection is closed',
  ),
  inFlightBytesMax: bytesSetting({
    path: 'network.http.in-flight-bytes-max',
    flag: { name: '--in-flight-bytes-max', argument: 'BYTES' },
    about:
      'Sum, over all connections, of request bodies in progress, responses that clients have not taken, ' +
      'and the bytes beyond 4 KiB of headers and waiting polls; above it, 503',
    unit: 'bytes',
    fallback: 268_435_456,
    fallbackText: '268435456, or 1/8 of the memory if that is less; at least body-bytes-max',
    minimum: 1,
    maximum: IN_FLIGHT_BYTES_LIMIT,
  }),
} as const satisfies Readonly<Record<string, Setting<number>>>;

function secondsSetting(name: string, fallback: number, about: string): Setting<number> {
  return integerSetting({
    path: `network.http.${name}`,
    flag: { name: `--${name}`, argument: 'SECONDS' },
    about,
    unit: 'seconds',
    fallback,
    minimum: 1,
    maximum: DAY_SECONDS,
  });
}
