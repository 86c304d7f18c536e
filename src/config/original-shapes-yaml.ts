/**
 * Words and shapes that several settings share in YAML.
 * Written by `make known-tables`: see spec/config/original.
 */
export const YAML_SHAPES = `
%actions=all|create|destroy|modify|read|remove|lock|listen|release|acquire|put|add|index|intercept
 + |publish|aggregate|projection|deploy|use|optimize|submit|cancel|restart|export-snapshot
 + |add-resources|write|instance|member|migration|view-mapping|create-view|drop-view|create-type
 + |drop-type|view-dataconnection|create-dataconnection|drop-dataconnection
%cluster-data-recovery-policy=FULL_RECOVERY_ONLY|PARTIAL_RECOVERY_MOST_RECENT
 + |PARTIAL_RECOVERY_MOST_COMPLETE
&discovery-strategies:
 node-filter: class=s ...
 discovery-strategies[]: enabled=b class=s properties=o
&join:
 multicast: enabled=b loopback-mode-enabled=b loopbackModeEnabled=b multicast-group=s
  + multicast-port=i multicast-time-to-live=i0..255 multicast-timeout-seconds=i
  + trusted-interfaces[]=s
 auto-detection: enabled=b
 tcp-ip: enabled=b connection-timeout-seconds=i0.. required-member=s member=s members=s
  + member-list[]=s interface=s
 aws: enabled=b ...
 gcp: enabled=b ...
 azure: enabled=b ...
 kubernetes: enabled=b ...
 eureka: enabled=b ...
 discovery-strategies: &discovery-strategies
&member-address-provider: enabled=b class-name=s properties=o
&failure-detector:
 icmp: enabled=b timeout-milliseconds=i1.. fail-fast-on-startup=b interval-milliseconds=i1000..
  + max-attempts=i0.. parallel-mode=b ttl=i0..
&ssl: enabled=b factory-class-name=s properties=o
&tpc-socket: port-range=s receive-buffer-size-kb=i send-buffer-size-kb=i ...
&eviction: eviction-policy=LRU|LFU|NONE|RANDOM
 + max-size-policy=PER_NODE|PER_PARTITION|USED_HEAP_PERCENTAGE|USED_HEAP_SIZE|FREE_HEAP_PERCENTAGE
 + |FREE_HEAP_SIZE|ENTRY_COUNT|USED_NATIVE_MEMORY_SIZE|USED_NATIVE_MEMORY_PERCENTAGE
 + |FREE_NATIVE_MEMORY_SIZE|FREE_NATIVE_MEMORY_PERCENTAGE
 + size=i0.. comparator-class-name=s
&indexes: type=SORTED|BITMAP|HASH name=s attributes[]=s
 bitmap-index-options: unique-key=s unique-key-transformation=OBJECT|LONG|RAW
 btree-index:
  page-size: &page-size
  memory-tier: &memory-tier
&page-size: unit=BYTES|KILOBYTES|MEGABYTES|GIGABYTES value=n1.. ...
&memory-tier:
 capacity: &page-size
&entry-listeners: class-name=s include-value=b local=b
&java-serialization-filter: defaults-disabled=b
 whitelist: &whitelist
 blacklist: &whitelist
&whitelist: class[]=s package[]=s prefix[]=s
&all: name=s principal=s endpoints[]=s deny=b
 actions: &actions-2
&actions-2: []=%actions {}=%actions
&config: name=s principal=s endpoints[]=s deny=b ...
 actions: &actions-2
&encryption-at-rest: enabled=b algorithm=s salt=s key-size=i ...
 secure-store:
  keystore: path=s type=s password=s current-key-alias=s polling-interval=i0..
  vault: address=s secret-path=s token=s polling-interval=i
   ssl: &ssl
&memcache-server-socket-endpoint-config: name=s public-address=s reuse-address=b ...
 outbound-ports: []=s {}=s
 interfaces: enabled=b interfaces[]=s
 ssl: &ssl
 socket-interceptor: &member-address-provider
 symmetric-encryption: &symmetric-encryption
 socket-options: &socket-options
 tpc-socket: &tpc-socket
 port=i: &port
&symmetric-encryption: enabled=b algorithm=s salt=s password=s iteration-count=i0..
&socket-options: buffer-direct=b tcp-no-delay=b keep-alive=b connect-timeout-seconds=i0..
 + send-buffer-size-kb=i0.. receive-buffer-size-kb=i linger-seconds=i keep-idle-seconds=i
 + keep-interval-seconds=i keep-count=i
&port: port=i port-count=i auto-increment=b
&name-spaces: id=s resource-type=JAR|JARS_IN_ZIP|CLASS url=s
`;
