/**
 * Settings of the HTTP servers: where they listen, how they stop, and their limits.
 * Tested by member/config.spec.ts.
 */

import { DEFAULT_PORT, PORT_MAX } from '../base/server-address.ts';
import { isInterfacePattern } from '../config/interface-pattern.ts';
import {
  booleanSetting,
  bytesSetting,
  integerRule,
  integerSetting,
  listSetting,
  type Setting,
  textSetting,
  type ValuesOf,
} from '../config/setting.ts';
import type { SettingRows, Sourced } from '../config/setting-table.ts';

/** Maximum in s: a load balancer takes a member out of service within seconds. */
const SHUTDOWN_DELAY_SECONDS_MAX = 3600;
/**
 * Largest limit, in bytes: the parser keeps the unfinished header section of each connection in
 * memory.
 */
const HEADER_BYTES_MAX = 1_048_576;
const TARGET_BYTES_MAX = 65536;
/** Largest limit, in bytes: a value is stored in one buffer. */
const BODY_BYTES_LIMIT = 1_073_741_824;
const IN_FLIGHT_BYTES_LIMIT = 1_099_511_627_776;
const COUNT_LIMIT = 1_000_000;
const DAY_SECONDS = 86_400;

export const ADDRESS_SETTINGS = {
  host: textSetting({
    flag: { name: '--host', argument: 'HOST' },
    about: 'Address or host name to listen on',
    fallback: '127.0.0.1',
    fallbackText: '127.0.0.1, and all interfaces with a configuration file',
    expects: 'an address or host name',
    allows: (text) => /^[^\s/]+$/.test(text),
  }),
  port: integerSetting({
    path: 'network.port.port',
    aliases: ['network.port'],
    flag: { name: '--port', argument: 'PORT' },
    about: 'Port to listen on; 0 selects a free one',
    fallback: DEFAULT_PORT,
    minimum: 0,
    maximum: PORT_MAX,
  }),
  healthPort: {
    path: 'network.health-port',
    flags: [{ name: '--health-port', argument: 'PORT' }],
    about:
      'A second port that serves only health and metrics, never over TLS; 0 selects a free one',
    fallback: undefined,
    fallbackText: 'none',
    example: '5702',
    ...integerRule(0, PORT_MAX),
  } satisfies Setting<number | undefined> as Setting<number | undefined>,
} as const satisfies SettingRows;

export const LISTENING_SETTINGS = {
  portAutoIncrement: booleanSetting({
    path: 'network.port.auto-increment',
    about: 'Whether the next port is tried if one is in use; never with --port',
    fallback: true,
  }),
  portCount: integerSetting({
    path: 'network.port.port-count',
    about: 'Number of ports to try',
    fallback: 100,
    minimum: 1,
    maximum: PORT_MAX + 1,
  }),
  publicAddress: textSetting({
    path: 'network.public-address',
    about: 'Address that the member reports as its own: host, or host and port',
    fallback: undefined,
    fallbackText: 'the bound address, or the first that is not loopback',
    example: '192.0.2.1:5701',
    expects: 'a host, or a host and port',
    allows: (text) => /^([^\s/:]+|\[[0-9a-f:.]+\])(:\d{1,5})?$|^[0-9a-f:.]+$/i.test(text),
  }),
  interfacesEnabled: booleanSetting({
    path: 'network.interfaces.enabled',
    about: 'Whether the member listens on one of network.interfaces.interfaces',
    fallback: false,
  }),
  interfaces: listSetting({
    path: 'network.interfaces.interfaces',
    about: 'Addresses, of which the first that this host has is used; parts may be "*" or "4-18"',
    fallback: [],
    fallbackText: 'none',
    example: '10.3.10.*',
    expects: 'addresses whose parts may be "*" or a range such as "4-18"',
    allows: isInterfacePattern,
  }),
} as const satisfies SettingRows;

export const SHUTDOWN_SETTINGS = {
  shutdownDelaySeconds: integerSetting({
    path: 'shutdown.delay-seconds',
    flag: { name: '--shutdown-delay-seconds', argument: 'SECONDS' },
    about: 'Time before the member drains, in which health/ready is 503 and all else is served',
    unit: 'seconds',
    fallback: 0,
    minimum: 0,
    maximum: SHUTDOWN_DELAY_SECONDS_MAX,
  }),
} as const satisfies SettingRows;

/** `network.http.*`: limits of the resources that clients can use. */
export const LIMIT_SETTINGS = {
  headerBytesMax: bytesSetting({
    path: 'network.http.header-bytes-max',
    flag: { name: '--header-bytes-max', argument: 'BYTES' },
    about:
      'All header fields of a request with their line ends; above it, 431. With an engine on servers at most 65536',
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
    maximum: COUNT_LIMIT,
  }),
  pipelineMax: integerSetting({
    path: 'network.http.pipeline-max',
    flag: { name: '--pipeline-max', argument: 'COUNT' },
    about:
      'Requests that wait on one connection; above it, reading pauses if earlier responses cannot be ' +
      'sent yet, and the connection is closed if they wait for a poll',
    fallback: 1024,
    minimum: 1,
    maximum: COUNT_LIMIT,
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
} as const satisfies SettingRows;

export type ServerConfig = ValuesOf<
  typeof ADDRESS_SETTINGS &
    typeof LISTENING_SETTINGS &
    typeof SHUTDOWN_SETTINGS &
    typeof LIMIT_SETTINGS
> &
  Sourced;

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
