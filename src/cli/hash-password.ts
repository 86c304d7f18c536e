/**
 * The command `hash-password`: reads a password and prints the hash for a configuration.
 * Tested by client-options.spec.ts.
 */
import { hashPassword } from '../security/password.ts';
import { promptHidden, readStandardInput } from './command-input.ts';
import { EXIT_CLEAN, type ExitCode } from './exit-code.ts';
import { printLine, type Streams } from './output.ts';

/**
 * Throws TypeError for an empty password, or if the two inputs differ. One line break after the password
 * is not part of it.
 */
export async function printPasswordHash(streams: Streams): Promise<ExitCode> {
  const typed = streams.stdin.isTTY ? await promptTwice(streams) : await readStandardInput(streams);
  const password = withoutLineEnd(typed);
  if (password.length === 0) throw new TypeError('Cannot hash a password: it is empty');
  await printLine(streams, await hashPassword(password));
  return EXIT_CLEAN;
}

/** Prompts twice: as the password is not shown, only a second input reveals a typing error. */
async function promptTwice(streams: Streams): Promise<Buffer> {
  const typed = await promptHidden(streams, 'Password: ');
  if (typed !== '' && typed !== (await promptHidden(streams, 'Again: '))) {
    throw new TypeError('Cannot hash a password: the second input differs');
  }
  return Buffer.from(typed);
}

function withoutLineEnd(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== 0x0a) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
}
