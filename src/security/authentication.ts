/** The requests that require a login. */
export const AUTHENTICATIONS = ['none', 'basic', 'basic-all'] as const;

export type Authentication = (typeof AUTHENTICATIONS)[number];
