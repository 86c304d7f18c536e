/**
 * A copy of the project in a temporary folder, in which a source file is changed and specs run. The
 * project itself is never changed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../project-files.ts';

const NOT_COPIED = /\/(node_modules|dist|\.git|bench-results)$/;
const LINKED = ['node_modules', 'dist'];
const REPORTER = 'spec/mutate/first-failure-reporter.ts';
const BATCH = 'spec/mutate/batch.ts';
/** As for the groups of `make test`. */
const FLAGS = ['--single-threaded-gc', '--min-semi-space-size=64', '--max-semi-space-size=128'];

export interface SpecResult {
  readonly outcome: 'passed' | 'failed' | 'late';
  /** Name of the first failed test. */
  readonly test: string;
}

export class WorkingCopy {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mutate-'));

  constructor() {
    cpSync(ROOT, this.#folder, { recursive: true, filter: (path) => !NOT_COPIED.test(path) });
    for (const name of LINKED) symlinkSync(join(ROOT, name), join(this.#folder, name));
  }

  /**
   * Runs spec files in one process until the first failed test; they are late, and ended, after
   * `limitMs`.
   */
  async run(specs: readonly string[], limitMs: number): Promise<SpecResult> {
    const flags = [...FLAGS, '--import', 'tsx', `--test-reporter=./${REPORTER}`];
    const child = spawn(process.execPath, [...flags, BATCH, ...specs], {
      cwd: this.#folder,
      env: { ...process.env, GRIDNODE_CHECKS: 'dear', GRIDNODE_SLABS: 'small' },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const end = () => process.kill(-(child.pid as number), 'SIGKILL');
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      end();
    }, limitMs);
    const [code] = await once(child, 'exit');
    clearTimeout(timer);
    // The processes that the spec has started.
    try {
      end();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    const test = output.trim().split('\n').at(-1) ?? '';
    return { outcome: isLate ? 'late' : code === 0 ? 'passed' : 'failed', test };
  }

  /** Writes files, given by path and text. */
  write(texts: Iterable<readonly [string, string]>): void {
    for (const [file, text] of texts) writeFileSync(join(this.#folder, file), text);
  }

  /** Returns the text of the file, which may not exist, and removes it. */
  take(file: string): string {
    const path = join(this.#folder, file);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    rmSync(path, { force: true });
    return text;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
