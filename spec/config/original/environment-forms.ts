/**
 * Environment variables of the original and their effect: the settings that they change compared to
 * the file, or a refusal to start. Recorded with `Config.loadFromString` of its 5.7.0 jar with
 * these variables in the environment. Only settings that gridnode uses are listed.
 */

export interface EnvironmentForm {
  readonly variables: Readonly<Record<string, string>>;
  /** The file; undefined: a file with only the root. */
  readonly file?: string;
  /** Settings by path. */
  readonly original: Readonly<Record<string, unknown>> | 'refuses';
}

export const ENVIRONMENT_FORMS: readonly EnvironmentForm[] = [
  {
    variables: { HZ_NETWORK_RESTAPI_ENABLED: 'true' },
    original: { 'network.rest-api.enabled': true },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_CLUSTERWRITE_ENABLED: 'true' },
    original: { 'network.rest-api.endpoint-groups.CLUSTER_WRITE.enabled': true },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_CLUSTER_WRITE_ENABLED: 'true' },
    original: 'refuses',
  },
  {
    variables: { 'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS.CLUSTER_WRITE.ENABLED': 'true' },
    original: 'refuses',
  },
  {
    variables: { 'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS.DATA.ENABLED': 'true' },
    original: { 'network.rest-api.endpoint-groups.DATA.enabled': true },
  },
  {
    variables: { 'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS.CLUSTERWRITE.ENABLED': 'true' },
    original: { 'network.rest-api.endpoint-groups.CLUSTER_WRITE.enabled': true },
  },
  {
    variables: { 'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS.CLUSTER-WRITE.ENABLED': 'true' },
    original: 'refuses',
  },
  {
    variables: { 'HZ_NETWORK_REST-API_ENDPOINT-GROUPS_CLUSTER-WRITE_ENABLED': 'true' },
    original: 'refuses',
  },
  {
    variables: { HZ_network_restapi_endpointgroups_data_enabled: 'TRUE' },
    original: { 'network.rest-api.endpoint-groups.DATA.enabled': true },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA_ENABLED: ' true ' },
    original: { 'network.rest-api.endpoint-groups.DATA.enabled': true },
  },
  { variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA_ENABLED: '1' }, original: {} },
  { variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA_ENABLED: 'yes' }, original: {} },
  { variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA_ENABLED: 'on' }, original: {} },
  { variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA: 'true' }, original: {} },
  { variables: { HZ_NETWORK_PORT: '8000' }, original: {} },
  { variables: { HZ_NETWORK_PORT_PORT: '8000' }, original: { 'network.port.port': 8000 } },
  { variables: { HZ_NETWORK_PORT_PORT: ' 8000 ' }, original: { 'network.port.port': 8000 } },
  { variables: { HZ_NETWORK_PORT_PORT: '65536' }, original: 'refuses' },
  { variables: { HZ_NETWORK_PORT_PORT: '-1' }, original: 'refuses' },
  {
    variables: { HZ_NETWORK_PORT_AUTOINCREMENT: 'false' },
    original: { 'network.port.auto-increment': false },
  },
  { variables: { HZ_NETWORK_PORT_AUTO_INCREMENT: 'false' }, original: {} },
  {
    variables: { 'HZ_NETWORK_PORT_AUTO-INCREMENT': 'false' },
    original: { 'network.port.auto-increment': false },
  },
  { variables: { HZ_CLUSTERNAME: 'foo' }, original: { 'cluster-name': 'foo' } },
  { variables: { HZ_CLUSTER_NAME: 'foo' }, original: {} },
  { variables: { 'HZ_CLUSTER-NAME': 'foo' }, original: { 'cluster-name': 'foo' } },
  { variables: { HZ_CLUSTERNAME: ' foo ' }, original: { 'cluster-name': 'foo' } },
  { variables: { HZ_CLUSTERNAME: '' }, original: 'refuses' },
  { variables: { HZ_PORT: 'tcp://10.0.0.1:5701' }, original: {} },
  { variables: { HZ_CS_AUTH_USER: 'x' }, original: {} },
  {
    variables: { HZ_MAP_ORDERS_TIMETOLIVESECONDS: '5' },
    original: { 'map.orders.time-to-live-seconds': 5, 'map.orders.max-idle-seconds': 0 },
  },
  {
    variables: { HZ_MAP_ORDERS_TIME_TO_LIVE_SECONDS: '5' },
    original: { 'map.orders.time-to-live-seconds': 0, 'map.orders.max-idle-seconds': 0 },
  },
  {
    variables: { HZ_MAP_DEFAULT_TIMETOLIVESECONDS: '5' },
    original: { 'map.default.time-to-live-seconds': 5, 'map.default.max-idle-seconds': 0 },
  },
  {
    variables: { HZ_MAP_ORDERS_BACKUPCOUNT: '2' },
    file: 'hazelcast:\n  map:\n    ORDERS:\n      time-to-live-seconds: 7',
    original: {
      'map.orders.time-to-live-seconds': 0,
      'map.orders.max-idle-seconds': 0,
      'map.orders.backup-count': 2,
    },
  },
  {
    variables: { HZ_MAP_MYORDERS_BACKUPCOUNT: '2' },
    file: 'hazelcast:\n  map:\n    my-orders:\n      time-to-live-seconds: 7',
    original: {
      'map.myorders.time-to-live-seconds': 0,
      'map.myorders.max-idle-seconds': 0,
      'map.myorders.backup-count': 2,
    },
  },
  {
    variables: { 'HZ_MAP_MY-ORDERS_BACKUPCOUNT': '2' },
    file: 'hazelcast:\n  map:\n    my-orders:\n      time-to-live-seconds: 7',
    original: { 'map.my-orders.backup-count': 2 },
  },
  {
    variables: { HZ_MAP_MYORDERS_BACKUPCOUNT: '2' },
    file: 'hazelcast:\n  map:\n    my_orders:\n      time-to-live-seconds: 7',
    original: {
      'map.myorders.time-to-live-seconds': 0,
      'map.myorders.max-idle-seconds': 0,
      'map.myorders.backup-count': 2,
    },
  },
  { variables: { HZ_QUEUE_JOBS_MAXSIZE: '5' }, original: { 'queue.jobs.max-size': 5 } },
  {
    variables: { HZ_QUEUE_JOBS_MAXSIZE: '5' },
    file: 'hazelcast:\n  queue:\n    jobs:\n      backup-count: 2',
    original: { 'queue.jobs.max-size': 5 },
  },
  {
    variables: { HZ_SECURITY_ENABLED: 'false' },
    file: 'hazelcast:\n  security:\n    enabled: true',
    original: { 'security.enabled': false },
  },
  {
    variables: { HZ_NETWORK_SSL_ENABLED: 'false' },
    file: 'hazelcast:\n  network:\n    ssl:\n      enabled: true',
    original: { 'network.ssl.enabled': false },
  },
  {
    variables: { HZ_NETWORK_SSL_ENABLED: 'true', HZ_NETWORK_SSL_PROPERTIES_KEYSTORE: '/x' },
    original: { 'network.ssl.enabled': true, 'network.ssl.properties.keystore': '/x' },
  },
  {
    variables: { HZ_NETWORK_JOIN_TCPIP_MEMBERS: 'a,b' },
    original: { 'network.join.tcp-ip.member-list': ['a', 'b'] },
  },
  {
    variables: { HZ_NETWORK_JOIN_TCPIP_MEMBER: 'a,b' },
    original: { 'network.join.tcp-ip.member-list': ['a', 'b'] },
  },
  { variables: { HZ_NETWORK_JOIN_TCPIP_MEMBERLIST: 'a,b' }, original: {} },
  {
    variables: { HZ_NETWORK_JOIN_TCPIP_MEMBERLIST_0: 'a', HZ_NETWORK_JOIN_TCPIP_MEMBERLIST_1: 'b' },
    original: { 'network.join.tcp-ip.member-list': ['b', 'a'] },
  },
  {
    variables: { HZ_NETWORK_JOIN_TCPIP_ENABLED: 'true', HZ_NETWORK_JOIN_TCPIP_MEMBERS: 'a' },
    file: 'hazelcast:\n  network: {join: {tcp-ip: {enabled: false, member-list: [x, y]}}}',
    original: {
      'network.join.tcp-ip.enabled': true,
      'network.join.tcp-ip.member-list': ['x', 'y', 'a'],
    },
  },
  {
    variables: { HZ_NETWORK_JOIN_TCPIP_INTERFACE: '10.0.0.1' },
    original: { 'network.join.tcp-ip.member-list': ['10.0.0.1'] },
  },
  {
    variables: { HZ_NETWORK_JOIN_TCPIP_INTERFACE: '10.0.0.1' },
    file: 'hazelcast:\n  network: {join: {tcp-ip: {enabled: true, interface: 10.3.3.3, member: q, members: "r,s", member-list: [x, y]}}}',
    original: {
      'network.join.tcp-ip.member-list': ['10.3.3.3', 'q', 'r', 's', 'x', 'y', '10.0.0.1'],
    },
  },
  {
    variables: {
      HZ_NETWORK_INTERFACES_ENABLED: 'true',
      HZ_NETWORK_INTERFACES_INTERFACES_0: '10.0.*.*',
      HZ_NETWORK_INTERFACES_INTERFACES_1: '10.1.*.*',
    },
    original: {
      'network.interfaces.enabled': true,
      'network.interfaces.interfaces': ['10.1.*.*', '10.0.*.*'],
    },
  },
  {
    variables: {
      HZ_NETWORK_INTERFACES_ENABLED: 'true',
      HZ_NETWORK_INTERFACES_INTERFACES: '10.0.*.*',
    },
    original: { 'network.interfaces.enabled': true },
  },
  {
    variables: {
      HZ_NETWORK_INTERFACES_ENABLED: 'true',
      HZ_NETWORK_INTERFACES_INTERFACES: '10.0.*.*,10.2.*.*',
    },
    original: { 'network.interfaces.enabled': true },
  },
  {
    variables: {
      HZ_ADVANCEDNETWORK_ENABLED: 'true',
      HZ_ADVANCEDNETWORK_RESTSERVERSOCKETENDPOINTCONFIG_PORT_PORT: '9000',
      HZ_ADVANCEDNETWORK_RESTSERVERSOCKETENDPOINTCONFIG_ENDPOINTGROUPS_DATA_ENABLED: 'true',
    },
    original: 'refuses',
  },
  {
    variables: {
      HZ_ADVANCEDNETWORK_RESTSERVERSOCKETENDPOINTCONFIG_ENDPOINTGROUPS_DATA_ENABLED: 'true',
    },
    file: 'hazelcast:\n  advanced-network:\n    enabled: true\n    rest-server-socket-endpoint-config:\n      port: {port: 8080}\n      endpoint-groups: {WAN: {enabled: true}}',
    original: 'refuses',
  },
  { variables: { HZ_SECURITY_REALMS_0_NAME: 'r' }, original: {} },
  {
    variables: {
      HZ_SECURITY_ENABLED: 'true',
      HZ_SECURITY_CLIENTAUTHENTICATION_REALM: 'r',
      HZ_SECURITY_REALMS_0_NAME: 'r',
      HZ_SECURITY_REALMS_0_AUTHENTICATION_SIMPLE_USERS_0_USERNAME: 'u',
      HZ_SECURITY_REALMS_0_AUTHENTICATION_SIMPLE_USERS_0_PASSWORD: 'p',
      HZ_SECURITY_REALMS_0_AUTHENTICATION_SIMPLE_USERS_0_ROLES_0: 'admin',
    },
    original: { 'security.enabled': true },
  },
  {
    variables: {
      HZ_SECURITY_CLIENTPERMISSIONS_MAP_0_NAME: 'm',
      HZ_SECURITY_CLIENTPERMISSIONS_MAP_0_PRINCIPAL: 'p',
      HZ_SECURITY_CLIENTPERMISSIONS_MAP_0_ACTIONS_0: 'read',
    },
    file: 'hazelcast:\n  security:\n    enabled: true',
    original: { 'security.enabled': false },
  },
  { variables: { HZ_PROPERTIES_HAZELCAST_PARTITION_COUNT: '100' }, original: 'refuses' },
  { variables: { 'HZ_PROPERTIES_HAZELCAST.PARTITION.COUNT': '100' }, original: 'refuses' },
  { variables: { HZ_PROPERTIES_HAZELCAST_REST_ENABLED: 'true' }, original: 'refuses' },
  { variables: { HZ_INSTANCENAME: 'x' }, original: { 'instance-name': 'x' } },
  { variables: { HZ_LITEMEMBER_ENABLED: 'true' }, original: { 'lite-member.enabled': true } },
  { variables: { HZ_LITEMEMBER: 'true' }, original: {} },
  {
    variables: { HZ_NETWORK_PUBLICADDRESS: '10.0.0.1:5' },
    original: { 'network.public-address': '10.0.0.1:5' },
  },
  {
    variables: { HZ_PERSISTENCE_ENABLED: 'true', HZ_PERSISTENCE_BASEDIR: '/x' },
    original: { 'persistence.enabled': true, 'persistence.base-dir': '/x' },
  },
  {
    variables: { HZ_PERSISTENCE_ENABLED: 'false' },
    file: 'hazelcast:\n  persistence: {enabled: true, base-dir: /data}',
    original: {},
  },
  { variables: { HZ_CPSUBSYSTEM_CPMEMBERCOUNT: '3' }, original: {} },
  { variables: { HZ_CPSUBSYSTEM_SESSIONTIMETOLIVESECONDS: '400' }, original: {} },
  { variables: { HZ_METRICS_ENABLED: 'false' }, original: {} },
  {
    variables: { HZ_MAP_X: '5' },
    original: { 'map.x.time-to-live-seconds': 0, 'map.x.max-idle-seconds': 0 },
  },
  {
    variables: { HZ_MAP_X_EVICTION_SIZE: '10', HZ_MAP_X_EVICTION_EVICTIONPOLICY: 'LRU' },
    original: { 'map.x.time-to-live-seconds': 0, 'map.x.max-idle-seconds': 0 },
  },
  { variables: { HZ_MAP_X_BACKUPCOUNT: 'abc' }, original: 'refuses' },
  { variables: { HZ_MAP_X_BACKUPCOUNT: '9' }, original: 'refuses' },
  {
    variables: { HZ_MAP_X_TIMETOLIVESECONDS: ' 5 ' },
    original: { 'map.x.time-to-live-seconds': 5, 'map.x.max-idle-seconds': 0 },
  },
  {
    variables: { HZ_MAP_X_TIMETOLIVESECONDS: '+5' },
    original: { 'map.x.time-to-live-seconds': 5, 'map.x.max-idle-seconds': 0 },
  },
  { variables: { HZ_MAP_X_TIMETOLIVESECONDS: '0x10' }, original: 'refuses' },
  {
    variables: { HZ_MAP_X_TIMETOLIVESECONDS: '-1' },
    original: { 'map.x.time-to-live-seconds': -1, 'map.x.max-idle-seconds': 0 },
  },
  { variables: { HZ_MAP_X_TIMETOLIVESECONDS: '' }, original: 'refuses' },
  {
    variables: { HZ_MAP_X_STATISTICSENABLED: 'no' },
    original: { 'map.x.time-to-live-seconds': 0, 'map.x.max-idle-seconds': 0 },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENABLED: 'false' },
    file: 'hazelcast:\n  network: {rest-api: {enabled: true}}',
    original: { 'network.rest-api.enabled': false },
  },
  {
    variables: { HZ_NETWORK_REST_API_ENABLED: 'false' },
    file: 'hazelcast:\n  network: {rest-api: {enabled: true}}',
    original: {},
  },
  {
    variables: { HZ_NETWORK_RESTAPI: 'false' },
    file: 'hazelcast:\n  network: {rest-api: {enabled: true}}',
    original: { 'network.rest-api.enabled': false },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA_ENABLED: '1' },
    file: 'hazelcast:\n  network: {rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: false}}}}',
    original: { 'network.rest-api.enabled': false },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA_ENABLED: '1' },
    file: 'hazelcast:\n  network: {rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: true}}}}',
    original: {
      'network.rest-api.enabled': false,
      'network.rest-api.endpoint-groups.DATA.enabled': false,
    },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENABLED: '1' },
    file: 'hazelcast:\n  network: {rest-api: {enabled: true}}',
    original: { 'network.rest-api.enabled': false },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENABLED: '0' },
    file: 'hazelcast:\n  network: {rest-api: {enabled: true}}',
    original: { 'network.rest-api.enabled': false },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENABLED: '' },
    file: 'hazelcast:\n  network: {rest-api: {enabled: true}}',
    original: { 'network.rest-api.enabled': false },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_HOTRESTART_ENABLED: 'true' },
    original: { 'network.rest-api.endpoint-groups.PERSISTENCE.enabled': true },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_HOT_RESTART_ENABLED: 'true' },
    original: 'refuses',
  },
  { variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_FOO_ENABLED: 'true' }, original: 'refuses' },
  { variables: { hz_clustername: 'lower' }, original: {} },
  { variables: { Hz_clustername: 'lower' }, original: {} },
  { variables: { 'HZ_ CLUSTERNAME': 'spaced' }, original: { 'cluster-name': 'spaced' } },
  { variables: { HZ_CLUSTERNAME: 'a', 'HZ_CLUSTER-NAME': 'b' }, original: 'refuses' },
  { variables: { HZ_PHONE_HOME_ENABLED: 'false' }, original: {} },
  { variables: { HZ__CLUSTERNAME: 'x' }, original: {} },
  { variables: { HZ_CLUSTERNAME_: 'x' }, original: { 'cluster-name': 'x' } },
  { variables: { HZ_NETWORK_RESTAPI_ENABLED_X: 'x' }, original: {} },
  {
    variables: { HZ_NETWORK_SSL_ENABLED: 'FALSE' },
    file: 'hazelcast:\n  network: {ssl: {enabled: true}}',
    original: { 'network.ssl.enabled': false },
  },
  {
    variables: { HZ_NETWORK_SSL_PROPERTIES_KEYFILE: '/k' },
    original: { 'network.ssl.enabled': false, 'network.ssl.properties.keyfile': '/k' },
  },
  { variables: { HZ_NETWORK_SYMMETRICENCRYPTION_ENABLED: 'true' }, original: {} },
  { variables: { HZ_NETWORK_PORT: 'tcp://1.2.3.4:80' }, original: {} },
  { variables: { HZ_NETWORK_PORT_PORTCOUNT: '5' }, original: { 'network.port.port-count': 5 } },
  { variables: { HZ_JET_ENABLED: 'true' }, original: {} },
  { variables: { HZ_PARTITIONGROUP_ENABLED: 'true' }, original: {} },
  { variables: { HZ_CONFIG: '/x.yaml' }, original: {} },
  { variables: { HZ_QUEUE_DEFAULT_MAXSIZE: '9' }, original: { 'queue.default.max-size': 9 } },
  {
    variables: { HZ_QUEUE_J_PRIORITYCOMPARATORCLASSNAME: 'com.X' },
    original: { 'queue.j.max-size': 0 },
  },
  { variables: { 'HZ_QUEUE_ORDERS.HIGH_MAXSIZE': '9' }, original: { 'queue.orders.max-size': 0 } },
  {
    variables: { 'HZ_MAP_A*_TIMETOLIVESECONDS': '9' },
    original: { 'map.a*.time-to-live-seconds': 9, 'map.a*.max-idle-seconds': 0 },
  },
  { variables: { HZ_NETWORK_OUTBOUNDPORTS_0: '33000' }, original: {} },
  { variables: { HZ_NETWORK_JOIN_KUBERNETES_ENABLED: 'true' }, original: {} },
  { variables: { HZ_NETWORK_JOIN_MULTICAST_ENABLED: 'true' }, original: {} },
  { variables: { HZ_NETWORK_JOIN_AUTODETECTION_ENABLED: 'false' }, original: {} },
  { variables: { HZ_CLUSTERNAME: '\u0024{FOO}' }, original: { 'cluster-name': '\u0024{FOO}' } },
  { variables: { HZ_CLUSTERNAME: 'x y' }, original: { 'cluster-name': 'x y' } },
  { variables: { HZ_MEMBERATTRIBUTES_RACK_VALUE: '3' }, original: {} },
  { variables: { HZ_EXECUTORSERVICE_E_POOLSIZE: '5' }, original: {} },
  { variables: { HZ_CACHE_C_STATISTICSENABLED: 'true' }, original: {} },
  { variables: { HZ_SECURITY_ENABLED: 'true' }, original: { 'security.enabled': true } },
  { variables: { HZ_USERCODEDEPLOYMENT_ENABLED: 'true' }, original: {} },
  { variables: { HZ_AUDITLOG_ENABLED: 'true' }, original: {} },
  { variables: { HZ_MANAGEMENTCENTER_SCRIPTINGENABLED: 'true' }, original: {} },
  { variables: { HZ_NETWORK_TCPIP_ENABLED: 'false' }, original: {} },
  {
    variables: { HZ_MAP_ORDERS_MERKLETREE_ENABLED: 'true', HZ_MAP_ORDERS_MERKLETREE_DEPTH: '5' },
    original: { 'map.orders.time-to-live-seconds': 0, 'map.orders.max-idle-seconds': 0 },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_DATA_ENABLED: 'true' },
    file: 'hazelcast: {network: {rest-api: {enabled: true, endpoint-groups: {WAN: {enabled: true}}}}}',
    original: {
      'network.rest-api.enabled': false,
      'network.rest-api.endpoint-groups.DATA.enabled': true,
    },
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENABLED: 'true' },
    file: 'hazelcast: {network: {rest-api: {enabled: false, endpoint-groups: {WAN: {enabled: true}}}}}',
    original: { 'network.rest-api.enabled': true },
  },
  {
    variables: { HZ_NETWORK_SSL_PROPERTIES_KEYFILE: '/k' },
    file: 'hazelcast: {network: {ssl: {enabled: true, properties: {keyFile: /a, keyCertChainFile: /b}}}}',
    original: { 'network.ssl.enabled': false, 'network.ssl.properties.keyfile': '/k' },
  },
  {
    variables: { HZ_SECURITY_CLIENTAUTHENTICATION_REALM: 'b' },
    file: 'hazelcast: {security: {enabled: true, client-authentication: {realm: a}, realms: [{name: a, authentication: {simple: {users: [{username: u, password: p, roles: [r]}]}}}, {name: b, authentication: {simple: {users: [{username: v, password: q, roles: [r]}]}}}]}}',
    original: { 'security.enabled': false },
  },
  {
    variables: { HZ_SECURITY_REALMS_0_NAME: 'c' },
    file: 'hazelcast: {security: {enabled: true, client-authentication: {realm: a}, realms: [{name: a, authentication: {simple: {users: [{username: u, password: p, roles: [r]}]}}}, {name: b, authentication: {simple: {users: [{username: v, password: q, roles: [r]}]}}}]}}',
    original: { 'security.enabled': false },
  },
  {
    variables: { HZ_PERSISTENCE_BASEDIR: '/x' },
    file: 'hazelcast: {persistence: {enabled: true, base-dir: /data}}',
    original: {},
  },
  {
    variables: { HZ_PERSISTENCE_ENABLED: 'false' },
    file: 'hazelcast: {persistence: {enabled: true, base-dir: /data, auto-remove-stale-data: false}}',
    original: {},
  },
  {
    variables: { HZ_NETWORK_INTERFACES_INTERFACES_0: '10.0.*.*' },
    file: 'hazelcast: {network: {interfaces: {enabled: true, interfaces: [10.1.*.*]}}}',
    original: { 'network.interfaces.interfaces': ['10.1.*.*', '10.0.*.*'] },
  },
  {
    variables: { HZ_NETWORK_JOIN_TCPIP_MEMBERS: 'z' },
    file: 'hazelcast: {network: {join: {tcp-ip: {enabled: true, member-list: [x, y]}}}}',
    original: { 'network.join.tcp-ip.member-list': ['x', 'y', 'z'] },
  },
  {
    variables: { HZ_NETWORK_PORT_PORTCOUNT: '3' },
    file: 'hazelcast: {network: {port: {port: 6000, auto-increment: false}}}',
    original: { 'network.port.port-count': 3 },
  },
  {
    variables: { HZ_NETWORK_PORT_PORT: '7000' },
    file: 'hazelcast: {network: {port: {port: 6000, auto-increment: false}}}',
    original: { 'network.port.port': 7000 },
  },
  {
    variables: { HZ_MAP_ORDERS_BACKUPCOUNT: '2' },
    file: 'hazelcast: {map: {orders: {eviction: {eviction-policy: LRU, size: 7}, merkle-tree: {enabled: true, depth: 4}, time-to-live-seconds: 3, max-idle-seconds: 9}}}',
    original: { 'map.orders.backup-count': 2 },
  },
  {
    variables: { HZ_MAP_ORDERS_EVICTION_SIZE: '2' },
    file: 'hazelcast: {map: {orders: {eviction: {eviction-policy: LRU, size: 7, max-size-policy: PER_PARTITION}}}}',
    original: {},
  },
  {
    variables: { HZ_MAP_ORDERS_MERKLETREE_DEPTH: '6' },
    file: 'hazelcast: {map: {orders: {merkle-tree: {enabled: true, depth: 4}}}}',
    original: {},
  },
  {
    variables: { HZ_QUEUE_ORDERS_BACKUPCOUNT: '2' },
    file: 'hazelcast: {queue: {orders: {max-size: 5}}}',
    original: { 'queue.orders.backup-count': 2 },
  },
  {
    variables: { HZ_ADVANCEDNETWORK_RESTSERVERSOCKETENDPOINTCONFIG_PORT_PORT: '9000' },
    file: 'hazelcast: {advanced-network: {enabled: true, rest-server-socket-endpoint-config: {port: {port: 8080, auto-increment: false}, endpoint-groups: {WAN: {enabled: true}}}}}',
    original: { 'network.port.port': 9000 },
  },
  {
    variables: {
      HZ_ADVANCEDNETWORK_ENABLED: 'true',
      HZ_ADVANCEDNETWORK_RESTSERVERSOCKETENDPOINTCONFIG_PORT_PORT: '9000',
    },
    file: 'hazelcast: {advanced-network: {enabled: true, rest-server-socket-endpoint-config: {port: {port: 8080, auto-increment: false}, endpoint-groups: {WAN: {enabled: true}}}}}',
    original: { 'network.port.port': 9000 },
  },
  {
    variables: { HZ_ADVANCEDNETWORK_ENABLED: 'false' },
    file: 'hazelcast: {advanced-network: {enabled: true, rest-server-socket-endpoint-config: {port: {port: 8080, auto-increment: false}, endpoint-groups: {WAN: {enabled: true}}}}}',
    original: {
      'network.port.port': 5701,
      'network.port.auto-increment': true,
      'network.rest-api.enabled': false,
      'network.rest-api.endpoint-groups.WAN.enabled': false,
    },
  },
  {
    variables: {
      HZ_ADVANCEDNETWORK_ENABLED: 'true',
      HZ_ADVANCEDNETWORK_RESTSERVERSOCKETENDPOINTCONFIG_PORT_PORT: '9000',
    },
    file: 'hazelcast: {advanced-network: {enabled: false, rest-server-socket-endpoint-config: {port: {port: 8080, auto-increment: false}, endpoint-groups: {WAN: {enabled: true}}}}}',
    original: {
      'network.port.port': 9000,
      'network.port.auto-increment': false,
      'network.rest-api.enabled': true,
      'network.rest-api.endpoint-groups.WAN.enabled': true,
    },
  },
  {
    variables: { HZ_ADVANCEDNETWORK_JOIN_TCPIP_ENABLED: 'true' },
    file: 'hazelcast: {advanced-network: {enabled: true, rest-server-socket-endpoint-config: {port: {port: 8080, auto-increment: false}, endpoint-groups: {DATA: {enabled: true}}}}}',
    original: { 'network.join.tcp-ip.enabled': true },
  },
  {
    variables: { HZ_ADVANCEDNETWORK_JOIN_TCPIP_ENABLED: 'false' },
    file: 'hazelcast: {advanced-network: {enabled: true, join: {tcp-ip: {enabled: true, member-list: [x]}}, rest-server-socket-endpoint-config: {port: {port: 8080, auto-increment: false}, endpoint-groups: {DATA: {enabled: true}}}}}',
    original: { 'network.join.tcp-ip.enabled': false },
  },
  {
    variables: {
      HZ_ADVANCEDNETWORK_ENABLED: 'true',
      HZ_ADVANCEDNETWORK_JOIN_TCPIP_ENABLED: 'true',
      HZ_ADVANCEDNETWORK_JOIN_TCPIP_MEMBERS: 'a',
    },
    file: 'hazelcast: {advanced-network: {enabled: true, join: {tcp-ip: {enabled: true, member-list: [x]}}, rest-server-socket-endpoint-config: {port: {port: 8080, auto-increment: false}, endpoint-groups: {DATA: {enabled: true}}}}}',
    original: { 'network.join.tcp-ip.member-list': ['x', 'a'] },
  },
  {
    variables: { HZ_CPSUBSYSTEM_CPMEMBERCOUNT: '3' },
    file: 'hazelcast: {cp-subsystem: {cp-member-count: 5, session-time-to-live-seconds: 500}}',
    original: {},
  },
  {
    variables: { HZ_LITEMEMBER_ENABLED: 'false' },
    file: 'hazelcast: {lite-member: {enabled: true}}',
    original: { 'lite-member.enabled': false },
  },
  {
    variables: { HZ_NETWORK_PUBLICADDRESS: 'q' },
    file: 'hazelcast: {network: {public-address: p, reuse-address: true, port: {port: 1, auto-increment: false, port-count: 3}, rest-api: {enabled: true}, join: {multicast: {enabled: false}, auto-detection: {enabled: false}}}}',
    original: { 'network.public-address': 'q' },
  },
  {
    variables: { HZ_NETWORK_JOIN_MULTICAST_ENABLED: 'false' },
    file: 'hazelcast: {network: {join: {tcp-ip: {enabled: true, member-list: [x, y]}}}}',
    original: {},
  },
  {
    variables: {
      HZ_ADVANCEDNETWORK_ENABLED: 'true',
      HZ_ADVANCEDNETWORK_RESTSERVERSOCKETENDPOINTCONFIG_ENDPOINTGROUPS_DATA_ENABLED: 'false',
    },
    file: 'hazelcast: {advanced-network: {enabled: true, rest-server-socket-endpoint-config: {port: {port: 8080, auto-increment: false}, endpoint-groups: {DATA: {enabled: true}}}}}',
    original: 'refuses',
  },
  {
    variables: {
      HZ_ADVANCEDNETWORK_ENABLED: 'true',
      HZ_ADVANCEDNETWORK_RESTSERVERSOCKETENDPOINTCONFIG_ENDPOINTGROUPS_CLUSTERWRITE_ENABLED:
        'false',
    },
    file: 'hazelcast: {advanced-network: {enabled: true, rest-server-socket-endpoint-config: {port: {port: 8080, auto-increment: false}, endpoint-groups: {DATA: {enabled: true}}}}}',
    original: 'refuses',
  },
  {
    variables: { HZ_PERSISTENCE_ENABLED: 'false' },
    file: 'hazelcast: {persistence: {enabled: true, base-dir: /data}}',
    original: {},
  },
  {
    variables: { HZ_PERSISTENCE_ENABLED: 'true' },
    file: 'hazelcast: {persistence: {enabled: false, base-dir: /data}}',
    original: { 'persistence.enabled': true },
  },
  {
    variables: { HZ_HOTRESTARTPERSISTENCE_ENABLED: 'false' },
    file: 'hazelcast: {persistence: {enabled: true, base-dir: /data}}',
    original: {},
  },
  {
    variables: { HZ_PERSISTENCE_ENCRYPTIONATREST_ENABLED: 'true' },
    file: 'hazelcast: {persistence: {enabled: true, base-dir: /data}}',
    original: {},
  },
  {
    variables: { HZ_NETWORK_SSL_ENABLED: 'true' },
    file: 'hazelcast: {network: {ssl: {enabled: true, properties: {keyFile: /a, keyCertChainFile: /b}}}}',
    original: {},
  },
  {
    variables: { HZ_NETWORK_SSL_ENABLED: 'false' },
    file: 'hazelcast: {network: {ssl: {enabled: true, properties: {keyFile: /a, keyCertChainFile: /b}}}}',
    original: { 'network.ssl.enabled': false },
  },
  {
    variables: { HZ_SECURITY_CLIENTPERMISSIONS_MAP_0_NAME: 'm', HZ_SECURITY_ENABLED: 'true' },
    file: 'hazelcast: {security: {enabled: true, client-permissions: {all: {principal: a}}, realms: [{name: a, authentication: {simple: {users: [{username: u, password: p, roles: [r]}]}}}]}}',
    original: {},
  },
  {
    variables: { HZ_SECURITY_ENABLED: 'true', HZ_SECURITY_REALMS_0_NAME: 'a' },
    file: 'hazelcast: {security: {enabled: true, client-permissions: {all: {principal: a}}, realms: [{name: a, authentication: {simple: {users: [{username: u, password: p, roles: [r]}]}}}]}}',
    original: {},
  },
  {
    variables: {
      HZ_SECURITY_ENABLED: 'true',
      HZ_SECURITY_REALMS_0_AUTHENTICATION_SIMPLE_USERS_0_PASSWORD: 'q',
    },
    file: 'hazelcast: {security: {enabled: true, client-permissions: {all: {principal: a}}, realms: [{name: a, authentication: {simple: {users: [{username: u, password: p, roles: [r]}]}}}]}}',
    original: 'refuses',
  },
  {
    variables: { HZ_SECURITY_ENABLED: 'true', HZ_SECURITY_CLIENTPERMISSIONS_ALL_PRINCIPAL: 'z' },
    file: 'hazelcast: {security: {enabled: true, client-permissions: {all: {principal: a}}, realms: [{name: a, authentication: {simple: {users: [{username: u, password: p, roles: [r]}]}}}]}}',
    original: {},
  },
  {
    variables: { HZ_NETWORK_RESTAPI_ENABLED: ' true', HZ_CLUSTERNAME: '\ttab name\t' },
    original: { 'cluster-name': 'tab name', 'network.rest-api.enabled': true },
  },
  {
    variables: { 'HZ_MAP_MY-ORDERS_TIMETOLIVESECONDS': '4' },
    original: { 'map.my-orders.time-to-live-seconds': 4, 'map.my-orders.max-idle-seconds': 0 },
  },
  {
    variables: { HZ_MAP__TIMETOLIVESECONDS: '4' },
    original: { 'map..time-to-live-seconds': 4, 'map..max-idle-seconds': 0 },
  },
  {
    variables: { 'HZ_MAP_ORDERS_TIMETOLIVE-SECONDS': '4' },
    original: { 'map.orders.time-to-live-seconds': 4, 'map.orders.max-idle-seconds': 0 },
  },
  {
    variables: { 'HZ_MAP_ORDERS_time-to-live-seconds': '4' },
    original: { 'map.orders.time-to-live-seconds': 4, 'map.orders.max-idle-seconds': 0 },
  },
  {
    variables: { 'HZ_MAP_ORDERS.V2_TIMETOLIVESECONDS': '4' },
    original: { 'map.orders.time-to-live-seconds': 0, 'map.orders.max-idle-seconds': 0 },
  },
  { variables: { 'HZ_NETWORK.PORT.PORT': '6123' }, original: { 'network.port.port': 6123 } },
  { variables: { HZ_NETWORK_PORT_PORT: '6_123' }, original: 'refuses' },
  {
    variables: { 'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS.HEALTH_CHECK.ENABLED': 'false' },
    original: 'refuses',
  },
  {
    variables: {
      HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_HEALTHCHECK_ENABLED: 'false',
      HZ_NETWORK_RESTAPI_ENABLED: 'true',
    },
    original: {
      'network.rest-api.enabled': true,
      'network.rest-api.endpoint-groups.HEALTH_CHECK.enabled': false,
    },
  },
  {
    variables: {
      HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_clusterRead_ENABLED: 'false',
      HZ_NETWORK_RESTAPI_ENABLED: 'true',
    },
    original: {
      'network.rest-api.enabled': true,
      'network.rest-api.endpoint-groups.CLUSTER_READ.enabled': false,
    },
  },
  {
    variables: {
      HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_CLUSTERREAD_ENABLED: 'False',
      HZ_NETWORK_RESTAPI_ENABLED: 'TRUE',
    },
    original: {
      'network.rest-api.enabled': true,
      'network.rest-api.endpoint-groups.CLUSTER_READ.enabled': false,
    },
  },
  { variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUP_DATA_ENABLED: 'true' }, original: {} },
  { variables: { HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_ENABLED: 'true' }, original: 'refuses' },
  { variables: { HZ_NETWORK_INTERFACES_INTERFACE: '1.1.1.1' }, original: {} },
  { variables: { HZ_NETWORK_INTERFACES_0: '1.1.1.1' }, original: {} },
  { variables: { HZ_NETWORK_HEALTHPORT: '5' }, original: {} },
  { variables: { HZ_NETWORK_RESTAPI_PATHSEGMENT: 'x' }, original: {} },
  { variables: { HZ_MAXMEMORY: '4g' }, original: {} },
  { variables: { HZ_NETWORK_RESTAPI_AUTHENTICATION: 'basic' }, original: {} },
  {
    variables: {
      HZ_SERVICE_HOST: '10.0.0.1',
      HZ_SERVICE_PORT: '5701',
      HZ_PORT_5701_TCP: 'tcp://10.0.0.1:5701',
      HZ_PORT_5701_TCP_ADDR: '10.0.0.1',
    },
    original: {},
  },
  {
    variables: {
      HZ_MAP_SERVICE_HOST: '10.0.0.1',
      HZ_MAP_PORT: 'tcp://10.0.0.1:80',
      HZ_MAP_PORT_80_TCP_PORT: '80',
    },
    original: {
      'map.port.time-to-live-seconds': 0,
      'map.port.max-idle-seconds': 0,
      'map.service.time-to-live-seconds': 0,
      'map.service.max-idle-seconds': 0,
    },
  },
  { variables: { HZ_NETWORK_SERVICE_PORT: '80' }, original: {} },
  {
    variables: {
      HZ_NETWORK_RESTAPI_ENABLED: 'true',
      HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_CLUSTERWRITE_ENABLED: 'false',
    },
    file: 'hazelcast: {network: {rest-api: {enabled: true, endpoint-groups: {CLUSTER_WRITE: {enabled: true}}}}}',
    original: { 'network.rest-api.endpoint-groups.CLUSTER_WRITE.enabled': false },
  },
  {
    variables: {
      HZ_NETWORK_RESTAPI_ENABLED: 'true',
      'HZ_NETWORK_RESTAPI_ENDPOINTGROUPS.CLUSTERWRITE.ENABLED': 'false',
    },
    file: 'hazelcast: {network: {rest-api: {enabled: true, endpoint-groups: {cluster_write: {enabled: true}}}}}',
    original: 'refuses',
  },
  {
    variables: { HZ_CLUSTERNAME: 'envname' },
    file: '<hazelcast xmlns="http://www.hazelcast.com/schema/config"><cluster-name>file</cluster-name></hazelcast>',
    original: { 'cluster-name': 'envname' },
  },
  {
    variables: { HZ_MAP_ORDERS_BACKUPCOUNT: '2' },
    file: '<hazelcast xmlns="http://www.hazelcast.com/schema/config"><map name="orders"><time-to-live-seconds>7</time-to-live-seconds></map></hazelcast>',
    original: { 'map.orders.backup-count': 2 },
  },
  {
    variables: { HZ_QUEUE_ORDERS_MAXSIZE: '2' },
    file: '<hazelcast xmlns="http://www.hazelcast.com/schema/config"><queue name="orders"><max-size>3</max-size></queue></hazelcast>',
    original: { 'queue.orders.max-size': 2 },
  },
  {
    variables: {
      HZ_NETWORK_RESTAPI_ENABLED: 'true',
      HZ_NETWORK_RESTAPI_ENDPOINTGROUPS_CLUSTERREAD_ENABLED: 'false',
    },
    file: '<hazelcast xmlns="http://www.hazelcast.com/schema/config"><network><rest-api enabled="true"><endpoint-group name="DATA" enabled="true"/></rest-api></network></hazelcast>',
    original: { 'network.rest-api.endpoint-groups.CLUSTER_READ.enabled': false },
  },
  {
    variables: {
      HZ_MAP_ORDERS_TIMETOLIVESECONDS: '5',
      HZ_MAP_ORDERS_MAXIDLESECONDS: '6',
      HZ_QUEUE_ORDERS_MAXSIZE: '7',
    },
    original: {
      'map.orders.time-to-live-seconds': 5,
      'map.orders.max-idle-seconds': 6,
      'queue.orders.max-size': 7,
    },
  },
  {
    variables: { HZ_MAP_ORDERS_MAXIDLESECONDS: '6' },
    file: 'hazelcast: {map: {orders: {max-idle-seconds: 1, time-to-live-seconds: 2}}}',
    original: { 'map.orders.max-idle-seconds': 6 },
  },
];
