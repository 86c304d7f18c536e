/**
 * The examples of packaging/: systemd verifies the unit, TypeScript the fields of the manifest.
 * Members run with the arguments of the manifest and the Containerfile. No Kubernetes cluster is
 * used, and only a soak builds the image. proxies.peers.ts tests the examples of proxies.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { freePort } from '../free-port.ts';
import { serve, start } from '../integration/member-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { packaged } from './packaged-files.ts';
import { ROOT, runChecked, toolFolder } from './tools.ts';

/** Limit for the stop of a member after its shutdown delay, in s (src/cli/serve.ts). */
const STOP_SECONDS_MAX = 11;

const folder = temporaryFolder();

const PROGRAM = join(ROOT, 'dist/bin/gridnode.js');

/** Runs a program of a Debian package; returns its output. */
function outputOf(program: string, debian: string, words: readonly string[]): string {
  const { error, status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  assert.equal(error, undefined, `Cannot run ${program}: apt-get install ${debian}`);
  assert.equal(status, 0, stdout + stderr);
  return stdout + stderr;
}

test('systemd reports no problem in the unit', () => {
  const unit = join(folder, 'gridnode.service');
  writeFileSync(unit, packaged('gridnode.service').replace('/usr/local/bin/gridnode', PROGRAM));
  assert.equal(outputOf('systemd-analyze', 'systemd', ['verify', unit]), '');
});

test('the unit allows a member enough time to start and stop', () => {
  const unit = packaged('gridnode.service');
  const value = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
  assert.deepEqual([value('Type'), value('NotifyAccess')], ['notify', 'all']);
  assert.equal(value('TimeoutStartSec'), 'infinity');
  const delay = Number(/--shutdown-delay-seconds (\d+)/.exec(value('ExecStart'))?.[1]);
  assert.ok(Number(value('TimeoutStopSec')) > delay + STOP_SECONDS_MAX);
});

/** Prints the datagrams sent to a Unix socket, one per line. Node does not support such sockets. */
const RECEIVER = `
  socket(my $socket, PF_UNIX, SOCK_DGRAM, 0) or die $!;
  bind($socket, pack_sockaddr_un($ARGV[0])) or die $!;
  $| = 1; print "bound\\n";
  while (defined recv($socket, my $text, 4096, 0)) { print "$text\\n"; }`;

test('a member notifies systemd when it serves and when it stops', {
  timeout: 60_000,
}, async (t) => {
  const socket = join(folder, 'notify');
  const receiver = spawn('perl', ['-MSocket', '-e', RECEIVER, socket]);
  t.after(() => receiver.kill());
  let received = '';
  receiver.stdout.on('data', (bytes) => {
    received += bytes;
  });
  await once(receiver.stdout, 'data');
  process.env.NOTIFY_SOCKET = socket;
  const member = start();
  delete process.env.NOTIFY_SOCKET;
  while (!received.includes('READY=1')) await sleep(10);
  assert.ok(member.lines.some(({ msg }) => msg === 'listening'));
  assert.ok(!received.includes('STOPPING=1'));
  member.child.kill('SIGTERM');
  assert.deepEqual(await member.exited, [0, null]);
  while (!received.includes('STOPPING=1')) await sleep(10);
  assert.ok(member.lines.every(({ level }) => level === 'info'));
});

interface Manifest {
  readonly kind: string;
  readonly apiVersion: string;
}

test('the manifest has only fields of Kubernetes, with their types', async () => {
  const types: Record<string, string> = {
    'v1/Service': 'kubernetes-types/core/v1',
    'apps/v1/StatefulSet': 'kubernetes-types/apps/v1',
    'policy/v1/PodDisruptionBudget': 'kubernetes-types/policy/v1',
  };
  const lines = manifests<Manifest>().map((manifest, index) => {
    const module = types[`${manifest.apiVersion}/${manifest.kind}`];
    assert.ok(module !== undefined, `${manifest.apiVersion}/${manifest.kind}`);
    const type = `import('${module}').${manifest.kind}`;
    return `export const manifest${index}: ${type} = ${JSON.stringify(manifest)};`;
  });
  const project = join(folder, 'manifest');
  mkdirSync(join(project, 'node_modules'), { recursive: true });
  const installed = toolFolder('kubernetes-types');
  symlinkSync(installed, join(project, 'node_modules/kubernetes-types'));
  writeFileSync(join(project, 'manifest.ts'), lines.join('\n'));
  const compilerOptions = { strict: true, noEmit: true, types: [], module: 'esnext' };
  const options = { ...compilerOptions, moduleResolution: 'bundler', skipLibCheck: true };
  const config = { compilerOptions: options, files: ['manifest.ts'] };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
  await runChecked(join(toolFolder('typescript'), 'bin/tsc'), ['-p', project]);
});

function manifests<Type>(): Type[] {
  return parseAllDocuments(packaged('kubernetes.yaml')).map((document) => {
    assert.deepEqual([document.errors, document.warnings], [[], []]);
    return document.toJS() as Type;
  });
}

interface Workload {
  readonly spec: {
    readonly selector: { readonly matchLabels: object };
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: Pod };
  };
}

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [
    {
      readonly args: readonly string[];
      readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
      readonly livenessProbe: Probe;
      readonly readinessProbe: Probe;
    },
  ];
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

test('a member with the arguments of the manifest responds to its probes, and has enough time to stop', async () => {
  const [service, workload, budget] = manifests<Workload>();
  assert.ok(service && workload && budget);
  const { selector, template } = workload.spec;
  assert.deepEqual(template.metadata.labels, selector.matchLabels);
  assert.deepEqual(service.spec.selector, selector.matchLabels);
  assert.deepEqual(budget.spec.selector.matchLabels, selector.matchLabels);
  const { containers, terminationGracePeriodSeconds } = template.spec;
  const [{ args, ports, livenessProbe, readinessProbe }] = containers;
  const delay = Number(args.join(' ').match(/--shutdown-delay-seconds=(\d+)/)?.[1]);
  assert.ok(terminationGracePeriodSeconds > delay + STOP_SECONDS_MAX);
  const health = ports.find(({ name }) => name === 'health')?.containerPort;
  assert.ok(args.includes(`--health-port=${health}`));
  const others = args.slice(1).filter((word) => !/delay|health-port|host=/.test(word));
  const words = ['--health-port', '0', ...others];
  const member = await serve(...words.map((word) => word.replace('=/data', `=${folder}/probed`)));
  try {
    for (const { httpGet } of [livenessProbe, readinessProbe]) {
      assert.equal(httpGet.port, 'health');
      const { status } = await fetch(`http://127.0.0.1:${member.healthPort}${httpGet.path}`);
      assert.equal(status, 200, httpGet.path);
    }
  } finally {
    member.child.kill('SIGTERM');
    await member.exited;
  }
});

test('the files that .dockerignore lists are enough to build the package', async () => {
  const clone = join(folder, 'clone');
  const modules = join(clone, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  const listed = readFileSync(join(ROOT, '.dockerignore'), 'utf8').matchAll(/^!(.*)$/gm);
  for (const [, name = ''] of listed) {
    cpSync(join(ROOT, name), join(clone, name), { recursive: true, preserveTimestamps: true });
  }
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    const installed = join(ROOT, 'node_modules', name);
    if (name === '.installed') writeFileSync(join(modules, name), '');
    else if (name !== '.bin') symlinkSync(installed, join(modules, name));
  }
  for (const name of readdirSync(join(ROOT, 'node_modules/.bin'))) {
    symlinkSync(join(ROOT, 'node_modules/.bin', name), join(modules, '.bin', name));
  }
  await runChecked('make', ['build'], { cwd: clone });
  assert.deepEqual(await packedFiles(clone), await packedFiles(ROOT));
});

async function packedFiles(cwd: string): Promise<string[]> {
  const printed = await runChecked('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], {
    cwd,
  });
  const [packed] = JSON.parse(printed.slice(printed.indexOf('[\n'), printed.lastIndexOf(']') + 1));
  return packed.files.map(({ path }: { path: string }) => path);
}

/** The words of an instruction in exec form, in the last stage of the Containerfile. */
function wordsOf(instruction: string): string[] {
  const text = packaged('Containerfile').replace(/\\\n/g, ' ');
  const stage = text.slice(text.lastIndexOf('\nFROM'));
  const found = new RegExp(`^${instruction}\\b[^[\\n]*(\\[.*\\])$`, 'm').exec(stage)?.[1];
  assert.ok(found, `no exec form of ${instruction}`);
  return JSON.parse(found);
}

test('the commands of the image start a member and check its health, without a shell', async (t) => {
  const [entry, command, check] = ['ENTRYPOINT', 'CMD', 'HEALTHCHECK'].map(wordsOf);
  assert.ok(entry && command && check);
  const installed = '/opt/gridnode/lib/node_modules/gridnode/dist/bin/gridnode.js';
  const port = await freePort();
  /** Adapts the words to this machine: its Node, the built program, a free port. */
  const adapted = (words: readonly string[]): string[] =>
    words.map((word) =>
      word
        .replace(installed, PROGRAM)
        .replace('/usr/local/bin/node', process.execPath)
        .replace(/\b8080$/, String(port))
        .replace('/data', join(folder, 'image'))
        .replace('0.0.0.0', '127.0.0.1'),
    );
  const options = { env: {}, stdio: 'ignore' } as const;
  const [node = '', ...words] = adapted([...entry, ...command, '--port', '0']);
  const member = spawn(node, words, options);
  t.after(() => stop(member));
  const [checkProgram = '', ...checkWords] = adapted(check);
  const checkCode = async (): Promise<number | null> => {
    const [code] = await once(spawn(checkProgram, checkWords, options), 'exit');
    return code;
  };
  while ((await checkCode()) !== 0) assert.equal(member.exitCode, null);
  await stop(member);
  assert.equal(member.exitCode, 0);
  assert.notEqual(await checkCode(), 0);
});

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
