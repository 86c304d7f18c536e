/**
 * Covers src/member/reloader.ts and src/config. config/update with texts that are slow to parse, while
 * other clients are served.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { RawClient, ReceivedResponse } from './client.ts';
import { memberOn } from './member-on.ts';

const BYTES_MAX = 1_048_576;

describe('config/update', () => {
  let folder = '';
  let member: ReturnType<typeof memberOn>;
  let client: RawClient;
  let other: RawClient;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reconfiguration-'));
    member = memberOn(folder);
    client = await member.listening();
    other = await member.listening();
  });

  after(async () => {
    client.destroy();
    other.destroy();
    await member.stop();
    rmSync(folder, { recursive: true });
  });

  /** Adds the text. Also resolves with the number of another client's requests served meanwhile. */
  async function add(text: string): Promise<{ response: ReceivedResponse; served: number }> {
    let response: ReceivedResponse | undefined;
    const adding = client
      .request('POST', 'config/update', Buffer.from(`dev&&${encodeURIComponent(text)}`))
      .then((received) => {
        response = received;
      });
    let served = 0;
    while (response === undefined) {
      assert.equal((await other.request('GET', 'maps/m/k')).status, 204);
      served += 1;
    }
    await adding;
    return { response, served };
  }

  it('responds to a text with many faults, and serves other clients meanwhile', async () => {
    const names = Array.from({ length: 3000 }, (_, at) => `  nam${at}: 1\n`);
    const { response, served } = await add(`grid:\n${names.join('')}`);
    assert.equal(response.status, 400);
    assert.ok(served >= 3, `${served}`);
    assert.ok(response.body.length < 1_000_000, `${response.body.length}`);
  });

  it(`accepts ${BYTES_MAX} bytes of text and not one more`, async () => {
    const text = (bytes: number) => `grid: {queue: {last: {max-size: 1}}} #`.padEnd(bytes, '#');
    const beyond = await add(text(BYTES_MAX + 1));
    assert.equal(beyond.response.status, 400);
    assert.match(beyond.response.body.toString(), /parameter 3: longer than 1048576 bytes/);
    const whole = await add(text(BYTES_MAX));
    assert.equal(whole.response.status, 200);
    assert.match(whole.response.body.toString(), /"configName":"last"/);
    // A byte that is escaped as three characters counts as one.
    const escaped = `dev&&${'%23'.repeat(BYTES_MAX + 1)}`;
    const response = await client.request('POST', 'config/update', Buffer.from(escaped));
    assert.match(response.body.toString(), /longer than 1048576 bytes/);
  });

  it('lists all added blocks, and those that existed; other clients are served meanwhile', async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `m${at}`);
    const first = await add(`grid: {map: {${names.join(', ')}}}`);
    const second = await add(`grid: {map: {${names.join(', ')}}, license-key: x}`);
    assert.ok(first.served >= 3, `${first.served}`);
    const listed = names.map((configName) => ({ sectionName: 'map', configName }));
    assert.deepEqual(JSON.parse(first.response.body.toString()), {
      status: 'success',
      message: 'Configuration Update successfully finished.',
      result: { addedConfigs: listed, ignoredConfigs: [] },
    });
    const { result } = JSON.parse(second.response.body.toString());
    assert.deepEqual(result.addedConfigs, []);
    assert.deepEqual(result.ignoredConfigs, [...listed, { sectionName: 'license-key' }]);
  });
});
