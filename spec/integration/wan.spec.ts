/** Covers src/wan. WAN replication between members over real sockets. */

import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { freePort } from '../free-port.ts';
import { tlsFile } from '../tls/identity.ts';
import { requestBytes } from './client.ts';
import {
  sendingTo,
  soon,
  started,
  startedWith,
  stopAll,
  stopped,
  type WanMember,
  wanMember,
} from './wan-members.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-'));
after(() => rmSync(FOLDER, { recursive: true }));

afterEach(stopAll);

const LATEST = { 'merge-policy-class-name': 'LatestUpdate' };

describe('replication to another member', () => {
  it('sends sets, overwrites, deletes and clears, but only of maps with a reference', async () => {
    const target = await started();
    const source = await started({ grid: sendingTo([target.port]) });
    await source.set('a', '1');
    await source.set('b', '1');
    await source.set('a', '2');
    await source.ask('POST', 'maps/other/a', 'x');
    await soon(() => target.values('a', 'b'), ['2', '1']);
    await source.ask('DELETE', 'maps/m/a');
    await soon(() => target.values('a', 'b'), ['', '1']);
    await source.ask('DELETE', 'maps/m');
    await soon(() => target.values('a', 'b'), ['', '']);
    assert.equal((await target.ask('GET', 'maps/other/a')).status, 204);
    await soon(async () => (await source.publisher()).queueSize, 0);
    const { eventsSent, eventsDropped, lastError, state } = await source.publisher();
    assert.deepEqual([eventsSent, eventsDropped, lastError, state], [5, 0, null, 'REPLICATING']);
    const cluster = JSON.parse((await source.ask('GET', 'cluster')).body.toString());
    assert.ok(cluster.allConnectionCount > cluster.connectionCount, JSON.stringify(cluster));
  });

  it('frees the memory of a queue that is cleared', async () => {
    const source = await started({ grid: sendingTo([await freePort()]) });
    const value = Buffer.alloc(30_000, 'v');
    const fill = async () => {
      const requests = Array.from({ length: 500 }, () => requestBytes('POST', 'maps/m/k', value));
      assert.deepEqual(new Set(await source.askAll(requests)), new Set([200]));
      return process.memoryUsage().arrayBuffers;
    };
    const filled = await fill();
    assert.match(await source.textOf('POST', 'wan/clearWanQueues', 'dev&&w&'), /^200 /);
    const isFree = async () => process.memoryUsage().arrayBuffers < filled - 10_000_000;
    await soon(isFree, true);
  });

  for (const compatibility of [undefined, 'hazelcast'] as const) {
    it(`refuses writes if the queue is full, with ${compatibility ?? 'its own interface'}`, async () => {
      const port = await freePort();
      const full = { 'queue-capacity': 100, 'queue-full-behavior': 'THROW_EXCEPTION' };
      const segment = { network: { 'rest-api': { enabled: true, 'path-segment': 'grid' } } };
      const grid = { ...sendingTo([port], full), ...segment };
      const source = await started({ grid, ...(compatibility && { compatibility }) });
      for (let key = 0; key < 100; key++) await source.set(`k${key}`, 'v');
      for (const [method, path] of [
        ['POST', 'maps/m/k0'],
        ['POST', 'maps/m/k100'],
        ['DELETE', 'maps/m/k0'],
        ['DELETE', 'maps/m'],
      ] as const) {
        const refused = await source.ask(method, path, 'w');
        assert.deepEqual([refused.status, refused.fields.has('retry-after')], [503, true], path);
        assert.match(refused.body.toString(), /the replication queue is full/);
      }
      assert.deepEqual(await source.values('k0', 'k100'), ['v', '']);
      assert.equal((await source.ask('POST', 'maps/other/k', 'v')).status, 200);
      assert.equal((await source.publisher()).queueSize, 100);
    });
  }
});

describe('replication in both directions', () => {
  it('ends with equal data, and no change circulates', async () => {
    const ports = [await freePort(), await freePort()] as const;
    const [one, two] = [
      await started({ port: ports[0], grid: sendingTo([ports[1]], {}, LATEST) }),
      await started({ port: ports[1], grid: sendingTo([ports[0]], {}, LATEST) }),
    ];
    for (let round = 0; round < 20; round++) {
      await Promise.all([one.set('same', `one ${round}`), two.set('same', `two ${round}`)]);
    }
    await Promise.all([one.set('a', '1'), two.set('b', '2')]);
    await soon(() => one.values('a', 'b'), ['1', '2']);
    await soon(() => two.values('a', 'b'), ['1', '2']);
    await soon(async () => (await one.publisher()).queueSize, 0);
    await soon(async () => (await two.publisher()).queueSize, 0);
    assert.deepEqual(await one.values('same'), await two.values('same'));
    assert.deepEqual(
      [(await one.publisher()).eventsSent, (await two.publisher()).eventsSent],
      [21, 21],
    );
  });
});

describe('a target that refuses', () => {
  for (const compression of ['none', 'deflate']) {
    it(`gets an over-long value only once, with compression ${compression}`, async () => {
      const target = await started({ grid: { network: { http: { 'body-bytes-max': '1m' } } } });
      const source = await started({ grid: sendingTo([target.port], { compression }) });
      await source.set('a', '1');
      await source.set('long', 'x'.repeat(2_000_000));
      await source.set('long', 'short');
      await soon(async () => (await source.publisher()).queueSize, 0);
      const { eventsSent, eventsRejected } = await source.publisher();
      assert.deepEqual([eventsSent, eventsRejected], [2, 1]);
      assert.deepEqual(await target.values('a', 'long'), ['1', 'short']);
    });
  }
});

describe('a source that is stopped', () => {
  /** Starts a source whose batches have a delay of a minute, sets three entries and stops it. */
  async function stoppedSource(port: number): Promise<WanMember> {
    const source = await started({
      grid: sendingTo([port], { 'batch-max-delay-millis': 60_000 }),
    });
    for (const key of ['a', 'b', 'c']) await source.set(key, 'v');
    await stopped(source);
    return source;
  }
  const notSent = ({ lines }: WanMember) =>
    lines
      .filter(({ level, msg }) => level === 'warn' && msg.includes('not sent'))
      .map(({ events }) => events);

  it('sends its queued changes at once', async () => {
    const target = await started();
    const source = await stoppedSource(target.port);
    assert.deepEqual(notSent(source), []);
    assert.deepEqual(await target.values('a', 'b', 'c'), ['v', 'v', 'v']);
  });

  it('reports the number of changes that a target which is down did not receive', async () => {
    assert.deepEqual(notSent(await stoppedSource(await freePort())), [3]);
  });
});

describe('replication over TLS', () => {
  const own = { keyCertChainFile: tlsFile('server.pem'), keyFile: tlsFile('server-key.pem') };
  const client = { keyCertChainFile: tlsFile('client.pem'), keyFile: tlsFile('client-key.pem') };
  const authorities = { trustCertCollectionFile: tlsFile('authority.pem') };

  const ssl = (properties: object) => ({ ssl: { enabled: true, properties } });

  /** Starts a target with these TLS properties, and a source that sends to it over TLS. */
  async function startedPair(server: object, publisher: object, host = 'localhost') {
    const network = { 'rest-api': { enabled: true }, ...ssl(server) };
    const target = await wanMember({ host: '0.0.0.0', grid: { network } });
    target.client.destroy();
    const endpoint = { endpoint: 'out', 'target-endpoints': `https://${host}:${target.port}` };
    const source = await started({
      grid: {
        ...sendingTo([target.port], endpoint),
        'advanced-network': { 'wan-endpoint-config': { out: ssl(publisher) } },
      },
    });
    await source.set('a', '1');
    return { source, target };
  }

  /** Returns the outcome of a change: 'sent', or the error. */
  async function sentOver(...parts: Parameters<typeof startedPair>): Promise<string> {
    const { source, target } = await startedPair(...parts);
    const outcome = async () => {
      const { eventsSent, lastError } = await source.publisher();
      return eventsSent === 1 ? 'sent' : (lastError ?? '');
    };
    await soon(async () => (await outcome()) !== '', true);
    const seen = await outcome();
    await source.ask('POST', 'wan/clearWanQueues', 'dev&&w&');
    await target.member.drain();
    return seen;
  }

  it('sends to a target whose certificate is issued by a configured authority', async () => {
    assert.equal(await sentOver(own, authorities), 'sent');
  });

  it('sends a certificate to a target that requests one', async () => {
    const asking = { ...own, ...authorities, mutualAuthentication: 'REQUIRED' };
    assert.equal(await sentOver(asking, { ...authorities, ...client }), 'sent');
    assert.match(
      await sentOver(asking, authorities),
      /^localhost:\d+ does not take events: no response/,
    );
  });

  it('sends nothing to a target with another authority or another name', async () => {
    const stranger = { trustCertCollectionFile: tlsFile('stranger.pem') };
    assert.match(await sentOver(own, stranger), /no response: .*certificate/);
    // An address of this machine that the certificate does not contain.
    assert.match(await sentOver(own, authorities, '127.0.0.2'), /no response: .*does not match/);
  });

  it('uses the files of the last reload, unless one of them cannot be used', async () => {
    const file = join(FOLDER, 'authorities.pem');
    copyFileSync(tlsFile('stranger.pem'), file);
    const { source, target } = await startedPair(own, { trustCertCollectionFile: file });
    const reload = async (content: string) => {
      copyFileSync(content, file);
      await source.member.reload();
      return source.lines.at(-1);
    };
    const refused = async () =>
      /certificate/.test((await source.publisher()).lastError ?? '') && 'refused';
    const sent = async () => (await source.publisher()).eventsSent;
    await soon(refused, 'refused');
    await reload(tlsFile('authority.pem'));
    await soon(sent, 1);
    const { msg = '' } = (await reload(tlsFile('README.md'))) ?? {};
    assert.equal(
      msg,
      `not reloaded: Cannot use "${file}" for TLS: it contains no certificate in PEM form`,
    );
    await source.set('a', '2');
    await soon(sent, 2);
    // The open connection was made with the earlier files.
    await reload(tlsFile('stranger.pem'));
    await source.set('a', '3');
    await soon(refused, 'refused');
    assert.equal(await sent(), 2);
    await target.member.drain();
  });
});

describe('a pair of configuration files of the original', () => {
  const SOURCE = (port: number, more = '') => `hazelcast:
  cluster-name: london
  network: {rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: true}, WAN: {enabled: true}}}}
  wan-replication:
    w: {batch-publisher: {berlin: {target-endpoints: "127.0.0.1:${port}", batch-max-delay-millis: 10${more}}}}
  map: {m: {wan-replication-ref: {w: }}}
`;
  const TARGET = (rest: string, more = '') => `hazelcast:
  cluster-name: berlin
  network: {rest-api: ${rest}}
${more}`;
  const ON = '{enabled: true, endpoint-groups: {WAN: {enabled: true}}}';
  const SECURITY = `  security:
    enabled: true
    realms:
      - name: r
        authentication: {simple: {users: [{username: u, password: secret, roles: [all]}]}}
    member-authentication: {realm: r}
`;
  const REASONS = [
    ['REST is off', TARGET('{enabled: false}'), '', /it responded with 403, .*: REST is disabled;/],
    ['group WAN is off', TARGET('{enabled: true}'), '', /403, .*: endpoint group WAN is disabled;/],
    [
      'it has another name',
      TARGET(ON).replace('berlin', 'paris'),
      '',
      /403, .*it is for cluster "berlin", and this member's cluster has another name/,
    ],
    ['a user is required', TARGET(ON, SECURITY), '', /401, .*: a user and a password are required/],
    [
      'the user is wrong',
      TARGET(ON, SECURITY),
      ', properties: {username: u, password: x}',
      /401, .*: user or password is wrong/,
    ],
    ['it has no TLS', TARGET(ON), 'https://', /no response: .*(SSL|EPROTO)/],
  ] as const;

  // All at once: a publisher logs its target's faults only after seconds.
  it(`logs why nothing is sent: ${REASONS.map(([what]) => what).join('; ')}`, async () => {
    await Promise.all(
      REASONS.map(async ([what, target, more, reason]) => {
        const port = await freePort();
        await startedWith(target, port);
        const isTls = more === 'https://';
        const text = SOURCE(port, isTls ? '' : more);
        const source = await startedWith(isTls ? text.replace('"127', '"https://127') : text);
        await source.set('a', '1');
        const lines = () => source.lines.map(({ msg }) => `${msg}`.replaceAll('\\"', '"'));
        const isLogged = () =>
          lines().some((line) => /^WAN publisher: .* does not take/.test(line));
        await soon(async () => isLogged(), true);
        assert.ok(
          lines().some((line) => reason.test(line)),
          `${what}: ${lines().join('\n')}`,
        );
      }),
    );
  });
});

describe('addWanConfig', () => {
  const json = (port: number) => {
    const names = { publisherId: 'added', clusterName: 'dev' };
    const publisher = { targetEndpoints: `127.0.0.1:${port}`, batchMaxDelayMillis: 10, ...names };
    return encodeURIComponent(JSON.stringify({ name: 'n', batchPublishers: [publisher] }));
  };

  it('adds publishers, which send the changes of added maps, also after a restart', async () => {
    const target = await started();
    const directory = join(FOLDER, 'added');
    let source = await started({ dataDirectory: directory });
    const add = (text: string) => source.textOf('POST', 'wan/addWanConfig', `dev&&${text}`);
    const result = (added: string[], ignored: string[]) => {
      const ids = { addedPublisherIds: added, ignoredPublisherIds: ignored };
      return `200 ${JSON.stringify({ status: 'success', message: 'WAN configuration added.', ...ids })}`;
    };
    assert.equal(await add(json(target.port)), result(['added'], []));
    assert.equal(await add(json(target.port)), result([], ['added']));
    const map = JSON.stringify({ grid: { map: { m: { 'wan-replication-ref': { n: {} } } } } });
    const update = await source.textOf('POST', 'config/update', `dev&&${encodeURIComponent(map)}`);
    assert.match(update, /^200 /);
    await source.set('a', '1');
    await soon(() => target.values('a'), ['1']);
    await stopped(source);
    source = await started({ dataDirectory: directory });
    const { wanReplicationName, wanPublisherId, state } = await source.publisher();
    assert.deepEqual([wanReplicationName, wanPublisherId, state], ['n', 'added', 'REPLICATING']);
    await source.set('a', '2');
    await soon(() => target.values('a'), ['2']);
  });

  it('is reverted permanently by removeWanConfig, and queued changes are dropped', async () => {
    const target = await started();
    const directory = join(FOLDER, 'removed');
    let source = await started({
      dataDirectory: directory,
      grid: sendingTo([target.port], { 'initial-publisher-state': 'PAUSED' }),
    });
    const call = (name: string, rest: string) =>
      source.textOf('POST', `wan/${name}`, `dev&&${rest}`);
    assert.match(await call('addWanConfig', json(await freePort())), /^200 /);
    const map = JSON.stringify({ grid: { map: { x: { 'wan-replication-ref': { n: {} } } } } });
    await source.textOf('POST', 'config/update', `dev&&${encodeURIComponent(map)}`);
    await source.ask('POST', 'maps/x/k', '1');
    const queued = async () => (await source.publishers()).map(({ queueSize }) => queueSize);
    assert.deepEqual(await queued(), [0, 1]);
    const sync = await call('sync/map', 'n&added&x');
    const { uuid } = JSON.parse(sync.slice(4)) as { uuid: string };
    const done = JSON.stringify({ status: 'success', message: 'WAN publisher removed.' });
    assert.equal(await call('removeWanConfig', 'n&'), `200 ${done}`);
    assert.match(await call('removeWanConfig', 'n&added'), /^400 .*name n and publisher ID added/);
    assert.match(await call('removeWanConfig', 'w&p0'), /^409 .*it is in the configuration/);
    assert.deepEqual(await queued(), [0]);
    const stage = async () => {
      const { body } = await source.ask('GET', `wan/sync/progress/${uuid}`);
      return (JSON.parse(body.toString()) as { result: { stage: string } }).result.stage;
    };
    await soon(stage, 'FAILED');
    assert.equal((await source.ask('POST', 'maps/x/k', '2')).status, 200);
    await stopped(source);
    source = await started({ dataDirectory: directory, grid: sendingTo([target.port]) });
    assert.equal((await source.publishers()).length, 1);
    assert.match(await call('addWanConfig', json(target.port)), /^200 /);
    await soon(queued, [0, 0]);
    await source.ask('POST', 'maps/x/l', '3');
    await soon(async () => (await target.ask('GET', 'maps/x/l')).body.toString(), '3');
    assert.equal((await target.ask('GET', 'maps/x/k')).status, 204);
  });
});
