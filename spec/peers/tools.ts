/**
 * The tools that `make test-peers` installs in the folder `tools`: programs that check the package,
 * other versions of Node, a Valkey server, Docker Compose, and the schemas of Kubernetes.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';

const MODULES = join(import.meta.dirname, 'tools/node_modules');

export const ROOT = join(import.meta.dirname, '../..');

/** The supported versions of Node other than 20, and their programs. */
export const NODES = [22, 24, 26].map((version) => {
  return { version, program: join(MODULES, `node-${version}/bin/node`) };
});

/** Fails unless a program is installed, which a Debian package of the same name has. */
export function requireProgram(program: string): void {
  const { error } = spawnSync(program, ['--version']);
  assert.equal(error, undefined, `${program} is missing: apt-get install ${program}`);
}

/** Returns the folder of an installed package. */
export function toolFolder(name: string): string {
  const folder = join(MODULES, name);
  assert.ok(existsSync(folder), `${name} is missing: make test-peers installs it`);
  return folder;
}

/** Returns the path of the installed Valkey server. */
export function valkeyServer(): string {
  return installed('.valkey/valkey-server');
}

/** Returns the path of the installed Docker Compose. */
export function dockerCompose(): string {
  return installed('.valkey/bin/docker-compose');
}

function installed(path: string): string {
  const program = join(MODULES, path);
  assert.ok(existsSync(program), `${basename(path)} is missing: make test-peers installs it`);
  return program;
}

/** Returns the path of the program that checks manifests of Kubernetes. */
export function kubernetesValidate(): string {
  const program = join(MODULES, '.valkey/bin/kubernetes-validate');
  assert.ok(existsSync(program), 'kubernetes-validate is missing: make test-peers installs it');
  return program;
}

export interface ProgramResult {
  readonly code: number;
  /** Standard output, then standard error. */
  readonly output: string;
}

/** Runs a program until it ends. The folder of `node` is first in its PATH. */
export function runProgram(
  program: string,
  words: readonly string[],
  { cwd = ROOT, node = process.execPath, env = process.env } = {},
): Promise<ProgramResult> {
  const PATH = `${dirname(node)}${delimiter}${env.PATH}`;
  // With this variable, a test runner would run as the child of another one.
  const { NODE_TEST_CONTEXT: _, ...others } = env;
  const options = { cwd, env: { ...others, PATH }, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(program, words, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: stdout + stderr + (code === -1 ? `${error?.message}` : '') });
    });
  });
}

/** Runs a program until it ends; resolves with its output, rejects unless the exit code is 0. */
export async function runChecked(...call: Parameters<typeof runProgram>): Promise<string> {
  const { code, output } = await runProgram(...call);
  assert.equal(code, 0, `${call[0]} ${call[1].join(' ')}\n${output}`);
  return output;
}
