/**
 * The manifests of packaging/: kubernetes-validate checks them against the schemas of the oldest and
 * the newest version of Kubernetes that it has been tested with, and members run with their
 * arguments, settings and variables and respond to their probes. No Kubernetes cluster is used.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { type Launch, PROCESS_MEMORY, serveWith } from '../integration/member-process.ts';
import { cheapHash } from '../security/cheap-hash.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { EngineServer } from './engine-server.ts';
import { packaged } from './packaged-files.ts';
import { sendCommand } from './server-group.ts';
import { until } from './server-process.ts';
import { kubernetesValidate, ROOT, runChecked, runProgram } from './tools.ts';

const VERSIONS = ['1.27', '1.37'];
const SINGLE = 'kubernetes.yaml';
const SEVERAL = 'kubernetes-members.yaml';
/** Limit for the stop of a member after its shutdown delay, in s (src/cli/serve.ts). */
const STOP_SECONDS_MAX = 11;
const PROGRAM = join(ROOT, 'dist/bin/gridnode.js');
const SETTINGS = '/etc/gridnode/gridnode.yaml';
const PASSWORD = 'secret';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: object };
}

interface Workload extends Manifest {
  readonly spec: {
    readonly replicas: number;
    readonly selector: Selector;
    readonly template: {
      readonly metadata: { readonly labels: object; readonly annotations: Record<string, string> };
      readonly spec: Pod;
    };
  };
}

interface Selector {
  readonly matchLabels: object;
}

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly volumes: readonly { readonly configMap: { readonly name: string } }[];
  readonly containers: readonly [
    {
      readonly args: readonly string[];
      readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[];
      readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
      readonly livenessProbe: Probe;
      readonly readinessProbe: Probe;
    },
  ];
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

/** What the tests read of a file's manifests. */
interface Parts {
  readonly workload: Workload;
  readonly config: Manifest & { readonly data: Readonly<Record<string, string>> };
  readonly secret: Manifest & { readonly stringData: Readonly<Record<string, string>> };
  readonly service: Manifest & { readonly spec: { readonly selector: object } };
  readonly budget:
    | (Manifest & {
        readonly spec: { readonly maxUnavailable: number; readonly selector: Selector };
      })
    | undefined;
}

function partsOf(file: string): Parts {
  const manifests = parseAllDocuments(packaged(file)).map((document) => {
    assert.deepEqual([document.errors, document.warnings], [[], []]);
    return document.toJS() as Manifest;
  });
  const kinds = new Map<string, unknown>(manifests.map((manifest) => [manifest.kind, manifest]));
  assert.equal(kinds.size, manifests.length);
  return {
    workload: (kinds.get('StatefulSet') ?? kinds.get('Deployment')) as Workload,
    config: kinds.get('ConfigMap') as Parts['config'],
    secret: kinds.get('Secret') as Parts['secret'],
    service: kinds.get('Service') as Parts['service'],
    budget: kinds.get('PodDisruptionBudget') as Parts['budget'],
  };
}

/** The settings of the manifest in a file, with their warnings and environment. */
function settingsOf(file: string, variables: Readonly<Record<string, string>>) {
  const folder = temporaryFolder();
  const { config, workload } = partsOf(file);
  const [{ args }] = workload.spec.template.spec.containers;
  const text = (config.data['gridnode.yaml'] ?? '').replace(
    'base-dir: /data',
    `base-dir: ${folder}/data`,
  );
  const path = join(folder, 'gridnode.yaml');
  writeFileSync(path, text);
  const words = args.map((word) => word.replace(SETTINGS, path));
  return { path, words, environment: { PATH: process.env.PATH, ...variables } };
}

/** The variables of the Secret, with passwords that are set. */
function variablesOf(file: string): Record<string, string> {
  const names = Object.keys(partsOf(file).secret.stringData);
  const hash = cheapHash(Buffer.from(PASSWORD));
  return Object.fromEntries(
    names.map((name) => [name, name === 'ENGINE_PASSWORD' ? PASSWORD : hash]),
  );
}

for (const file of [SINGLE, SEVERAL]) {
  test(`${file} agrees with the schemas of Kubernetes`, async () => {
    for (const version of VERSIONS) {
      const words = ['--strict', '--quiet', '-k', version, join(ROOT, 'packaging', file)];
      await runChecked(kubernetesValidate(), words);
    }
  });

  test(`the manifests of ${file} refer to one another`, () => {
    const { workload, config, secret, service, budget } = partsOf(file);
    const { selector, template } = workload.spec;
    assert.deepEqual(template.metadata.labels, selector.matchLabels);
    assert.deepEqual(service.spec.selector, selector.matchLabels);
    const { containers, volumes, terminationGracePeriodSeconds } = template.spec;
    const [{ envFrom, ports }] = containers;
    assert.deepEqual(
      volumes.map(({ configMap }) => configMap.name),
      [config.metadata.name],
    );
    assert.deepEqual(
      envFrom.map(({ secretRef }) => secretRef.name),
      [secret.metadata.name],
    );
    const settings = config.data['gridnode.yaml'] ?? '';
    const delay = Number(/delay-seconds: (\d+)/.exec(settings)?.[1]);
    assert.ok(terminationGracePeriodSeconds > delay + STOP_SECONDS_MAX);
    const health = ports.find(({ name }) => name === 'health')?.containerPort;
    assert.match(settings, new RegExp(`health-port: ${health}\n`));
    assert.equal(template.metadata.annotations['prometheus.io/port'], String(health));
    const placeholders = [...settings.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(placeholders.sort(), Object.keys(secret.stringData).sort());
    if (workload.spec.replicas === 1) assert.equal(budget, undefined);
    else assert.deepEqual(budget?.spec.selector, selector);
  });

  test(`gridnode accepts the settings of ${file} without a warning`, async () => {
    const { path, environment: env } = settingsOf(file, variablesOf(file));
    const { code, output } = await runProgram(PROGRAM, ['config', '--config', path], { env });
    assert.equal(code, 0, output);
    assert.doesNotMatch(output, /warn/i);
  });

  test(`a member does not start with the passwords that ${file} contains`, () => {
    const { words, environment } = settingsOf(file, partsOf(file).secret.stringData);
    const options = { env: environment, encoding: 'utf8' } as const;
    const { status, stderr } = spawnSync(PROGRAM, [...words, '--port', '0'], options);
    assert.equal(status, 2);
    assert.match(stderr, /Cannot use a password hash/);
  });
}

type Member = Awaited<ReturnType<typeof serveWith>>;

/** Starts a member as a manifest does, with other ports and less memory. */
async function startMember(t: TestContext, file: string, ...others: string[]): Promise<Member> {
  const { words, environment } = settingsOf(file, variablesOf(file));
  const launch: Launch = { environment, isBuilt: true };
  const own = [
    '--health-port',
    '0',
    '--max-memory',
    PROCESS_MEMORY,
    '--shutdown-delay-seconds',
    '0',
  ];
  const member = await serveWith(launch, ...words.slice(1), ...own, ...others);
  t.after(() => member.child.kill('SIGKILL'));
  return member;
}

async function stop({ child, exited }: Member): Promise<void> {
  child.kill('SIGTERM');
  assert.equal((await exited)[0], 0);
}

/** Resolves with the statuses of a member's probes, asked as the manifest says. */
async function probe(file: string, member: Member): Promise<number[]> {
  const [{ livenessProbe, readinessProbe }] = partsOf(file).workload.spec.template.spec.containers;
  const statuses: number[] = [];
  for (const { httpGet } of [livenessProbe, readinessProbe]) {
    assert.equal(httpGet.port, 'health');
    const response = await fetch(`http://127.0.0.1:${member.healthPort}${httpGet.path}`);
    statuses.push(response.status);
  }
  return statuses;
}

/** Resolves with the status and body of a request by this user. */
async function ask(port: number, method: string, path: string, user?: string): Promise<string> {
  const login = Buffer.from(`${user}:${PASSWORD}`).toString('base64');
  const headers = user === undefined ? {} : { authorization: `Basic ${login}` };
  const body = method === 'POST' ? 'value' : null;
  const response = await fetch(`http://127.0.0.1:${port}/grid/${path}`, { method, headers, body });
  return `${response.status} ${await response.text()}`;
}

test(`a member as in ${SINGLE} responds to its probes, and requires a login`, async (t) => {
  const member = await startMember(t, SINGLE);
  assert.deepEqual(await probe(SINGLE, member), [200, 200]);
  assert.match(await ask(member.port, 'POST', 'rest/maps/m/k'), /^401 /);
  assert.match(await ask(member.port, 'POST', 'rest/maps/m/k', 'prometheus'), /^403 /);
  assert.equal(await ask(member.port, 'POST', 'rest/maps/m/k', 'app'), '200 ');
  const { 'prometheus.io/path': path = '' } =
    partsOf(SINGLE).workload.spec.template.metadata.annotations;
  const metrics = await ask(member.healthPort, 'GET', path.replace('/grid/', ''), 'prometheus');
  assert.match(metrics, /^200 .*gridnode_ready 1/s);
  await stop(member);
});

test(`three members as in ${SEVERAL} share their data, and one can stop`, async (t) => {
  const server = await EngineServer.start();
  t.after(() => server.stop());
  const user = ['gridnode', 'on', `>${PASSWORD}`, '~*', '&*', '+@all'];
  assert.equal(await sendCommand(server.port, 'ACL', 'SETUSER', ...user), 'OK');
  const { workload, budget } = partsOf(SEVERAL);
  assert.ok(budget !== undefined && budget.spec.maxUnavailable < workload.spec.replicas);
  const engine = `redis://127.0.0.1:${server.port}`;
  const members: Member[] = [];
  for (let count = 0; count < workload.spec.replicas; count++) {
    members.push(await startMember(t, SEVERAL, '--engine', engine));
  }
  const [first, second, third] = members;
  assert.ok(first && second && third);
  assert.deepEqual(await probe(SEVERAL, third), [200, 200]);
  assert.equal(await ask(first.port, 'POST', 'rest/maps/m/k', 'app'), '200 ');
  assert.equal(await ask(second.port, 'GET', 'rest/maps/m/k', 'app'), '200 value');
  await stop(first);
  await until(async () => (await ask(third.port, 'GET', 'health/cluster-size')) === '200 2');
  assert.deepEqual(await probe(SEVERAL, third), [200, 200]);
  assert.equal(await ask(third.port, 'GET', 'rest/maps/m/k', 'app'), '200 value');
  await Promise.all([second, third].map(stop));
});
