/** The default limits of a connection, from the table of settings. */

import type { HttpLimits } from '../../src/http/limits.ts';
import { LIMIT_SETTINGS } from '../../src/servers/server-settings.ts';

type Defaults = Record<keyof typeof LIMIT_SETTINGS, number>;

export const DEFAULT_LIMITS: HttpLimits = Object.fromEntries(
  Object.entries(LIMIT_SETTINGS).map(([key, { fallback }]) => [key, fallback]),
) as Defaults;
