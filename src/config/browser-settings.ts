/**
 * Settings for requests by browsers: accepted host names, and origins whose pages may use the
 * member. Tested by config.spec.ts.
 */
import { integerSetting, listSetting } from './setting.ts';

const DAY_SECONDS = 86_400;

export const BROWSER_SETTINGS = {
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
} as const;
