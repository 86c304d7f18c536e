/** The port on which a child process of gridnode serves, once it does. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Rejects with its log where it ends instead. */
export function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    if (child.stdout === null) throw new TypeError('Cannot read the output: it is not piped');
    createInterface({ input: child.stdout }).on('line', (text) => {
      lines.push(text);
      const line = JSON.parse(text) as { msg: string; port: number };
      if (line.msg === 'listening') resolve(line.port);
    });
    once(child, 'exit').then(([code]) => {
      reject(new Error(`ended with ${code}: ${lines.join(' ')}`));
    }, reject);
  });
}
