/**
 * Runs one member from its start to its end, and prints its address. After the first signal it
 * reports that it is not ready for the shutdown delay, so that load balancers stop using it, and
 * then drains. At a second signal, or after DRAIN_TIMEOUT_MS, it cuts off the remaining
 * connections. It returns the exit code; the caller ends the process.
 */
import { type ErrorCode, GridError, reasonOf } from '../base/errors.ts';
import type { Config } from '../member/config.ts';
import { explainMemory } from '../member/explain.ts';
import type { LoadedConfig } from '../member/load.ts';
import type { Member } from '../member/member.ts';
import { listenError } from '../servers/listen-error.ts';
import type { Log } from '../telemetry/log.ts';
import {
  EXIT_CLEAN,
  EXIT_FAILED,
  EXIT_NOT_USABLE,
  EXIT_USAGE,
  type ExitCode,
} from './exit-code.ts';
import { listeningLine } from './listening-line.ts';
import { NO_MANAGER, type ServiceManager } from './service-manager.ts';
import type { StopEvents } from './stop-events.ts';

/** Time for a drain, in ms; service managers wait at least this long before they kill a process. */
const DRAIN_TIMEOUT_MS = 10_000;
/**
 * Time for the remaining work, such as closing the log, once every connection is cut off, in ms.
 */
const END_TIMEOUT_MS = 1000;

/** A member of the program, which has no caller in its process. */
type ServedMember = Omit<Member, 'inProcess'>;

export type StartMember = (
  config: Config,
  log: Log,
  load: () => Promise<LoadedConfig>,
  stopped: Promise<string>,
) => Promise<ServedMember>;

/** Output for people, in addition to the log. */
interface Screen {
  /** Whether the log is on a terminal. */
  readonly isLogForPeople: boolean;
  /** Prints why the member does not start, unless the log is on the same terminal. */
  printFatal(message: string): void;
}

const NO_SCREEN: Screen = { isLogForPeople: false, printFatal: () => {} };

export async function serve(
  config: Config,
  log: Log,
  start: StartMember,
  events: StopEvents,
  load: () => Promise<LoadedConfig>,
  screen: Screen = NO_SCREEN,
  manager: ServiceManager = NO_MANAGER,
): Promise<ExitCode> {
  const failed = events.failure.then((error): ExitCode => {
    log.fatal({ err: error }, 'failed');
    return EXIT_FAILED;
  });
  return await Promise.race([failed, run(config, log, start, events, load, screen, manager)]);
}

async function run(
  config: Config,
  log: Log,
  start: StartMember,
  events: StopEvents,
  load: () => Promise<LoadedConfig>,
  screen: Screen,
  manager: ServiceManager,
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
  if ('error' in started) {
    const fatal = (message: string, fields: object, logged = message) => {
      log.fatal(fields, logged);
      screen.printFatal(message);
    };
    return reportNotStarted(started.error, config, log, fatal);
  }
  const { member } = started;
  const { address, port, healthPort, backlogWarning: backlog } = member;
  if (screen.isLogForPeople) log.info(listeningLine(member, config));
  else log.info({ address, port, healthPort, backlog, ...explainMemory(config) }, 'listening');
  manager.serving();
  events.onReload = () => member.reload();
  events.onIgnored = (signal) => log.info({ signal }, 'signal ignored');
  const stoppedBy = await Promise.race([events.first, member.stopRequested]);
  const notified = manager.stopping();
  const { shutdownDelaySeconds } = config;
  const exitCode = await stop(member, stoppedBy, shutdownDelaySeconds, events.second, log);
  await within(END_TIMEOUT_MS, notified);
  return exitCode;
}

function reportNotStarted(
  error: unknown,
  config: Config,
  log: Log,
  fatal: (message: string, fields: object, logged?: string) => void,
): ExitCode {
  if (error instanceof GridError && error.code === 'STOPPED_RECOVERING') {
    log.info('stopped while recovering');
    return EXIT_CLEAN;
  }
  if (error instanceof GridError && IS_MISUSE.has(error.code)) {
    fatal(error.message, { code: error.code });
    return EXIT_USAGE;
  }
  if (error instanceof GridError && isAboutData(error)) {
    const help = error.code === 'DATA_DAMAGED' ? REPAIR_HELP : '';
    fatal(error.message + help, { code: error.code });
    return EXIT_NOT_USABLE;
  }
  const refused = listenError(error, config.host, config.port);
  if (refused === undefined) {
    fatal(`Cannot start: ${reasonOf(error)}`, { err: error }, 'cannot start');
    return EXIT_FAILED;
  }
  fatal(refused.message, { code: refused.code });
  return EXIT_NOT_USABLE;
}

/** Errors of the configuration, or of the servers and files that it names. */
const IS_MISUSE: ReadonlySet<ErrorCode> = new Set([
  'TLS_FILE_UNUSABLE',
  'CLUSTER_VERSION',
  'WAN_CONFIG_DIFFERS',
  'CONFIG_NOT_APPLIED',
  'ENGINE_UNUSABLE',
]);
const REPAIR_HELP =
  '; `gridnode repair --data-dir DIR` lists the damage and saves the rest elsewhere';

function isAboutData({ code }: GridError): boolean {
  return code.startsWith('DATA_') || code === 'PARTITION_COUNT_CHANGED';
}

async function stop(
  member: ServedMember,
  stoppedBy: string,
  delaySeconds: number,
  second: Promise<string>,
  log: Log,
): Promise<ExitCode> {
  log.info({ stoppedBy, delaySeconds }, 'draining');
  member.withdraw();
  const again = second.then((name) => `another ${name}`);
  let because = delaySeconds === 0 ? undefined : await within(delaySeconds * 1000, again);
  try {
    const drained = member.drain().then(() => '');
    because ??=
      (await within(DRAIN_TIMEOUT_MS, Promise.race([drained, again]))) ??
      `${DRAIN_TIMEOUT_MS / 1000} seconds have passed`;
    if (because === '') {
      log.info({ stoppedBy }, 'stopped');
      return EXIT_CLEAN;
    }
    const cutOff = member.abort();
    const isEnded = (await within(END_TIMEOUT_MS, drained)) !== undefined;
    if (cutOff === undefined && isEnded) {
      log.info({ stoppedBy, because }, 'stopped');
      return EXIT_CLEAN;
    }
    const left = { cutOff: cutOff ?? 'unfinished writes' };
    log.error({ stoppedBy, because, ...left }, 'stopped, not drained');
    return EXIT_FAILED;
  } catch (error) {
    log.fatal({ err: error, stoppedBy }, 'cannot drain');
    return EXIT_FAILED;
  }
}

/** Resolves with the value of the promise, or with undefined after `ms` milliseconds. */
async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
