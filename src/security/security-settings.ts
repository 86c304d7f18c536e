/**
 * The paths of security in a file, in addition to those of the table of settings, and the words of
 * one of its rows.
 */

/** Paths by the parts of SecurityConfig. */
export const SECURITY_PATHS = {
  isEnabled: 'security.enabled',
  realms: 'security.realms',
  memberRealm: 'security.member-authentication.realm',
  clientRealm: 'security.client-authentication.realm',
  permissions: 'security.client-permissions',
  prefersGrant: 'security.client-permissions.priority-grant',
} as const;

/** The requests that require a login. */
export const AUTHENTICATIONS = ['none', 'basic', 'basic-all'] as const;

export type Authentication = (typeof AUTHENTICATIONS)[number];
