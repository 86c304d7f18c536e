/** The settings of requests by browsers: which names of the member they may use, and whose pages. */
import { integerSetting, listSetting } from './setting.ts';

const DAY_SECONDS = 86_400;

export const BROWSER_SETTINGS = {
  allowedHosts: listSetting({
    path: 'network.rest-api.allowed-hosts',
    flag: { name: '--allowed-hosts', argument: 'NAMES' },
    about:
      'Names, separated by commas, that Host may have on a loopback address besides those of the ' +
      'machine, or elsewhere at all; *.example.org for those below it, * for all',
    fallback: [],
    fallbackText: 'none',
    example: 'grid.example.org',
    isOwnList: true,
    expects: 'names without a port, as grid.example.org, *.example.org or *',
    allows: (name) => /^(\*|(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?)$/i.test(name),
  }),
  corsAllowedOrigins: listSetting({
    path: 'network.rest-api.cors.allowed-origins',
    about: 'Origins whose pages may use the member from a browser, separated by commas; * for all',
    fallback: [],
    fallbackText: 'none',
    example: 'https://app.example.org',
    isOwnList: true,
    expects: 'origins without a path, as https://app.example.org, or *',
    allows: (origin) => /^(\*|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,]+)$/i.test(origin),
  }),
  corsMaxAgeSeconds: integerSetting({
    path: 'network.rest-api.cors.max-age-seconds',
    about: 'How long a browser may remember that such a page may make a request',
    unit: 'seconds',
    fallback: 600,
    minimum: 0,
    maximum: DAY_SECONDS,
  }),
} as const;
