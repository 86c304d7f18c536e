/**
 * Covers src/member/load.ts. The sources of the configuration: each overrides the previous one, and
 * messages name the source.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { connect } from 'node:tls';
import { writeConfig } from '../config/documents.ts';
import { memberOf } from '../integration/member-on.ts';
import { serveWith } from '../integration/member-process.ts';
import { tlsFile } from '../tls/identity.ts';
import { start } from './gridnode-process.ts';
import { run, runWith } from './run-command.ts';

type Explained = Record<string, { value?: unknown; source: string; refused?: string }>;

async function explained(words: readonly string[], environment: Record<string, string> = {}) {
  const { code, output, errors } = await runWith(environment, ['config', '--json', ...words]);
  assert.equal(code, 0, errors);
  return { settings: JSON.parse(output) as Explained, warnings: errors };
}

const FILE = `
hazelcast:
  cluster-name: $\{GRIDNODE_TEST_NAME}
  network:
    port: 5880
    rest-api:
      enabled: true
      endpoint-groups: {DATA: {enabled: true}}
  map:
    default: {backup-count: 2}
`;

describe('gridnode config', () => {
  it('lists lost functions and settings without meaning below headings, then other warnings', async () => {
    const eviction = 'eviction: {eviction-policy: LRU, size: 9}, map-store: {enabled: false}';
    const file = writeConfig(
      'lost.yaml',
      `grid: {map: {s: {${eviction}}}, license-key: k, network: {rest-api: {enabled: true,
      endpoint-groups: {DATA: {enabled: true}}}}}`,
    );
    const { errors } = await run('config', '--config', file);
    const lines = errors.replaceAll(file, 'lost.yaml').split('\n');
    assert.deepEqual(lines.slice(0, 4), [
      'Lost, because this member has no such function:',
      '  lost.yaml:1:46: map.s.eviction: no eviction here; writes get 503 at max-memory',
      'Ignored, because these settings have no meaning here:',
      '  lost.yaml:1:105: license-key',
    ]);
    assert.match(lines[4] ?? '', /^Can be reached from outside without credentials: DATA; /);
    const none = await run('config', '--config', writeConfig('none.yaml', 'grid: {}'));
    assert.equal(none.errors, '');
  });

  it('shows that each source overrides the previous one', async () => {
    const file = writeConfig('sources.yaml', FILE);
    const environment = { GRID_CLUSTERNAME: 'of-environment', HZ_LOGLEVEL: 'FINE' };
    const flags = ['--config', file, '--log-level', 'FINER'];
    const { settings } = await explained(flags, environment);
    assert.deepEqual(settings['network.http.pipeline-max'], { value: 1024, source: 'default' });
    const port = { value: 5880, source: `file ${file}:5:11` };
    assert.deepEqual(settings['network.port.port'], port);
    const name = { value: 'of-environment', source: 'environment GRID_CLUSTERNAME' };
    assert.deepEqual(settings['cluster-name'], name);
    assert.deepEqual(settings['log-level'], { value: 'FINER', source: 'flag --log-level' });
  });

  it('replaces placeholders, and warns if one has no variable', async () => {
    const file = writeConfig('placeholder.yaml', FILE);
    const set = await explained(['--config', file], { GRIDNODE_TEST_NAME: 'set' });
    assert.equal(set.settings['cluster-name']?.value, 'set');
    const { settings, warnings } = await explained(['--config', file]);
    assert.match(String(settings['cluster-name']?.value), /^\$\{GRIDNODE_TEST_NAME\}$/);
    assert.match(warnings, /placeholder.yaml:3:17: No environment variable GRIDNODE_TEST_NAME/);
    assert.match(
      warnings,
      /^ {2}\S*: map\.\{name\}\.backup-count: no copies on other members here; /m,
    );
  });

  it('reads standard input, also if it is a socket', async () => {
    const child = start(['config', '--config', '/dev/stdin']);
    child.stdin?.end('grid: {cluster-name: of-input}');
    const output = await text(child.stdout ?? process.stdin);
    assert.match(output, /^ {2}cluster-name: of-input {2}# file \/dev\/stdin:1:22$/m);
  });

  it('prints why serve refuses, but does not stop', async () => {
    const file = writeConfig('refused.yaml', 'grid:\n  security:\n    enabled: true\n');
    const { settings } = await explained(['--config', file]);
    assert.match(settings['security.enabled']?.refused ?? '', /member-authentication/);
    const { code, errors } = await run('serve', '--port', '0', '--config', file);
    assert.equal(code, 2);
    assert.match(errors, /refused.yaml:3:14: Cannot serve with security.enabled: no user/);
  });
});

describe('gridnode serve with a file', () => {
  it('lets the importing file override the imported one', async () => {
    writeConfig('part.yaml', 'grid: {cluster-name: imported, instance-name: imported}');
    const whole = 'grid: {cluster-name: own, import: [part.yaml]}';
    const { settings } = await explained(['--config', writeConfig('whole.yaml', whole)]);
    assert.equal(settings['cluster-name']?.value, 'own');
    assert.equal(settings['instance-name']?.value, 'imported');
  });

  it("serves the original's clients if the file has the original's root, and logs this once", async () => {
    const network = '{port: {port: 0}, rest-api: {enabled: true}}';
    const file = writeConfig('original.yaml', `hazelcast: {network: ${network}}`);
    const variables = { GRID_CONFIG: file, GRID_HOST: '127.0.0.1', GRID_PATH_SEGMENT: 'other' };
    const { child, exited, lines, port } = await serveWith({ environment: variables });
    try {
      const notes = lines.filter(({ msg }) => msg.includes('--compatibility'));
      assert.equal(notes.length, 1);
      assert.equal(notes[0]?.level, 'info');
      assert.match(notes[0].msg, /original.yaml:1:1: The root is hazelcast, so --compatibility /);
      assert.doesNotMatch(JSON.stringify(lines), /matches no setting/);
      assert.match(JSON.stringify(lines.at(-1)), /"address":"127\.0\.0\.1".*"msg":"listening"/);
      const base = `http://127.0.0.1:${port}/hazelcast`;
      assert.equal((await fetch(`${base}/health`)).status, 200);
    } finally {
      child.kill('SIGTERM');
      await exited;
    }
  });

  it('skips a port of the file that is in use', async () => {
    const other = createServer().listen(0, '0.0.0.0');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const text = `grid: {network: {port: {port: ${port}, port-count: 50}}}`;
    const { next, stop } = await memberOf(writeConfig('port.yaml', text));
    const { port: taken = 0 } = await next('listening');
    assert.ok(taken > port && taken < port + 50, String(taken));
    other.close();
    await stop();
  });

  it('serves TLS with a key store made by keytool', async () => {
    const properties = { keyStore: tlsFile('key-store.p12'), keyStorePassword: 'test-only' };
    const ssl = `ssl: {enabled: true, properties: ${JSON.stringify(properties)}}`;
    const network = `network: {port: {port: 0}, rest-api: {enabled: true}, ${ssl}}`;
    const file = writeConfig('tls.yaml', `grid: {${network}}`);
    const { next, reload, stop } = await memberOf(file);
    const { port } = await next('listening');
    try {
      const socket = connect({ port, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      assert.equal(socket.getPeerCertificate().subject.CN, 'localhost');
      socket.write('GET /grid/health/live HTTP/1.0\r\n\r\n');
      const [answer] = await once(socket, 'data');
      assert.match(String(answer), /^HTTP\/1.1 200 OK/);
      socket.destroy();
      writeFileSync(file, `grid: {${network.replace('test-only', 'wrong')}}`);
      reload();
      const keyStore = JSON.stringify(properties.keyStore);
      await next(`not reloaded: Cannot use ${keyStore} for TLS: wrong password`);
    } finally {
      await stop();
    }
  });
});
