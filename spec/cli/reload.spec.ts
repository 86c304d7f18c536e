/** Covers src/member/reloader.ts. The settings that a member reloads at SIGHUP. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { writeConfig } from '../config/documents.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { memberOf } from '../integration/member-on.ts';
import { identity, isSecured, tlsClient, tlsFile } from '../tls/identity.ts';

const GROUP = 'network.rest-api.endpoint-groups.{name}.enabled';

describe('gridnode serve at SIGHUP', () => {
  it('applies groups, REST and log level, and names the settings that need a restart', async () => {
    const text = (groups: string, rest: string): string =>
      `grid:\n  ${rest}\n  network:\n    port: 0\n    rest-api:\n      ${groups}\n`;
    const on = 'enabled: true\n      endpoint-groups: {DATA: {enabled: true}}';
    const path = writeConfig('reload.yaml', text('enabled: true', 'log-level: INFO'));
    const { next, reload, stop } = await memberOf(path);
    const { port = 0 } = await next('listening');
    const base = `http://127.0.0.1:${port}/grid`;
    try {
      assert.equal((await fetch(`${base}/rest/maps/m/k`)).status, 403);
      writeFileSync(path, text(on, 'log-level: FINE\n  partition-count: 3'));
      reload();
      const kept = await next('not changed: needs a restart');
      assert.deepEqual(kept.settings, ['partition-count']);
      assert.deepEqual((await next('reloaded')).changed, ['log-level', GROUP]);
      assert.equal((await fetch(`${base}/rest/maps/m/k`)).status, 204);
      assert.equal((await next('answered')).path, '/grid/rest/maps/m/k');
      const client = new RawClient(port);
      client.send(Buffer.from('GET /x HTTP/1.1\r\n\r\n'));
      const { status, path: none, code, reason } = await next('answered');
      assert.deepEqual([status, none, code], [400, undefined, 'HOST_MISSING']);
      assert.equal(reason, 'Host: missing in HTTP/1.1');
      client.destroy();
      writeFileSync(path, text('enabeld: true', ''));
      reload();
      const wrong = await next('not reloaded: the configuration is wrong');
      assert.match(String(wrong.problems), /did you mean "enabled"/);
      assert.equal((await fetch(`${base}/rest/maps/m/k`)).status, 204);
      writeFileSync(path, text('enabled: false', 'log-level: INFO'));
      reload();
      await next('reloaded');
      assert.equal((await fetch(`${base}/health/live`)).status, 403);
    } finally {
      await stop();
    }
  });

  it('applies certificates and their authority, also to earlier TLS sessions', async () => {
    const install = (name: 'server' | 'server-2') => {
      const { certificate, key } = identity(name);
      const keyFile = writeConfig('key.pem', String(key));
      return { keyCertChainFile: writeConfig('certificate.pem', String(certificate)), keyFile };
    };
    const own = install('server');
    const text = (authority: string): string => {
      const properties = JSON.stringify({
        ...own,
        trustCertCollectionFile: tlsFile(authority),
        mutualAuthentication: 'REQUIRED',
      });
      const ssl = `ssl: {enabled: true, properties: ${properties}}`;
      return `grid: {network: {port: 0, rest-api: {enabled: true}, ${ssl}}}`;
    };
    const path = writeConfig('client-ca.yaml', text('authority.pem'));
    const { next, reload, stop } = await memberOf(path);
    const { port = 0 } = await next('listening');
    const isLetIn = async (name: 'client' | 'impostor', session?: Buffer): Promise<boolean> => {
      const client = new RawClient(tlsClient(port, name, session && { session }));
      client.send(requestBytes('GET', 'instance'));
      const response = await client.response();
      client.destroy();
      return response?.status === 200;
    };
    try {
      const socket = tlsClient(port, 'client');
      const sessions: Buffer[] = [];
      socket.on('session', (session) => sessions.push(session));
      const earlier = new RawClient(socket);
      assert.equal((await earlier.request('GET', 'instance')).status, 200);
      assert.equal(await isLetIn('client', sessions[0]), true);
      assert.equal(await isLetIn('impostor'), false);
      writeFileSync(path, text('stranger.pem'));
      reload();
      const { changed } = await next('reloaded');
      assert.deepEqual(changed, ['network.ssl.properties.trustCertCollectionFile']);
      assert.equal(await isLetIn('impostor'), true);
      assert.equal(await isLetIn('client'), false);
      assert.ok(sessions[0]);
      assert.equal(await isLetIn('client', sessions[0]), false);
      install('server-2');
      reload();
      await next('reloaded');
      const renewed = tlsClient(port, 'impostor');
      assert.ok(await isSecured(renewed));
      assert.equal(renewed.getPeerCertificate().subject.CN, 'gridnode test server-2');
      assert.equal((await earlier.request('GET', 'instance')).status, 200);
      writeFileSync(own.keyFile, 'no key');
      reload();
      const fault = `Cannot use "${own.keyFile}" for TLS: it contains no private key in PEM form`;
      const { level, code } = await next(`not reloaded: ${fault}`);
      assert.deepEqual([level, code], ['error', 'TLS_FILE_UNUSABLE']);
      assert.equal(await isLetIn('impostor'), true);
      for (const socket of [renewed, earlier.socket]) socket.destroy();
    } finally {
      await stop();
    }
  });

  it('applies users, passwords and permissions; every user logs in again', async () => {
    const text = (users: string, actions: string): string => `
grid:
  network: {port: 0, rest-api: {enabled: true, authentication: basic, endpoint-groups: {DATA: {enabled: true}}}}
  security:
    enabled: true
    realms: [{name: staff, authentication: {simple: {users: [${users}]}}}]
    member-authentication: {realm: staff}
    client-permissions: {map: [{name: '*', principal: '*', actions: [${actions}]}]}
`;
    const path = writeConfig('users.yaml', text('{username: ann, password: one}', 'all'));
    const { next, reload, stop } = await memberOf(path);
    const { port = 0 } = await next('listening');
    const base = `http://127.0.0.1:${port}/grid`;
    const status = async (login: string, method = 'GET'): Promise<number> => {
      const headers = { Authorization: `Basic ${Buffer.from(login).toString('base64')}` };
      return (await fetch(`${base}/rest/maps/m/k`, { method, headers })).status;
    };
    try {
      assert.deepEqual(
        [await status('ann:one'), await status('ann:one', 'PUT'), await status('bob:b')],
        [204, 200, 401],
      );
      writeFileSync(
        path,
        text('{username: ann, password: two}, {username: bob, password: b}', 'read'),
      );
      reload();
      assert.deepEqual((await next('reloaded')).changed, [
        'security.realms',
        'security.client-permissions',
      ]);
      assert.deepEqual(
        [await status('ann:one'), await status('ann:two'), await status('bob:b')],
        [401, 200, 200],
      );
      assert.equal(await status('ann:two', 'PUT'), 403);
      const open = new RawClient(port);
      const login = `Authorization: Basic ${Buffer.from('ann:two').toString('base64')}`;
      const read = async () => {
        open.send(
          Buffer.from(`GET /grid/rest/maps/m/k HTTP/1.1\r\nHost: localhost\r\n${login}\r\n\r\n`),
        );
        return (await open.response())?.status;
      };
      assert.equal(await read(), 200);
      const only = text('{username: ann, password: two}', 'read');
      writeFileSync(path, only.replace(/client-permissions: .*/, 'client-permissions: {}'));
      reload();
      await next('reloaded');
      assert.equal(await read(), 403);
      writeFileSync(path, only);
      reload();
      await next('reloaded');
      assert.equal(await read(), 200);
      open.destroy();
      writeFileSync(path, 'grid: {network: {port: 0, rest-api: {enabled: true}}}');
      reload();
      const { settings } = await next('not changed: needs a restart');
      assert.deepEqual(settings, ['network.rest-api.authentication', 'security.enabled']);
    } finally {
      await stop();
    }
  });
});
