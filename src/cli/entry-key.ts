/**
 * Reads the key from the arguments after the name of a map, or from a flag, which can have any bytes. Node
 * decodes arguments as UTF-8 and replaces invalid bytes by U+FFFD. An argument with that character would
 * name another key, so it is refused. Tested by misuse.spec.ts.
 */
import { readInput } from './command-input.ts';

const REPLACEMENT = '\u{fffd}';

export interface KeyOptions {
  readonly keyBase64?: string;
  readonly keyFile?: string;
}

/** Returns the bytes of the key, and the arguments after it. Throws TypeError or RangeError. */
export async function readKey(
  words: readonly string[],
  { keyBase64, keyFile }: KeyOptions,
): Promise<{ readonly key: Buffer; readonly rest: readonly string[] }> {
  if (keyBase64 !== undefined && keyFile !== undefined) {
    throw new TypeError('Cannot use --key-base64 and --key-file at once');
  }
  const [word, ...rest] = words;
  const isFlag = keyBase64 !== undefined || keyFile !== undefined;
  if (!isFlag) refuseReplaced('key', word);
  const key = isFlag ? await readKeyFlag(keyBase64, keyFile) : Buffer.from(word ?? '');
  if (key.length === 0) throw new RangeError('Cannot use "" as a key: it is empty');
  return { key, rest: isFlag ? words : rest };
}

/** Throws TypeError if bytes of the argument were replaced. `what`: a key, a value or a name. */
export function refuseReplaced(what: string, text: string | undefined): void {
  if (!text?.includes(REPLACEMENT)) return;
  const seen = `Cannot use ${JSON.stringify(text)} as a ${what}`;
  throw new TypeError(`${seen}: U+FFFD stands for bytes that are not UTF-8${INSTEAD[what] ?? ''}`);
}

const INSTEAD: Readonly<Record<string, string>> = {
  key: '; --key-base64 and --key-file accept any bytes',
  value: '; --file and standard input accept any bytes',
};

async function readKeyFlag(base64: string | undefined, file: string | undefined): Promise<Buffer> {
  if (file !== undefined) return await readInput('--key-file', file);
  const text = (base64 ?? '').replace(/=+$/, '');
  if (!/^[A-Za-z0-9+/_-]*$/.test(text) || text.length % 4 === 1) {
    throw new TypeError(`Cannot use --key-base64 ${JSON.stringify(base64)}: not Base64`);
  }
  return Buffer.from(text, 'base64');
}
