/**
 * The original's properties that have an effect. They are separate from the tables of all its
 * settings (document-schema.ts), which are loaded only for a file or variables.
 * Tested by document-schema.spec.ts.
 */

/** Names of properties that have an effect, by the path of the properties. */
export const PROPERTY_NAMES: Readonly<Record<string, readonly string[]>> = {
  properties: [
    'grid.rest.enabled',
    'hazelcast.rest.enabled',
    'hazelcast.partition.count',
    'hazelcast.max.no.heartbeat.seconds',
  ],
  ...Object.fromEntries(
    ['{name}', '[]'].map((publisher) => [
      `wan-replication.{name}.batch-publisher.${publisher}.properties`,
      ['username', 'password'],
    ]),
  ),
  ...Object.fromEntries(
    [
      'network.ssl',
      'advanced-network.rest-server-socket-endpoint-config.ssl',
      'advanced-network.wan-endpoint-config.{name}.ssl',
    ].map((ssl) => [
      `${ssl}.properties`,
      [
        'keyStore',
        'keyStorePassword',
        'keyStoreType',
        'keyManagerAlgorithm',
        'trustStore',
        'trustStorePassword',
        'trustStoreType',
        'trustManagerAlgorithm',
        'protocol',
        'ciphersuites',
        'mutualAuthentication',
        'validateIdentity',
        'keyFile',
        'keyPassword',
        'keyCertChainFile',
        'trustCertCollectionFile',
      ],
    ]),
  ),
};
