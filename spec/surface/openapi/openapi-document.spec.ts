/** The OpenAPI document: every row has its part and every part its row, in both dialects. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { COMPATIBILITIES } from '../../../src/config/compatibility.ts';
import { ENDPOINT_GROUP_NAMES } from '../../../src/config/endpoint-group.ts';
import { ROUTES } from '../../../src/member/routes.ts';
import { ADMINISTRATION_OPERATIONS } from '../../../src/surface/openapi/administration-operations.ts';
import { CP_OPERATIONS } from '../../../src/surface/openapi/cp-operations.ts';
import { DATA_OPERATIONS } from '../../../src/surface/openapi/data-operations.ts';
import { HEALTH_OPERATIONS } from '../../../src/surface/openapi/health-operations.ts';
import { MONITORING_OPERATIONS } from '../../../src/surface/openapi/monitoring-operations.ts';
import { PERSISTENCE_OPERATIONS } from '../../../src/surface/openapi/persistence-operations.ts';
import type { OperationPart } from '../../../src/surface/openapi/schema.ts';
import { WAN_OPERATIONS } from '../../../src/surface/openapi/wan-operations.ts';
import { rowsOf } from '../../../src/surface/resource.ts';
import { type Prefix, type Route, statusesOf } from '../../../src/surface/route.ts';
import { type Described, documentOf, LOGINS, METHODS } from './described-interface.ts';

/** Size that a client downloads without a thought, in bytes. */
const DOCUMENT_BYTES_MAX = 200_000;
const ALL_ROWS = new Map<string, Route | Prefix>(Object.entries(ROUTES));
const PARTS: readonly (readonly [string, OperationPart])[] = [
  DATA_OPERATIONS,
  ADMINISTRATION_OPERATIONS,
  PERSISTENCE_OPERATIONS,
  WAN_OPERATIONS,
  CP_OPERATIONS,
  MONITORING_OPERATIONS,
  HEALTH_OPERATIONS,
].flatMap((parts) => Object.entries(parts));

for (const compatibility of COMPATIBILITIES) {
  const rows = rowsOf(ROUTES, compatibility).filter(([, { method }]) => method !== 'HEAD');

  describe(`The document of the dialect "${compatibility}"`, () => {
    for (const [name, login] of Object.entries(LOGINS)) {
      it(`has no finding of the validator with authentication ${name}`, async () => {
        const { text } = documentOf(compatibility, login);
        assert.deepEqual(await new Validator().validate(JSON.parse(text)), { valid: true });
        assert.ok(text.length < DOCUMENT_BYTES_MAX);
      });
    }

    it('describes each row but HEAD, and nothing else', () => {
      const { operations } = documentOf(compatibility);
      const described = operations.map(({ id, method, path }) => `${id}: ${method} ${path}`);
      const named = rows.map(([name, { method, path }]) => `${name}: ${method} /${path}`);
      assert.deepEqual(described.sort(), named.sort());
    });

    it('describes no PUT below rest/, no HEAD and no OPTIONS', () => {
      const { paths } = JSON.parse(documentOf(compatibility).text) as Described;
      for (const [path, item] of Object.entries(paths)) {
        const allowed = path.startsWith('/rest/')
          ? METHODS.filter((each) => each !== 'put')
          : METHODS;
        for (const method of Object.keys(item)) {
          assert.ok(
            allowed.some((each) => each === method),
            `${method} ${path}`,
          );
        }
      }
    });

    it('describes each status of each row that the dialect has', () => {
      const { operations } = documentOf(compatibility, LOGINS.basicAll);
      for (const [name, row] of rows) {
        const described = Object.keys(operations.find(({ id }) => id === name)?.responses ?? {});
        const expected = [...statusesOf(row)].filter(
          (status) => status !== 401 || row.permission.login !== 'none',
        );
        const missing = expected.filter((status) => !described.includes(String(status)));
        const hidden = compatibility === 'none' ? [] : [404, 409];
        assert.deepEqual(
          missing.filter((status) => !hidden.includes(status)),
          [],
          name,
        );
        const statuses = new Set([...expected.map(String), 'default']);
        assert.deepEqual(
          described.filter((status) => !statuses.has(status)),
          [],
          name,
        );
      }
    });

    it('has the groups as tags, and an operation of each', () => {
      const { tags } = JSON.parse(documentOf(compatibility).text) as Described;
      assert.deepEqual(
        tags.map(({ name }) => name),
        ENDPOINT_GROUP_NAMES,
      );
      const used = new Set(documentOf(compatibility).operations.flatMap((each) => each.tags));
      assert.deepEqual(used, new Set(ENDPOINT_GROUP_NAMES));
    });

    it('refers only to components that exist, and in its own dialect to all of them', () => {
      const { text } = documentOf(compatibility, LOGINS.basicAll);
      const { components } = JSON.parse(text) as Described;
      const referred = new Set(
        [...text.matchAll(/"#\/components\/(\w+\/\w+)"/g)].map(([, place]) => place),
      );
      const { securitySchemes, ...others } = components;
      const existing = new Set(
        Object.entries(others).flatMap(([kind, all]) =>
          Object.keys(all).map((name) => `${kind}/${name}`),
        ),
      );
      const missing = [...referred].filter((place) => place === undefined || !existing.has(place));
      assert.deepEqual(missing, []);
      if (compatibility === 'none') assert.equal(referred.size, existing.size);
    });

    it('has examples that match their schemas', () => {
      const { operations, matches } = documentOf(compatibility);
      let count = 0;
      for (const { id, requestBody } of operations) {
        for (const { schema, example, examples = {} } of Object.values(
          requestBody?.content ?? {},
        )) {
          const values = [...Object.values(examples).map(({ value }) => value), example];
          for (const value of values.filter((each) => each !== undefined)) {
            assert.equal(matches(schema ?? {}, value), '', id);
            count++;
          }
        }
      }
      assert.ok(count > 30, 'administrative calls have examples');
    });
  });
}

test('every part has a row, and no status that the row does not have', () => {
  for (const [name, { responses }] of PARTS) {
    const row = ALL_ROWS.get(name);
    assert.ok(row !== undefined && 'method' in row && row.method !== 'HEAD', name);
    const statuses = statusesOf(row);
    for (const status of Object.keys(responses)) assert.ok(statuses.has(Number(status)), name);
  }
});

test('two parts do not have one name', () => {
  assert.equal(new Set(PARTS.map(([name]) => name)).size, PARTS.length);
});

test('the document is refused for a row without a part, and for a status without a description', () => {
  const [name, row] = rowsOf(ROUTES, 'none')[0] ?? assert.fail('the table is empty');
  const of = (rowName: string, changed: Route) => () =>
    documentOf('none', LOGINS.none, [[rowName, changed]]);
  assert.doesNotThrow(of(name, row));
  assert.throws(of('another', row), /the operation "another" is described/);
  assert.throws(of(name, { ...row, statuses: [299] }), /status 299 of .* is described/);
});

test('an operation requires HTTP Basic as configured', () => {
  const requiring = (login: (typeof LOGINS)[keyof typeof LOGINS]) =>
    documentOf('none', login)
      .operations.filter(({ security }) => security.length > 0)
      .map(({ id, responses }) => {
        assert.ok('401' in responses, id);
        return id;
      });
  assert.deepEqual(requiring(LOGINS.none), []);
  assert.deepEqual(requiring(LOGINS.usersInBody), ['receiveMessage']);
  const basic = requiring(LOGINS.basic);
  assert.ok(basic.includes('getEntry') && basic.includes('metrics'));
  assert.ok(!basic.includes('health') && !basic.includes('changeState'));
  const all = requiring(LOGINS.basicAll);
  assert.ok(all.includes('health') && !all.includes('live'));
});
