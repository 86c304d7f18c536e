/**
 * Words and shapes that several settings share in XML.
 * Written by `make known-tables`: see spec/config/original.
 */
export const XML_SHAPES = `
%unit=BYTES|KILOBYTES|MEGABYTES|GIGABYTES
%cluster-data-recovery-policy=FULL_RECOVERY_ONLY|PARTIAL_RECOVERY_MOST_RECENT
 + |PARTIAL_RECOVERY_MOST_COMPLETE
&replacer: @class-name=s
 properties: property>{}=s
&aws: @enabled=b @connection-timeout-seconds=i enabled=b connection-timeout-seconds=i ...
&discovery-strategies:
 node-filter: @class=s
 discovery-strategy: @enabled=b @class=s
  properties: property>{}=s
&port: @auto-increment=b @port-count=i0..
&join:
 multicast: multicast-group=s multicast-port=i0..65535 multicast-timeout-seconds=i
  + multicast-time-to-live=i @enabled=b @loopbackModeEnabled=b
  trusted-interfaces: interface>[]=s
 tcp-ip: member=s required-member=s interface=s members=s @enabled=b @connection-timeout-seconds=i
  member-list: member>[]=s
 aws: &aws
 gcp: &aws
 azure: &aws
 kubernetes: &aws
 eureka: &aws
 auto-detection: &aws
 discovery-strategies: &discovery-strategies
&interfaces: interface>interfaces[]=s @enabled=b
&ssl: factory-class-name=s @enabled=b
 properties: property>{}=s
&socket-interceptor: class-name=s @enabled=b
 properties: property>{}=s
&symmetric-encryption: algorithm=s salt=s password=s iteration-count=i @enabled=b
&failure-detector:
 icmp: timeout-milliseconds=i ttl=i parallel-mode=b fail-fast-on-startup=b max-attempts=i
  + interval-milliseconds=i @enabled=s
&tpc-socket: port-range=s receive-buffer-size-kb=i send-buffer-size-kb=i
&queue-store: class-name=s factory-class-name=s @enabled=b
 properties: property>{}=s
&event-journal: capacity=i0.. time-to-live-seconds=i0.. @enabled=b
&eviction: @size=i0..
 + @max-size-policy=ENTRY_COUNT|USED_NATIVE_MEMORY_SIZE|USED_NATIVE_MEMORY_PERCENTAGE
 + |FREE_NATIVE_MEMORY_SIZE|FREE_NATIVE_MEMORY_PERCENTAGE
 + @eviction-policy=NONE|LRU|LFU|RANDOM @comparator-class-name=s
&indexes:
 index: @name=s @type=SORTED|HASH|BITMAP
  attributes: attribute=s
  bitmap-index-options: unique-key=s unique-key-transformation=OBJECT|LONG|RAW
  btree-index:
   memory-tier: &memory-tier
   page-size: &capacity
&memory-tier:
 capacity: &capacity
&capacity: @value=i0.. @unit=%unit
&entry-listeners:
 entry-listener=s: @include-value=b @local=b
&list: statistics-enabled=b max-size=i0.. backup-count=i0..6 async-backup-count=i0..6
 + split-brain-protection-ref=s user-code-namespace=s
 item-listeners:
  item-listener=s: @include-value=b
 merge-policy=s: @batch-size=i1..
&java-serialization-filter: @defaults-disabled=b
 blacklist: class=s package=s prefix=s
 whitelist: class=s package=s prefix=s
&all-permissions: @principal=s @deny=b
 endpoints: endpoint>[]=s
&map-permission: @principal=s @deny=b @name=s
 endpoints: endpoint>[]=s
 actions: &actions
&actions:
 + action>[]=all|create|destroy|modify|read|remove|lock|listen|release|acquire|put|add|index
 + |intercept|publish|aggregate|projection|deploy|use|optimize|submit|cancel|restart|export-snapshot
 + |add-resources|write|instance|member|migration|view-mapping|create-view|drop-view|create-type
 + |drop-type|view-dataconnection|create-dataconnection|drop-dataconnection
&ldap: skip-identity=b skip-endpoint=b skip-role=b url=s socket-factory-class-name=s parse-dn=b
 + role-context=s role-filter=s role-mapping-attribute=s role-mapping-mode=attribute|direct|reverse
 + role-name-attribute=s role-recursion-max-depth=i role-search-scope=object|one-level|subtree
 + user-name-attribute=s system-user-dn=s system-user-password=s system-authentication=s
 + security-realm=s password-attribute=s user-context=s user-filter=s
 + user-search-scope=object|one-level|subtree skip-authentication=b
&encryption-at-rest: algorithm=s salt=s key-size=i @enabled=b
 secure-store: secure-store-substitution-group=s
  keystore: path=s type=s password=s current-key-alias=s polling-interval=i
  vault: address=s secret-path=s token=s polling-interval=i
   ssl: &ssl
&socket-options: buffer-direct=b tcp-no-delay=b keep-alive=b connect-timeout-seconds=i0..
 + send-buffer-size-kb=i1.. receive-buffer-size-kb=i1.. linger-seconds=i0.. keep-idle-seconds=i1..
 + keep-interval-seconds=i1.. keep-count=i1..
&member-server-socket-endpoint-config: public-address=s reuse-address=b @name=s
 port=i0..65535: &port
 outbound-ports: ports=s
 interfaces: &interfaces
 ssl: &ssl
 socket-interceptor: &socket-interceptor
 symmetric-encryption: &symmetric-encryption
 socket-options: &socket-options
 tpc-socket: &tpc-socket
`;
