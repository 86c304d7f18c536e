/**
 * Tells the service manager that started this process how far it is, where it asked for that: systemd
 * does with `Type=notify`, by NOTIFY_SOCKET. Node has no sockets of that kind, so `systemd-notify` tells
 * it, as a child of this process; the unit needs `NotifyAccess=all`.
 */

/** What systemd knows: it serves; it ends. */
export type ServiceState = 'READY=1' | 'STOPPING=1';

/** Resolves when it is told; a failure is told to `onError` instead, and the member goes on. */
export type TellServiceManager = (state: ServiceState) => Promise<void>;

const PROGRAM = 'systemd-notify';

/** What tells, by the variables of the environment; without NOTIFY_SOCKET it does nothing. */
export function serviceManager(
  environment: Readonly<Record<string, string | undefined>>,
  onError: (error: Error) => void,
  program = PROGRAM,
): TellServiceManager {
  if (!environment.NOTIFY_SOCKET) return () => Promise.resolve();
  /** One at a time, so that they arrive in order. */
  let told: Promise<void> = Promise.resolve();
  return (state) => {
    told = told.then(() => run(program, state, environment)).catch(onError);
    return told;
  };
}

/** Loaded only where it is used. Resolves when the program has ended. */
async function run(
  program: string,
  state: ServiceState,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const { execFile } = await import('node:child_process');
  await new Promise<void>((resolve, reject) => {
    execFile(program, [state], { env: environment }, (error) => {
      if (error === null) resolve();
      else reject(new Error(`Cannot tell systemd ${state}: ${error.message.trim()}`));
    });
  });
}
