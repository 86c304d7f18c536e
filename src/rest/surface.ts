/** The paths of the interfaces that a member may serve: the same ones in each. */
import type { Compatibility } from '../config/compatibility.ts';
import { HAZELCAST_ROUTES } from './hazelcast-routes.ts';
import type { Surface } from './route.ts';
import { ROUTES } from './routes.ts';

export const SURFACES: Readonly<Record<Compatibility, Surface>> = {
  none: { routes: ROUTES, takesSizeInAnyCase: false },
  hazelcast: { routes: HAZELCAST_ROUTES, takesSizeInAnyCase: true },
};
