/** A control group with a memory limit, of the available version of cgroups, 1 or 2. Needs root. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

export class ControlGroup {
  readonly #path: string;
  readonly #isVersion2: boolean;

  /** Throws if the group cannot be created. */
  constructor(name: string, bytesMax: number) {
    this.#isVersion2 = existsSync(join(ROOT, 'cgroup.controllers'));
    this.#path = join(ROOT, this.#isVersion2 ? '' : 'memory', name);
    if (this.#isVersion2) writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+memory');
    mkdirSync(this.#path);
    this.#write(this.#isVersion2 ? 'memory.max' : 'memory.limit_in_bytes', `${bytesMax}`);
  }

  /** Words that run a command in the group. The command's words follow them. */
  get runner(): readonly string[] {
    return ['sh', '-c', `echo $$ > ${join(this.#path, 'cgroup.procs')} && exec "$@"`, 'sh'];
  }

  /** Number of processes that were killed for lack of memory. */
  get killed(): number {
    const text = this.#read(this.#isVersion2 ? 'memory.events' : 'memory.oom_control');
    return Number(/^oom_kill (\d+)/m.exec(text)?.[1]);
  }

  /** Peak memory use, in bytes, including file caches. */
  get peakBytes(): number {
    return Number(this.#read(this.#isVersion2 ? 'memory.peak' : 'memory.max_usage_in_bytes'));
  }

  /** Removes the group, in which no process may run. */
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
