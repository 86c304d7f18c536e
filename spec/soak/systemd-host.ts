/** A systemd as process 1 of its own namespaces (boot-systemd.sh). Needs root. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../peers/server-process.ts';
import { ROOT } from '../peers/tools.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const NAMESPACES = ['--pid', '--mount', '--net', '--uts', '--ipc', '--cgroup'];
/** Only this starts with the system; units start with what they need. */
const TARGET = '[Unit]\nDescription=soak\nAllowIsolate=yes\nDefaultDependencies=no\n';

export interface CommandResult {
  readonly status: number | null;
  /** Standard output, then standard error. */
  readonly output: string;
}

export class SystemdHost {
  readonly #child: ChildProcess;
  readonly #pid: number;

  private constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.#pid = pid;
  }

  /** Boots systemd with this unit, and the clone's program as `gridnode`. */
  static async boot(unitName: string, unit: string): Promise<SystemdHost> {
    const folder = temporaryFolder();
    const [root, local, units] = ['root', 'local', 'units'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const place of [root, join(local, 'bin'), units]) mkdirSync(place, { recursive: true });
    symlinkSync('/clone/dist/bin/gridnode.js', join(local, 'bin/gridnode'));
    writeFileSync(join(units, unitName), unit);
    writeFileSync(join(units, 'soak.target'), TARGET);
    const script = join(import.meta.dirname, 'boot-systemd.sh');
    const words = [...NAMESPACES, '--fork', '--kill-child', script, root, local, ROOT, units];
    const child = spawn('unshare', words, { stdio: ['ignore', 'ignore', 'inherit'] });
    let pid = 0;
    await until(async () => {
      if (child.exitCode !== null) throw new Error('systemd has ended');
      pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
      if (pid === 0 || readFileSync(`/proc/${pid}/comm`, 'utf8') !== 'systemd\n') return false;
      const { output } = runIn(pid, 'systemctl', 'is-system-running');
      return output.startsWith('running');
    });
    return new SystemdHost(child, pid);
  }

  run(program: string, ...words: readonly string[]): CommandResult {
    return runIn(this.#pid, program, ...words);
  }

  /** Starts a process in the system that is not a service. */
  start(program: string, ...words: readonly string[]): ChildProcess {
    const [first = '', ...all] = wordsIn(this.#pid, program, ...words);
    return spawn(first, all, { stdio: 'ignore' });
  }

  /** Writes a file of the system. */
  write(path: string, text: string): void {
    writeFileSync(`/proc/${this.#pid}/root${path}`, text);
  }

  makeFolder(path: string): void {
    mkdirSync(`/proc/${this.#pid}/root${path}`, { recursive: true });
  }

  /** Ends all processes of the system. */
  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}

function wordsIn(pid: number, ...command: readonly string[]): string[] {
  const enter = ['nsenter', '--target', `${pid}`, '-m', '-p', '-n', '-u', '-i', '-C', '-r', '-w'];
  return [...enter, 'env', '-i', 'PATH=/usr/local/bin:/usr/bin:/usr/sbin', ...command];
}

function runIn(pid: number, ...command: readonly string[]): CommandResult {
  const [program = '', ...words] = wordsIn(pid, ...command);
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}
