/**
 * Notifies the service manager of the state of this process if NOTIFY_SOCKET is set, as by systemd with
 * `Type=notify`. Node does not support such sockets, so the program `systemd-notify` sends the message as
 * a child of this process; the unit needs `NotifyAccess=all`.
 */

/** The states of systemd: the member serves; it stops. */
type ServiceState = 'READY=1' | 'STOPPING=1';

/**
 * Resolves when the message was sent. Passes a failure to `onError`; the member continues.
 */
export type NotifyServiceManager = (state: ServiceState) => Promise<void>;

const PROGRAM = 'systemd-notify';

/**
 * Returns the function that notifies, as set by the environment; without NOTIFY_SOCKET it does nothing.
 */
export function serviceManager(
  environment: Readonly<Record<string, string | undefined>>,
  onError: (error: Error) => void,
  program = PROGRAM,
): NotifyServiceManager {
  if (!environment.NOTIFY_SOCKET) return () => Promise.resolve();
  /** The last message; messages are sent one at a time, so that they arrive in order. */
  let last: Promise<void> = Promise.resolve();
  return (state) => {
    last = last.then(() => run(program, state, environment)).catch(onError);
    return last;
  };
}

/**
 * Runs the program, and loads Node's module for that only here. Resolves when the program has ended.
 */
async function run(
  program: string,
  state: ServiceState,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const { execFile } = await import('node:child_process');
  await new Promise<void>((resolve, reject) => {
    execFile(program, [state], { env: environment }, (error) => {
      if (error === null) resolve();
      else reject(new Error(`Cannot notify systemd of ${state}: ${error.message.trim()}`));
    });
  });
}
