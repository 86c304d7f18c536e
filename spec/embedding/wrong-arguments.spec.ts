/**
 * Covers src/base/argument-faults.ts and src/local/known-options.ts. Each wrong use of each option of
 * the library is refused with an error whose name, code and text are stable.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type EmbeddedMember, type GridMap, type GridQueue, startMember } from '../../src/index.ts';
import { TEST_MEMORY } from '../integration/member-process.ts';

let member: EmbeddedMember;

before(async () => {
  member = await startMember({ listen: false, maxMemory: TEST_MEMORY });
});

after(() => member.close());

const TYPE = 'TypeError ERR_INVALID_ARG_TYPE: ';
const VALUE = 'TypeError ERR_INVALID_ARG_VALUE: ';
const RANGE = 'RangeError ERR_OUT_OF_RANGE: ';
const CONFIG = 'ConfigFault CONFIG_INVALID: ';

/** Returns name, code and text of the error that the call throws or rejects with. */
async function faultOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    const { name, code, message } = error as Error & { code?: string };
    return `${name} ${code}: ${message}`;
  }
  return 'no error';
}

const circular: Record<string, unknown> = {};
circular.self = circular;
const known = 'known: contentType, timeToLiveSeconds, maxIdleSeconds, ifMatch, ifNoneMatch';

/** Options of startMember, and the beginning of the fault. */
const STARTS: readonly (readonly [unknown, string])[] = [
  [null, `${TYPE}Cannot use null as options of a member: not an object`],
  [5701, `${TYPE}Cannot use 5701 as options of a member: not an object`],
  ['grid.yaml', `${TYPE}Cannot use "grid.yaml" as options of a member: not an object`],
  [[], `${TYPE}Cannot use [] as options of a member: not an object`],
  [{ prot: 1 }, `${VALUE}Cannot use option "prot": no such option; did you mean "port"?`],
  [{ Port: 1 }, `${VALUE}Cannot use option "Port": no such option; did you mean "port"?`],
  [{ xyzzy: 1 }, `${VALUE}Cannot use option "xyzzy": no such option; known: config, sync, maps, `],
  [{ port: true }, `${TYPE}Cannot use port true: not text or a number`],
  [{ port: 5n }, `${TYPE}Cannot use port 5n: not text or a number`],
  [{ port: 1.5 }, `${CONFIG}Cannot use port "1.5": not an integer from 0 to 65535`],
  [{ port: Number.NaN }, `${CONFIG}Cannot use port "NaN": not an integer from 0 to 65535`],
  [{ groups: 'DATA' }, `${TYPE}Cannot use groups "DATA": not an array of names`],
  [{ groups: ['DAT'] }, `${CONFIG}Cannot use groups "DAT": `],
  [{ queues: { q: {} } }, `${TYPE}Cannot use queues {}: not text or a number`],
  [{ queues: 'q' }, `${VALUE}Cannot use queues "q": not NAME=MAX`],
  [{ log: console }, `${TYPE}Cannot use log: it has no child(), which a pino logger has`],
  [{ log: null }, `${TYPE}Cannot use log: it has no child(), which a pino logger has`],
  [{ signal: 5 }, `${TYPE}Cannot use signal 5: not an AbortSignal`],
  [{ signal: null }, `${TYPE}Cannot use signal null: not an AbortSignal`],
  [{ signal: { aborted: true } }, `${TYPE}Cannot use signal { aborted: true }: not an AbortSignal`],
  [{ listen: 0 }, `${TYPE}Cannot use listen 0: not true or false`],
  [{ listen: false, port: 0 }, `${VALUE}Cannot use port 0: listen is false`],
  [{ listen: false, healthPort: 1 }, `${VALUE}Cannot use healthPort 1: listen is false`],
  [{ on: { state: 5 } }, `${TYPE}Cannot use 5 as listener of state: not a function`],
  [
    { on: { stat() {} } },
    `${VALUE}Cannot use option "stat": no such option; did you mean "state"?`,
  ],
  [{ on: 5 }, `${TYPE}Cannot use 5 as on: not an object`],
  [{ sync: 'allways' }, `${CONFIG}Cannot use sync "allways": not always, interval or never`],
  [{ sync: true }, `${TYPE}Cannot use sync true: not text or a number`],
  [{ sync: 'always' }, `${CONFIG}Cannot use sync "always": dataDir is not given`],
  [{ maps: 5 }, `${TYPE}Cannot use maps 5: not an object`],
  [{ maps: null }, `${TYPE}Cannot use maps null: not an object`],
  [{ maps: { m: 60 } }, `${TYPE}Cannot use 60 as map "m": not an object`],
  [
    { maps: { m: { timeToLiveSecond: 1 } } },
    `${VALUE}Cannot use option "timeToLiveSecond": no such option; did you mean "timeToLiveSeconds"?`,
  ],
  [
    { maps: { m: { ttl: 1 } } },
    `${VALUE}Cannot use option "ttl": no such option; did you mean "timeToLiveSeconds"?`,
  ],
  [
    { maps: { m: { maxIdleSeconds: -1 } } },
    `${CONFIG}Cannot use maps.m.maxIdleSeconds "-1": not an integer from 0 to 2147483647`,
  ],
  [
    { maps: { m: { maxIdleSeconds: {} } } },
    `${TYPE}Cannot use maps.m.maxIdleSeconds {}: not text or a number`,
  ],
  [{ maps: { '': { maxIdleSeconds: 1 } } }, `${CONFIG}Cannot use maps..maxIdleSeconds "1"`],
  [{ environment: 'A=1' }, `${TYPE}Cannot use environment "A=1": not an object`],
  [{ environment: { A: 1 } }, `${TYPE}Cannot use A 1 in environment: not text`],
  [{ config: null }, `${TYPE}Cannot use config null: not a path or an object`],
  [{ config: [] }, `${TYPE}Cannot use config []: not a path or an object`],
  [{ config: circular }, `${TYPE}Cannot use config: it has no JSON text: Converting circular`],
  [
    { config: { grid: { map() {} } } },
    `${TYPE}Cannot use config: it has no JSON text: "map" is a function`,
  ],
  [{ config: { grid: { mpa: {} } } }, CONFIG],
  [{ config: '/no/such' }, `${CONFIG}Cannot read configuration file "/no/such"`],
  [{ dataDir: 5, config: {} }, CONFIG],
];

for (const [options, expected] of STARTS) {
  test(`startMember refuses with: ${expected}`, async () => {
    const fault = await faultOf(() => startMember(options as never));
    assert.equal(fault.slice(0, expected.length), expected);
  });
}

/** The calls of a member and its maps and queues, with any arguments. */
type Calls = {
  readonly [Name in
    | keyof Omit<EmbeddedMember, symbol>
    | keyof Omit<GridMap, symbol>
    | keyof Omit<GridQueue, symbol>]: (...values: readonly unknown[]) => Calls;
};

/** Calls, and their faults. */
const CALLS: readonly (readonly [call: (member: Calls) => unknown, fault: string])[] = [
  [(m) => m.map(''), `${VALUE}Cannot use an empty name`],
  [(m) => m.map(5), `${TYPE}Cannot use number as name: neither bytes nor text`],
  [(m) => m.map('m', null), `${TYPE}Cannot use null as options: not an object`],
  [
    (m) => m.map('m', { as: 'jsn' }),
    `${VALUE}Cannot use form of values "jsn": no such form of values; did you mean "json"?`,
  ],
  [
    (m) => m.map('m', {}),
    `${VALUE}Cannot use form of values undefined: no such form of values; known: text, json`,
  ],
  [
    (m) => m.map('m', { form: 'json' }),
    `${VALUE}Cannot use option "form": no such option; known: as`,
  ],
  [
    (m) => m.map('m').set('k', 'v', { ttl: 5 }),
    `${VALUE}Cannot use option "ttl": no such option; did you mean "timeToLiveSeconds"?`,
  ],
  [
    (m) => m.map('m').set('k', 'v', { expires: 5 }),
    `${VALUE}Cannot use option "expires": no such option; ${known}`,
  ],
  [
    (m) => m.map('m').setSync('k', 'v', { contenttype: 5 }),
    `${VALUE}Cannot use option "contenttype": no such option; did you mean "contentType"?`,
  ],
  [(m) => m.map('m').set('k', 'v', 5), `${TYPE}Cannot use 5 as options: not an object`],
  [(m) => m.map('m').set('k', 'v', null), `${TYPE}Cannot use null as options: not an object`],
  [
    (m) => m.map('m').set('k', 'v', { timeToLiveSeconds: '5' }),
    `${RANGE}Cannot use timeToLiveSeconds "5": not an integer from 0 to 2147483647`,
  ],
  [
    (m) => m.map('m').set('k', 'v', { contentType: 5 }),
    `${VALUE}Cannot use 5 as content type: not a field value`,
  ],
  [(m) => m.map('m').set('k', 5), `${TYPE}Cannot use number as value: neither bytes nor text`],
  [(m) => m.map('m', { as: 'text' }).set('k', 5), `${TYPE}Cannot use 5 as value: not text`],
  [
    (m) => m.map('m', { as: 'json' }).set('k', undefined),
    `${TYPE}Cannot use undefined as value: it has no JSON text`,
  ],
  [
    (m) => m.map('m', { as: 'json' }).set('k', 5n),
    `${TYPE}Cannot use 5n as value: it has no JSON text: Do not know how to serialize a BigInt`,
  ],
  [(m) => m.map('m').get(undefined), `${TYPE}Cannot use undefined as key: neither bytes nor text`],
  [
    (m) => m.map('m').delete('k', { ifmatch: '*' }),
    `${VALUE}Cannot use option "ifmatch": no such option; did you mean "ifMatch"?`,
  ],
  [(m) => m.map('m').delete('k', 5), `${TYPE}Cannot use 5 as options: not an object`],
  [(m) => m.map('m').add('k', 1), `${RANGE}Cannot add 1: not a bigint of 64 bits`],
  [
    (m) => m.map('m').keys({ prefx: '' }),
    `${VALUE}Cannot use option "prefx": no such option; did you mean "prefix"?`,
  ],
  [(m) => m.map('m').entries(null), `${TYPE}Cannot use null as options: not an object`],
  [(m) => m.maps({ prefix: 5 }), `${TYPE}Cannot use number as prefix: neither bytes nor text`],
  [
    (m) => m.queue('q').offer('i', { contentTyp: '' }),
    `${VALUE}Cannot use option "contentTyp": no such option; did you mean "contentType"?`,
  ],
  [
    (m) => m.queue('q').offer('i', { waitSeconds: '1' }),
    `${TYPE}Cannot wait "1" seconds: not a number`,
  ],
  [
    (m) => m.queue('q').offer('i', { waitSeconds: -1 }),
    `${RANGE}Cannot wait -1 seconds: not 0 to 2147483, or Infinity`,
  ],
  [
    (m) => m.queue('q').offer('i', { signal: {} }),
    `${TYPE}Cannot use signal {}: not an AbortSignal`,
  ],
  [(m) => m.queue('q').poll('1'), `${TYPE}Cannot poll for "1" seconds: not a number`],
  [(m) => m.queue('q').poll(null), `${TYPE}Cannot poll for null seconds: not a number`],
  [
    (m) => m.queue('q').poll(Number.NaN),
    `${RANGE}Cannot poll for NaN seconds: not 0 to 2147483647, or Infinity`,
  ],
  [
    (m) => m.queue('q').poll(0, { sginal: 1 }),
    `${VALUE}Cannot use option "sginal": no such option; did you mean "signal"?`,
  ],
  [(m) => m.queue('q').poll(0, { signal: 1 }), `${TYPE}Cannot use signal 1: not an AbortSignal`],
  [
    (m) => m.queue('q').items({ seconds: 1 }),
    `${VALUE}Cannot use option "seconds": no such option; known: signal`,
  ],
  [(m) => m.queue('q').items({ signal: 'x' }), `${TYPE}Cannot use signal "x": not an AbortSignal`],
  [
    (m) => m.lock('l', { wait: 1 }),
    `${VALUE}Cannot use option "wait": no such option; known: group, waitSeconds, signal`,
  ],
  [(m) => m.lock('l', { waitSeconds: null }), `${TYPE}Cannot wait null seconds: not a number`],
  [(m) => m.lock('l', { group: 5 }), `${TYPE}Cannot use number as group: neither bytes nor text`],
  [
    (m) => m.changeState('ACTVE'),
    `${VALUE}Cannot use state "ACTVE": no such state; did you mean "ACTIVE"?`,
  ],
  [
    (m) => m.changeState(),
    `${VALUE}Cannot use state undefined: no such state; known: ACTIVE, NO_MIGRATION, FROZEN, PASSIVE`,
  ],
  [(m) => m.changeState('ACTIVE'), 'GridError STATE_UNCHANGED: '],
  [(m) => m.backup(), 'GridError PERSISTENCE_OFF: Cannot back up: persistence is off; '],
  [
    (m) => m.on('states', () => {}),
    `${VALUE}Cannot use event "states": no such event; did you mean "state"?`,
  ],
  [(m) => m.once('state'), `${TYPE}Cannot use undefined as listener of state: not a function`],
  [
    (m) => m.off('data', () => {}),
    `${VALUE}Cannot use event "data": no such event; known: listening, state, stopping`,
  ],
];

for (const [call, expected] of CALLS) {
  test(`${String(call)} fails with: ${expected}`, async () => {
    const fault = await faultOf(() => call(member as unknown as Calls));
    assert.equal(fault.slice(0, expected.length), expected);
  });
}
