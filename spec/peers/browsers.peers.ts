/**
 * Attacks on a member on loopback by pages of other sites in Chromium, in both dialects. They can
 * neither change nor read anything; links work, and pages of listed origins have access.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { serve } from '../integration/member-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { Chromium } from './chromium.ts';

/** A foreign site, a name that resolves to the member itself, and the listed site. */
const [EVIL, REBOUND, LISTED] = ['evil.example', 'rebound.example', 'app.example'];
const SECRET = 'a value that no page may read';
const folder = temporaryFolder();

let chromium: Chromium;
let pages: Server;
let pagesPort = 0;

before(async () => {
  pages = createServer(({ url }, response) => {
    response.setHeader('Content-Type', 'text/html');
    const sandbox = 'sandbox allow-scripts allow-forms';
    if (url === '/sandboxed') response.setHeader('Content-Security-Policy', sandbox);
    response.end('<!doctype html><title>page</title><body></body>');
  });
  pages.listen(0, '127.0.0.1');
  await once(pages, 'listening');
  pagesPort = (pages.address() as AddressInfo).port;
  chromium = await Chromium.start([EVIL, REBOUND, LISTED]);
});

after(async () => {
  pages.close();
  await chromium.stop();
  pages.closeAllConnections();
});

/** A member with data and all groups enabled, and a client of it that is not a browser. */
async function member(segment: string, ...flags: readonly string[]) {
  const compatibility = segment === 'hazelcast' ? 'hazelcast' : 'none';
  const words = ['--enable-group', 'all', '--compatibility', compatibility, ...flags];
  const started = await serve(...words);
  const url = `http://127.0.0.1:${started.port}/${segment}`;
  const ask = async (method: string, path: string, body?: string, type?: string) => {
    const headers = type === undefined ? {} : { 'Content-Type': type };
    const init = body === undefined ? { method, headers } : { method, headers, body };
    const response = await fetch(`${url}/${path}`, init);
    return `${response.status} ${await response.text()}`;
  };
  const put = async (key: string, value: string, type: string) =>
    assert.equal(await ask('POST', `rest/maps/m/${key}`, value, type), '200 ');
  await put('secret', SECRET, 'text/plain');
  await put('script', 'globalThis.hasRun = true', 'text/javascript');
  await put('page', stored(`/${segment}`), 'text/html');
  assert.equal(await ask('POST', 'rest/queues/q', 'item', 'text/plain'), '200 ');
  return {
    ...{ url, ask, port: started.port },
    /** Fails if the data, the state or the log level has changed. */
    async assertUntouched(attack: string) {
      assert.equal(await ask('GET', 'rest/maps/m/secret'), `200 ${SECRET}`, attack);
      assert.equal(await ask('GET', 'rest/queues/q/size'), '200 1', attack);
      assert.equal(await ask('GET', 'rest/maps/m/planted'), '204 ', attack);
      assert.match(await ask('GET', 'health/node-state'), /200 "ACTIVE"/, attack);
      assert.match(await ask('GET', 'rest/log-level'), /null|"logLevel":""/, attack);
    },
    async stop() {
      started.child.kill('SIGTERM');
      assert.deepEqual(await started.exited, [0, null]);
    },
  };
}

/** An HTML value whose script tries to delete an entry and to poll an item. */
function stored(segment: string): string {
  return `<!doctype html><body><script>
    document.title = 'has run';
    fetch('${segment}/rest/maps/m/secret', { method: 'DELETE' });
    fetch('${segment}/rest/queues/q/0', { method: 'DELETE' });
  </script></body>`;
}

/**
 * Runs in a page: tries every request that a page can send to the member at `url`. Returns the
 * content that it could read, by attack; `opaque` for a response that is hidden from the page.
 */
const ATTACKS = `async (url) => {
  const seen = {};
  const contentOf = (response) =>
    response.type === 'opaque' ? 'opaque' : response.text().then((text) => 'read ' + text);
  const ask = async (name, path, init = {}) => {
    seen[name] = await fetch(url + '/' + path, init).then(contentOf, () => 'refused');
  };
  const post = (name, path, body) => ask(name, path, { method: 'POST', mode: 'no-cors', body });
  const loaded = (element) =>
    new Promise((resolve) => {
      element.onload = () => resolve('loaded');
      element.onerror = () => resolve('failed');
      document.body.append(element);
    });
  const element = (tag, path) =>
    loaded(Object.assign(document.createElement(tag), { src: url + '/' + path }));
  await post('blob', 'rest/maps/m/planted', new Blob(['<script>1</script>']));
  await post('text', 'rest/maps/m/secret', 'overwritten');
  const map = '{m: {wan-replication-ref: {w: {}}}}';
  await post('update', 'rest/config/update', 'dev&&grid: {map: ' + map + '}');
  const publisher = '{"clusterName":"c","targetEndpoints":"127.0.0.1:1"}';
  const replication = '{"name":"w","batchPublishers":[' + publisher + ']}';
  await post('wan', 'rest/wan/addWanConfig', 'dev&&' + replication);
  await post('sync', 'rest/wan/sync/allmaps', 'dev&&w&');
  await post('level', 'rest/log-level', 'dev&&OFF');
  await post('shutdown', 'rest/management/cluster/clusterShutdown', 'dev&a=b');
  await ask('read', 'rest/maps/m/secret');
  await ask('opaque read', 'rest/maps/m/secret', { mode: 'no-cors' });
  await ask('health', 'health');
  await ask('delete', 'rest/maps/m/secret', { method: 'DELETE' });
  await ask('clear', 'rest/maps/m', { method: 'DELETE' });
  await ask('poll', 'rest/queues/q/0', { method: 'DELETE' });
  await ask('opaque poll', 'rest/queues/q/0', { mode: 'no-cors' });
  navigator.sendBeacon(url + '/rest/maps/m/planted', new Blob(['x']));
  seen.image = await element('img', 'rest/queues/q/0');
  seen.script = await element('script', 'rest/maps/m/script');
  seen.hasRun = String('hasRun' in globalThis);
  await element('iframe', 'rest/queues/q/0');
  await element('iframe', 'rest/maps/m/page');
  await element('iframe', 'rest/maps/m/secret');
  seen.frames = [...document.querySelectorAll('iframe')]
    .map((frame) => frame.contentDocument?.body.textContent ?? 'hidden')
    .join();
  const frame = Object.assign(document.createElement('iframe'), { name: 'answer' });
  await loaded(frame);
  const submitted = new Promise((resolve) => {
    frame.onload = resolve;
  });
  const form = document.createElement('form');
  const action = url + '/rest/management/cluster/clusterShutdown';
  Object.assign(form, { method: 'post', enctype: 'text/plain', target: 'answer', action });
  form.innerHTML = '<input name="dev&amp;a" value="b">';
  document.body.append(form);
  form.submit();
  await submitted;
  return seen;
}`;

/** The results of the attacks by a page of another origin. */
const REFUSED = {
  ...{ blob: 'opaque', text: 'opaque', update: 'opaque', wan: 'opaque', sync: 'opaque' },
  ...{ level: 'opaque', shutdown: 'opaque', read: 'refused', 'opaque read': 'opaque' },
  ...{ health: 'refused', delete: 'refused', clear: 'refused', poll: 'refused' },
  ...{ 'opaque poll': 'opaque', image: 'failed', script: 'failed' },
  ...{ hasRun: 'false', frames: 'hidden,hidden,hidden' },
};

function attacksOn(url: string): string {
  return `(${ATTACKS})(${JSON.stringify(url)})`;
}

for (const segment of ['grid', 'hazelcast']) {
  describe(`a member with the path segment /${segment}`, () => {
    let served: Awaited<ReturnType<typeof member>>;
    before(async () => {
      served = await member(segment);
    });
    after(() => served.stop());

    const origins: Readonly<Record<string, () => string>> = {
      'another site': () => `http://${EVIL}:${pagesPort}/`,
      'the same host on another port': () => `http://127.0.0.1:${pagesPort}/`,
      'the same machine by another name': () => `http://localhost:${pagesPort}/`,
      'the origin null': () => `http://${EVIL}:${pagesPort}/sandboxed`,
    };
    for (const [name, url] of Object.entries(origins)) {
      it(`protects its data from a page of ${name}`, async () => {
        const tab = await chromium.tab();
        await tab.open(url());
        assert.deepEqual(await tab.evaluate(attacksOn(served.url)), REFUSED);
        await served.assertUntouched(name);
      });

      it(`serves a link in a page of ${name}, but refuses a link that polls`, async () => {
        const tab = await chromium.tab();
        const click = (path: string) =>
          `document.body.innerHTML = '<a href="${served.url}/${path}">link</a>';
           document.querySelector('a').click()`;
        await tab.open(url());
        await tab.follow(click('health'));
        assert.match(String(await tab.evaluate('document.body.innerText')), /"nodeState":"ACTIVE"/);
        await tab.open(url());
        await tab.follow(click('rest/queues/q/0'));
        assert.match(String(await tab.evaluate('document.body.innerText')), /"status":"fail"/);
        await served.assertUntouched(name);
      });
    }

    it('protects its data from a page whose name was rebound to this machine', async () => {
      const tab = await chromium.tab();
      const url = `http://${REBOUND}:${served.port}/${segment}`;
      await tab.open(`${url}/health`);
      const seen = await tab.evaluate(attacksOn(url));
      for (const [name, text] of Object.entries(seen as Record<string, string>)) {
        if (name === 'health') assert.match(text, /^read \{"nodeState"/);
        else assert.ok(!text.includes(SECRET) && !text.includes('item'), `${name}: ${text}`);
      }
      await served.assertUntouched('rebound');
    });

    it('prevents scripts in a stored value from running when the value is opened', async () => {
      const tab = await chromium.tab();
      await served.ask('POST', 'rest/maps/m/untyped', stored(`/${segment}`));
      for (const key of ['page', 'untyped']) {
        await tab.open(`${served.url}/rest/maps/m/${key}`);
        assert.notEqual(await tab.evaluate('document.title'), 'has run');
        assert.equal(await tab.evaluate('fetch("/").then(() => 1, () => 0)'), 0);
        await served.assertUntouched(key);
      }
    });
  });
}

it('a page of a listed origin reads, writes and removes', async (t) => {
  const origin = `http://${LISTED}:${pagesPort}`;
  const file = join(folder, 'member.yaml');
  const text = `grid: {network: {rest-api: {cors: {allowed-origins: ['${origin}']}}}}`;
  writeFileSync(file, text);
  const served = await member('grid', '--config', file, '--host', '127.0.0.1');
  t.after(() => served.stop());
  const tab = await chromium.tab();
  const calls = `(async (url) => {
    const seen = [];
    const ask = async (method, path, body) => {
      const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
      const response = await fetch(url + path, { method, headers, body });
      seen.push(response.status + ' ' + (await response.text()));
    };
    await ask('GET', '/rest/maps/m/secret');
    await ask('PUT', '/rest/maps/m/k', '{}');
    await ask('GET', '/rest/maps/m/k');
    await ask('DELETE', '/rest/maps/m/k');
    await ask('DELETE', '/rest/queues/q/0');
    return seen;
  })(${JSON.stringify(served.url)})`;
  await tab.open(`${origin}/`);
  const seen = [`200 ${SECRET}`, '200 ', '200 {}', '200 ', '200 item'];
  assert.deepEqual(await tab.evaluate(calls), seen);
  await tab.open(`http://${EVIL}:${pagesPort}/`);
  assert.deepEqual(await tab.evaluate(attacksOn(served.url)), REFUSED);
});
