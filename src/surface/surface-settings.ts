/**
 * Settings of the interface: its paths and endpoint groups, logins, and requests by browsers, with
 * accepted host names, and origins whose pages may use the member. Tested by member/config.spec.ts.
 */

import {
  COMPATIBILITIES,
  type Compatibility,
  parseCompatibility,
} from '../config/compatibility.ts';
import {
  ENDPOINT_GROUP_NAMES,
  ENDPOINT_GROUPS,
  type EndpointGroup,
  parseEndpointGroup,
} from '../config/endpoint-group.ts';
import {
  booleanRule,
  booleanSetting,
  type Flag,
  integerSetting,
  listSetting,
  type NamedSetting,
  reloadable,
  textSetting,
  type ValuesOf,
  wordSetting,
} from '../config/setting.ts';
import type { SettingRows } from '../config/setting-table.ts';
import { AUTHENTICATIONS, type Authentication } from '../security/security-settings.ts';

const DAY_SECONDS = 86_400;
/** Maximum number of maps, and of queues, in the metrics: a scrape writes them in one turn, in 3 ms. */
const METRICS_NAMES_LIMIT = 1000;

export const SURFACE_SETTINGS = {
  pathSegment: textSetting({
    path: 'network.rest-api.path-segment',
    flag: { name: '--path-segment', argument: 'SEGMENT' },
    about: 'First segment of every path',
    fallback: undefined,
    fallbackText: 'grid; hazelcast with --compatibility hazelcast',
    expects: 'letters, digits, "-", "_", "." and "~", at most 255, and not "." or ".."',
    allows: (text) => /^(?!\.\.?$)[A-Za-z0-9\-_.~]{1,255}$/.test(text),
  }),
  restEnabled: reloadable(
    booleanSetting({
      path: 'network.rest-api.enabled',
      about: 'Whether the REST interface is served; --enable-group also enables it',
      fallback: true,
      fallbackText: 'true, and false with a configuration file',
    }),
  ),
  authentication: wordSetting<Authentication>({
    path: 'network.rest-api.authentication',
    about:
      'Whether maps, queues and other paths without credentials in the body require a login by ' +
      'HTTP Basic; basic-all: also health, except live and ready',
    fallback: 'none',
    expects: 'one of none, basic, basic-all',
    read: (text) => AUTHENTICATIONS.find((word) => word === text.toLowerCase()),
  }),
  allowedHosts: listSetting({
    path: 'network.rest-api.allowed-hosts',
    flag: { name: '--allowed-hosts', argument: 'NAMES' },
    about:
      'Names accepted in Host besides those of the machine, separated by commas; without any, Host is ' +
      'checked only on loopback addresses. *.example.org for all names below it, * for all',
    fallback: [],
    fallbackText: 'none',
    example: 'grid.example.org',
    isOwnList: true,
    expects: 'names without a port, such as grid.example.org, *.example.org or *',
    allows: (name) => /^(\*|(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?)$/i.test(name),
  }),
  corsAllowedOrigins: listSetting({
    path: 'network.rest-api.cors.allowed-origins',
    about: 'Origins whose pages may use the member from a browser, separated by commas; * for all',
    fallback: [],
    fallbackText: 'none',
    example: 'https://app.example.org',
    isOwnList: true,
    expects: 'origins without a path, such as https://app.example.org, or *',
    allows: (origin) => /^(\*|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,]+)$/i.test(origin),
  }),
  corsMaxAgeSeconds: integerSetting({
    path: 'network.rest-api.cors.max-age-seconds',
    about: 'Time for which a browser may cache the permission of such a page',
    unit: 'seconds',
    fallback: 600,
    minimum: 0,
    maximum: DAY_SECONDS,
  }),
  metricsNamesMax: integerSetting({
    path: 'network.rest-api.metrics-names-max',
    about:
      'Maximum number of maps, and of queues, with metrics of their own; the others are summed',
    fallback: 100,
    minimum: 0,
    maximum: METRICS_NAMES_LIMIT,
  }),
  compatibility: wordSetting<Compatibility>({
    path: 'compatibility',
    flag: { name: '--compatibility', argument: 'NAME' },
    about: 'System whose clients get the responses that they expect',
    fallback: 'none',
    fallbackText: 'none; hazelcast with a file whose root is hazelcast',
    expects: `one of ${COMPATIBILITIES.join(', ')}`,
    read: parseCompatibility,
  }),
  endpointGroups: reloadable<NamedSetting<EndpointGroup, boolean>>({
    path: 'network.rest-api.endpoint-groups.{name}.enabled',
    aliases: ['network.rest-api.endpoint-groups.{name}'],
    flags: [groupFlag('--enable-group', true), groupFlag('--disable-group', false)],
    about: 'Whether the endpoints of the group are served',
    fallback: new Map(ENDPOINT_GROUP_NAMES.map((name) => [name, ENDPOINT_GROUPS[name]])),
    parseName: parseEndpointGroup,
    ...booleanRule,
  }),
} as const satisfies SettingRows;

export type SurfaceConfig = ValuesOf<typeof SURFACE_SETTINGS>;

function groupFlag(name: string, enabled: boolean): Flag {
  const does = enabled ? 'Serve' : 'Do not serve';
  const served = ENDPOINT_GROUP_NAMES.filter((group) => ENDPOINT_GROUPS[group]);
  const fallback = enabled ? 'default' : 'default none; those served by default are';
  return {
    ...(enabled ? { implies: { restEnabled: 'true' } } : {}),
    name,
    argument: 'GROUP',
    about:
      `${does} the endpoints of the group: ${ENDPOINT_GROUP_NAMES.join(', ')} or all ` +
      `(repeatable; ${fallback} ${served.join(', ')})`,
    expects: `one of ${ENDPOINT_GROUP_NAMES.join(', ')}, all`,
    split(text) {
      const names = text.toLowerCase() === 'all' ? ENDPOINT_GROUP_NAMES : [text];
      return names.map((group) => [group, String(enabled)] as const);
    },
  };
}
