/** The client commands of `gridnode cp`. */
import type { Command } from 'commander';
import type { Client } from './client.ts';
import { addCommand, type Place } from './client-flags.ts';
import type { LockOptions, SessionOptions } from './cp-lock.ts';
import type { ExitCode } from './exit-code.ts';
import type { Streams } from './output.ts';

/** Adds the commands of sessions and locks; `place`: runs the selected one. */
export function addLockCommands(cp: Command, streams: Streams, place: Place): void {
  addToGroup(
    cp,
    'lock <lock> [command...]',
    'Run a command while holding a lock, or print its fence and session; exit code 1 if it is held',
  )
    .option('--wait <seconds>', 'How long to wait for the lock', '0')
    .option('--session <id>', 'Use this session, which the command does not renew or close')
    .action((lock: string, words: string[], options: LockOptions, command: Command) =>
      place(command, async (client) => {
        const { takeLock } = await import('./cp-lock.ts');
        return await takeLock(client, streams, lock, words, options);
      }),
    );
  addToGroup(
    cp,
    'unlock <lock> <session>',
    'Release a lock; exit code 1 if the session does not hold it',
  ).action((lock: string, session: string, options: SessionOptions, command: Command) =>
    place(command, async (client) => {
      const { releaseLock } = await import('./cp-lock.ts');
      return await releaseLock(client, lock, session, options);
    }),
  );
  const onSession = (
    word: 'heartbeat' | 'close-session',
    about: string,
    work: (client: Client, session: string, options: SessionOptions) => Promise<ExitCode>,
  ) =>
    addToGroup(cp, `${word} <session>`, `${about}; exit code 1 if there is none`).action(
      (session: string, options: SessionOptions, command: Command) =>
        place(command, (client) => work(client, session, options)),
    );
  onSession('heartbeat', 'Begin the time of a session anew', async (...parameters) => {
    const { renewSession } = await import('./cp-lock.ts');
    return await renewSession(...parameters);
  });
  onSession('close-session', 'Close a session, which releases its locks', async (...parameters) => {
    const { closeSession } = await import('./cp-lock.ts');
    return await closeSession(...parameters);
  });
}

function addToGroup(parent: Command, words: string, about: string): Command {
  return addCommand(parent, words, about).option('--group <group>', 'The CP group', 'default');
}
