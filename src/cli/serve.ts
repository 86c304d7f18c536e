/**
 * Runs one member from its start to its end: says where it listens, drains at the first signal, and
 * cuts off what is left at the second one or when draining takes too long. Returns the exit code;
 * whoever calls it ends the process.
 */
import { GridError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { explainMemory } from '../config/explain.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Member } from '../member.ts';
import type { Log } from '../telemetry/log.ts';
import {
  EXIT_CLEAN,
  EXIT_FAILED,
  EXIT_NOT_USABLE,
  EXIT_USAGE,
  type ExitCode,
} from './exit-code.ts';
import { listenError } from './listen-error.ts';
import type { StopEvents } from './stop-events.ts';

/** Whoever stops a member waits this long before killing it, or longer. */
const DRAIN_TIMEOUT_MS = 10_000;

export type StartMember = (
  config: Config,
  log: Log,
  load: () => Promise<LoadedConfig>,
  stopped: Promise<string>,
) => Promise<Member>;

export async function serve(
  config: Config,
  log: Log,
  start: StartMember,
  events: StopEvents,
  load: () => Promise<LoadedConfig>,
): Promise<ExitCode> {
  const failed = events.failure.then((error): ExitCode => {
    log.fatal({ err: error }, 'failed');
    return EXIT_FAILED;
  });
  return await Promise.race([failed, run(config, log, start, events, load)]);
}

async function run(
  config: Config,
  log: Log,
  start: StartMember,
  events: StopEvents,
  load: () => Promise<LoadedConfig>,
): Promise<ExitCode> {
  const starting = start(config, log, load, events.first).then(
    (member) => ({ member }),
    (error: unknown) => ({ error }),
  );
  const started = await Promise.race([starting, events.second]);
  if (typeof started === 'string') {
    log.error({ signal: started }, 'stopped while starting');
    return EXIT_FAILED;
  }
  if ('error' in started) return reportNotStarted(started.error, config, log);
  const { member } = started;
  const { address, port, healthPort } = member;
  log.info({ address, port, healthPort, ...explainMemory(config) }, 'listening');
  events.onReload = () => member.reload();
  const [stoppedBy, again] = await Promise.race([
    events.first.then((signal) => [signal, events.second] as const),
    member.stopRequested.then((request) => [request, events.first] as const),
  ]);
  return await stop(member, stoppedBy, again, log);
}

function reportNotStarted(error: unknown, config: Config, log: Log): ExitCode {
  if (error instanceof GridError && error.code === 'STOPPED_RECOVERING') {
    log.info('stopped while recovering');
    return EXIT_CLEAN;
  }
  if (error instanceof GridError && error.code === 'TLS_FILE_UNUSABLE') {
    log.fatal({ code: error.code }, error.message);
    return EXIT_USAGE;
  }
  if (error instanceof GridError && isAboutData(error)) {
    const help = error.code === 'DATA_DAMAGED' ? REPAIR_HELP : '';
    log.fatal({ code: error.code }, error.message + help);
    return EXIT_NOT_USABLE;
  }
  const refused = listenError(error, config.host, config.port);
  if (refused === undefined) {
    log.fatal({ err: error }, 'cannot start');
    return EXIT_FAILED;
  }
  log.fatal({ code: refused.code }, refused.message);
  return EXIT_NOT_USABLE;
}

const REPAIR_HELP =
  '; `gridnode repair --data-dir DIR` tells what is damaged and saves the rest elsewhere';

function isAboutData({ code }: GridError): boolean {
  return code.startsWith('DATA_') || code === 'PARTITION_COUNT_CHANGED';
}

async function stop(
  member: Member,
  stoppedBy: string,
  again: Promise<string>,
  log: Log,
): Promise<ExitCode> {
  log.debug({ stoppedBy }, 'draining');
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, DRAIN_TIMEOUT_MS, `${DRAIN_TIMEOUT_MS / 1000} seconds have passed`);
  });
  try {
    const signal = again.then((name) => `another ${name}`);
    const cutOffBecause = await Promise.race([member.drain(), late, signal]);
    if (cutOffBecause === undefined) {
      log.info({ stoppedBy }, 'stopped');
      return EXIT_CLEAN;
    }
    log.error(
      { stoppedBy, because: cutOffBecause, cutOff: member.abort() },
      'stopped, not drained',
    );
    return EXIT_FAILED;
  } catch (error) {
    log.fatal({ err: error, stoppedBy }, 'cannot drain');
    return EXIT_FAILED;
  } finally {
    clearTimeout(timer);
  }
}
