/** The paths of security in a file, in addition to those of the table of settings. */

/** Paths by the parts of SecurityConfig. */
export const SECURITY_PATHS = {
  isEnabled: 'security.enabled',
  realms: 'security.realms',
  memberRealm: 'security.member-authentication.realm',
  clientRealm: 'security.client-authentication.realm',
  permissions: 'security.client-permissions',
  prefersGrant: 'security.client-permissions.priority-grant',
} as const;
