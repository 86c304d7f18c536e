/** Returns the ports of a gridnode process once it listens. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

interface Ports {
  readonly port: number;
  /** Undefined without a health listener. */
  readonly healthPort: number;
}

/** Resolves once the process listens; rejects with its log if it ends instead. */
export function portsOf(child: ChildProcess): Promise<Ports> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    if (child.stdout === null) throw new TypeError('Cannot read the output: it is not piped');
    createInterface({ input: child.stdout }).on('line', (text) => {
      lines.push(text);
      const line = JSON.parse(text) as Ports & { msg: string };
      if (line.msg === 'listening') resolve(line);
    });
    once(child, 'exit').then(([code]) => {
      reject(new Error(`ended with ${code}: ${lines.join(' ')}`));
    }, reject);
  });
}

export async function portOf(child: ChildProcess): Promise<number> {
  return (await portsOf(child)).port;
}
