/** The tables of the two interfaces; both have the same paths. */
import type { Compatibility } from '../config/compatibility.ts';
import type { Surface } from '../surface/route.ts';
import { HAZELCAST_ROUTES } from './hazelcast-routes.ts';
import { ROUTES } from './routes.ts';

export const SURFACES: Readonly<Record<Compatibility, Surface>> = {
  none: { routes: ROUTES, takesSizeInAnyCase: false },
  hazelcast: { routes: HAZELCAST_ROUTES, takesSizeInAnyCase: true },
};
