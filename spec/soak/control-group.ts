/** A control group with a memory limit, of cgroups version 1 or 2, whichever there is. Needs root. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

export class ControlGroup {
  readonly #path: string;
  readonly #isSecond: boolean;

  /** Throws where none can be made. */
  constructor(name: string, bytesMax: number) {
    this.#isSecond = existsSync(join(ROOT, 'cgroup.controllers'));
    this.#path = join(ROOT, this.#isSecond ? '' : 'memory', name);
    if (this.#isSecond) writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+memory');
    mkdirSync(this.#path);
    this.#write(this.#isSecond ? 'memory.max' : 'memory.limit_in_bytes', `${bytesMax}`);
  }

  /** The words that run a command within: `sh` and its arguments. The command's words follow them. */
  get words(): readonly string[] {
    return ['-c', `echo $$ > ${join(this.#path, 'cgroup.procs')} && exec "$@"`, 'sh'];
  }

  /** Processes that were killed for want of memory. */
  get killed(): number {
    const text = this.#read(this.#isSecond ? 'memory.events' : 'memory.oom_control');
    return Number(/^oom_kill (\d+)/m.exec(text)?.[1]);
  }

  /** The most bytes that were in use, caches of files included. */
  get most(): number {
    return Number(this.#read(this.#isSecond ? 'memory.peak' : 'memory.max_usage_in_bytes'));
  }

  /** Called when no process runs in it. */
  remove(): void {
    rmdirSync(this.#path);
  }

  #read(file: string): string {
    return readFileSync(join(this.#path, file), 'utf8');
  }

  #write(file: string, text: string): void {
    writeFileSync(join(this.#path, file), text);
  }
}
