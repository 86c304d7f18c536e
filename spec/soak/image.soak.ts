/**
 * The image of packaging/Containerfile, built by podman from a clone that has been built before, and
 * containers of it: they are healthy, read-only and without a shell, keep their data on a volume,
 * and stop cleanly. Stand-ins made here replace both base images: Debian with Node from npm, and the
 * libraries of Node. SOAK_BASES=registry pulls the real ones. Needs root, a network, podman, runc
 * and debootstrap; SOAK_STORAGE=vfs if overlays cannot be mounted.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../free-port.ts';
import { RawClient } from '../integration/client.ts';
import { until } from '../peers/server-process.ts';
import { NODES, ROOT, requireProgram } from '../peers/tools.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const BASES = process.env.SOAK_BASES ?? 'made';
const STORAGE = process.env.SOAK_STORAGE ?? 'overlay';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const [BUILD_BASE = '', RUN_BASE = ''] = readFileSync(join(ROOT, 'packaging/Containerfile'), 'utf8')
  .split('\n')
  .flatMap((line) => /^FROM (\S+)/.exec(line)?.[1] ?? []);
const IMAGE = 'gridnode-soak';
const VOLUME = 'gridnode-soak';
/** The open files of a container: podman's default can be above the limit of this machine. */
const LIMITS = ['--ulimit', 'nofile=16384:16384', '--ulimit', 'nproc=16384:16384'];
/** The line of the Containerfile, without its ports. */
const RUN = ['--read-only', '--volume', `${VOLUME}:/data`, ...LIMITS];

const folder = temporaryFolder();
const env = { ...process.env, CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf') };

interface Ended {
  readonly status: number | null;
  /** Standard output, then standard error. */
  readonly output: string;
}

function end(program: string, words: readonly string[], cwd = folder): Ended {
  const options = { encoding: 'utf8', env, cwd, maxBuffer: 64 * 1024 * 1024 } as const;
  const { status, stdout, stderr, error } = spawnSync(program, words, options);
  if (error !== undefined) throw error;
  return { status, output: stdout + stderr };
}

/** Runs a program to its end; returns its output. */
function run(program: string, words: readonly string[], cwd?: string): string {
  const { status, output } = end(program, words, cwd);
  assert.equal(status, 0, `${program} ${words.join(' ')}\n${output}`);
  return output;
}

/** Runs podman as without systemd, which runs the timers of health checks. */
function podman(...words: string[]): Ended {
  return end('podman', ['--runtime', 'runc', '--cgroup-manager', 'cgroupfs', ...words]);
}

before(() => {
  for (const program of ['podman', 'runc', 'debootstrap']) requireProgram(program);
  const roots = `graphroot = "${join(folder, 'images')}"\nrunroot = "${join(folder, 'run')}"\n`;
  writeFileSync(env.CONTAINERS_STORAGE_CONF, `[storage]\ndriver = "${STORAGE}"\n${roots}`);
  if (BASES !== 'made') return;
  for (const [name, root] of [
    [BUILD_BASE, buildRoot()],
    [RUN_BASE, runRoot()],
  ] as const) {
    run('tar', ['--create', '--file', join(folder, 'root.tar'), '--directory', root, '.']);
    run('podman', ['import', '--quiet', join(folder, 'root.tar'), name]);
  }
});

after(() => {
  podman('rm', '--all', '--force');
  podman('rmi', '--all', '--force');
  podman('volume', 'prune', '--force');
  end('umount', [join(folder, 'images/overlay')]);
});

/** Makes a root like that of the image `node`: Debian with Node, npm, and no make. */
function buildRoot(): string {
  const root = join(folder, 'build-root');
  run('debootstrap', ['--variant=minbase', 'bookworm', root]);
  const local = join(root, 'usr/local');
  copyNode(root);
  const npm = join(local, 'lib/node_modules/npm');
  cpSync(join(run('npm', ['root', '--global']).trim(), 'npm'), npm, { recursive: true });
  for (const name of ['npm', 'npx']) {
    const target = `/usr/local/lib/node_modules/npm/bin/${name}-cli.js`;
    writeFileSync(join(local, 'bin', name), `#!/bin/sh\nexec node ${target} "$@"\n`);
    chmodSync(join(local, 'bin', name), 0o755);
  }
  if (existsSync(CERTIFICATES)) {
    copyFile(CERTIFICATES, root);
    mkdirSync(join(local, 'etc'), { recursive: true });
    writeFileSync(join(local, 'etc/npmrc'), `cafile=${CERTIFICATES}\n`);
  }
  return root;
}

/** Makes a root like that of the image `distroless/cc`: the libraries of Node, and a user. */
function runRoot(): string {
  const root = join(folder, 'run-root');
  for (const place of ['etc', 'proc', 'dev', 'sys', 'tmp']) {
    mkdirSync(join(root, place), { recursive: true });
  }
  chmodSync(join(root, 'tmp'), 0o1777);
  const program = NODES.find(({ version }) => version === 24)?.program ?? '';
  for (const [library] of run('ldd', [program]).matchAll(/\/\S+/g)) copyFile(library, root);
  writeFileSync(join(root, 'etc/passwd'), 'nonroot:x:65532:65532::/:/sbin/nologin\n');
  writeFileSync(join(root, 'etc/group'), 'nonroot:x:65532:\n');
  return root;
}

function copyNode(root: string): void {
  const program = NODES.find(({ version }) => version === 24)?.program ?? '';
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
  cpSync(program, join(root, 'usr/local/bin/node'), { dereference: true });
}

function copyFile(file: string, root: string): void {
  mkdirSync(join(root, dirname(file)), { recursive: true });
  cpSync(file, join(root, file), { dereference: true });
}

/** Copies the clone, and adds the files of a build that must not be in the image. */
function builtClone(): string {
  const clone = join(folder, 'clone');
  const files = run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], ROOT);
  for (const file of files.split('\0').filter((name) => name !== '')) {
    if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(clone, file));
  }
  for (const file of ['dist/.built', 'dist/bin/gridnode.js', 'node_modules/.installed', '.env']) {
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    writeFileSync(join(clone, file), '');
  }
  return clone;
}

/** Starts a container of the image; resolves with its port once it is healthy and serves. */
async function startContainer(name: string): Promise<number> {
  const port = await freePort();
  const words = ['--detach', '--name', name, '--publish', `127.0.0.1:${port}:5701`, ...RUN, IMAGE];
  const { status, output } = podman('run', ...words);
  assert.equal(status, 0, output);
  await until(async () => podman('healthcheck', 'run', name).status === 0);
  assert.equal(inspect(name, '{{.State.Health.Status}}'), 'healthy');
  await until(async () => !(await ask(port, 'GET', 'instance')).startsWith('503 '));
  return port;
}

function inspect(name: string, format: string): string {
  return podman('inspect', '--format', format, name).output.trim();
}

async function ask(port: number, method: string, path: string, body?: Buffer): Promise<string> {
  const client = new RawClient(port);
  try {
    const response = await client.request(method, path, body);
    return `${response.status} ${response.body}`;
  } finally {
    client.destroy();
  }
}

test('the image is built from a clone, without the files of an earlier build', () => {
  const words = ['build', '--format', 'docker', '--file', 'packaging/Containerfile'];
  if (BASES === 'made') words.push('--pull-never');
  const here = ['--isolation', 'chroot', '--network', 'host', '--tag', IMAGE, '.'];
  run('podman', [...words, ...here], builtClone());
  assert.match(inspect(IMAGE, '{{.HealthCheck}}'), /health live/);
  assert.match(inspect(IMAGE, '{{.Config.User}}'), /^nonroot$/);
});

test('a container is healthy, keeps its data on the volume, and stops with 0', async () => {
  const first = await startContainer('first');
  assert.equal(await ask(first, 'POST', 'maps/m/k', Buffer.from('value')), '200 ');
  assert.match(await ask(first, 'GET', 'maps/n/k'), /^204 /);
  const second = podman('run', ...RUN, IMAGE);
  assert.equal(second.status, 3, second.output);
  assert.equal(podman('stop', '--time', '12', 'first').status, 0);
  assert.equal(inspect('first', '{{.State.ExitCode}}'), '0');
  assert.match(podman('logs', 'first').output, /"msg":"stopped"/);
  podman('rm', 'first');
  const next = await startContainer('next');
  assert.equal(await ask(next, 'GET', 'maps/m/k'), '200 value');
  podman('kill', '--signal', 'KILL', 'next');
  podman('rm', '--force', 'next');
  assert.equal(await ask(await startContainer('last'), 'GET', 'maps/m/k'), '200 value');
});

test('a container has no shell, and its user cannot write outside of the volume', () => {
  assert.notEqual(podman('run', '--rm', '--entrypoint', '/bin/sh', ...RUN, IMAGE).status, 0);
  const write = "require('fs').writeFileSync('/file', '')";
  const words = ['--rm', '--entrypoint', '/usr/local/bin/node', ...RUN, IMAGE, '--eval', write];
  assert.match(podman('run', ...words).output, /EROFS|EACCES/);
});
