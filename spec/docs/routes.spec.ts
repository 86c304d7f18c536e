/** The tables of the pages list every served route: its method, group, parameters and command. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMINISTRATION_ROUTES } from '../../src/administration/administration-routes.ts';
import { DATA_ROUTES } from '../../src/data/data-routes.ts';
import { HEALTH_ROUTES } from '../../src/health/health-routes.ts';
import { PERSISTENCE_ROUTES } from '../../src/persistence/persistence-routes.ts';
import { PUT, READ, REMOVE } from '../../src/security/permissions.ts';
import type { Route, Rows } from '../../src/surface/route.ts';
import { V1_ROUTES } from '../../src/v1/v1-routes.ts';
import { WAN_ROUTES } from '../../src/wan/wan-routes.ts';
import { pageOf } from './pages.ts';

/** Number of parameters that are credentials. */
const CREDENTIALS = 2;

test('README lists the routes of maps, queues, health and status with their groups', () => {
  const rows = rowsOf('README.md', 'Endpoints');
  const wrong = routesOf({
    ...{ ...DATA_ROUTES, ...HEALTH_ROUTES },
    ...{ members: ADMINISTRATION_ROUTES.members, instance: ADMINISTRATION_ROUTES.instance },
  }).filter(({ method, path, group }) => {
    return !rows.some(([methods = '', paths = '', groups = '']) => {
      const isListed = pathsIn(paths).includes(`/grid/${path}`) && groups.includes(group);
      return isListed && methods.split(', ').includes(method);
    });
  });
  assert.deepEqual(wrong.map(nameOf), []);
});

test('administration.md lists the calls with their groups, parameters and commands', () => {
  const rows = rowsOf('docs/administration.md', 'The calls');
  const { members, instance, ...others } = ADMINISTRATION_ROUTES;
  const wrong = routesOf({ ...others, ...PERSISTENCE_ROUTES }).filter((route) => {
    return !rows.some(([paths = '', groups = '', count, commands = '']) => {
      const listed = pathsIn(paths).includes(route.path.replace('rest/', ''));
      const isOfGroup = groups.replace(', READ', ', CLUSTER_READ').includes(route.group);
      const isCommand = route.command === '' || commands.includes(`\`${route.command}\``);
      const hasMethod =
        route.method === 'GET'
          ? paths.includes('also GET')
          : Number(count) === CREDENTIALS + route.parameters.length;
      return listed && isOfGroup && isCommand && hasMethod;
    });
  });
  assert.deepEqual(wrong.map(nameOf), []);
});

test('v1.md lists the routes with their permissions', () => {
  const rows = rowsOf('docs/v1.md', 'Maps with conditions');
  const actions = { read: READ, put: PUT, remove: REMOVE };
  const wrong = routesOf(V1_ROUTES).filter(({ method, path, permission }) => {
    return !rows.some(([methods, paths, names = '']) => {
      const needs = names.split(' and ').map((name) => actions[name as keyof typeof actions]);
      const need = needs.reduce((bits, each) => bits | each, 0);
      return methods === method && paths === `\`${path}\`` && need === permission.need;
    });
  });
  assert.deepEqual(wrong.map(nameOf), []);
});

test('wan.md lists the calls with their parameters', () => {
  const rows = rowsOf('docs/wan.md', 'Calls');
  // Another spelling of a listed call.
  const { syncAllMapsToo, ...listed } = WAN_ROUTES;
  const wrong = routesOf(listed).filter(({ method, path, parameters }) => {
    return !rows.some(([calls = '', names = '']) => {
      const count = names === '' ? 0 : names.split(', ').length;
      const isListed = pathsIn(calls).includes(path.replace('rest/wan/', ''));
      return isListed && calls.startsWith(method) && count === parameters.length;
    });
  });
  assert.deepEqual(wrong.map(nameOf), []);
});

/** Returns the routes of all dialects. */
function routesOf(table: Rows): readonly Route[] {
  return Object.values(table).filter(
    (row): row is Route => 'method' in row && row.dialect === undefined,
  );
}

/** Returns the cells of the table rows below a heading. */
function rowsOf(path: string, heading: string): readonly (readonly string[])[] {
  const { lines } = pageOf(path);
  const from = lines.findIndex(({ text }) => new RegExp(`^#+ ${heading}$`).test(text));
  assert.notEqual(from, -1);
  const below = lines.slice(from + 1);
  const first = below.findIndex(({ kind }) => kind === 'table');
  const end = below.findIndex(({ kind }, index) => index > first && kind !== 'table');
  return below.slice(first, end).map(({ text }) => text.split('|').slice(1, -1).map(trimmed));
}

function trimmed(text: string): string {
  return text.trim();
}

/** Returns the paths of a cell; a name without a slash replaces the last part of the path before it. */
function pathsIn(cell: string): readonly string[] {
  const paths: string[] = [];
  for (const [, text = ''] of cell.matchAll(/`([^`]+)`/g)) {
    const before = paths.at(-1)?.replace(/[^/]*$/, '') ?? '';
    paths.push(text.includes('/') ? text : before + text);
  }
  return paths;
}

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}
