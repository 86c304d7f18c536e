/**
 * The whole surface in one table: the rows of all parts, by the names of their actions, which are
 * also the ids of the operations in the OpenAPI document. Everything that depends on a path is read
 * from here: 405 and Allow, OPTIONS, 404, logins and permissions, and the refusals in a PASSIVE
 * cluster.
 */
import { ADMINISTRATION_ROUTES } from '../administration/administration-routes.ts';
import { CP_ROUTES } from '../cp/cp-routes.ts';
import { DATA_ROUTES } from '../data/data-routes.ts';
import { HEALTH_ROUTES } from '../health/health-routes.ts';
import { MONITORING_ROUTES } from '../monitoring/monitoring-routes.ts';
import { PERSISTENCE_ROUTES } from '../persistence/persistence-routes.ts';
import { V1_ROUTES } from '../v1/v1-routes.ts';
import { WAN_ROUTES } from '../wan/wan-routes.ts';

export const ROUTES = {
  ...DATA_ROUTES,
  ...V1_ROUTES,
  ...ADMINISTRATION_ROUTES,
  ...PERSISTENCE_ROUTES,
  ...WAN_ROUTES,
  ...CP_ROUTES,
  ...MONITORING_ROUTES,
  ...HEALTH_ROUTES,
} as const;
