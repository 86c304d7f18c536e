#!/usr/bin/env bash
# cluster.sh start|stop: a trial setup of three members and a Redis Cluster of six servers, all on
# this machine. CLUSTER_FOLDER: folder of its files. ENGINE_SERVER: redis-server or valkey-server.
# SERVER_PORT and MEMBER_PORT: the first ports. A server of a Cluster also listens on its port plus
# 10,000.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${CLUSTER_FOLDER:-$PWD/.cluster}
server=${ENGINE_SERVER:-redis-server}
client=${server%-server}-cli
first=${SERVER_PORT:-7001}
server_ports=($(seq "$first" $((first + 5))))
first=${MEMBER_PORT:-5701}
member_ports=($(seq "$first" $((first + 2))))
member=dist/bin/gridnode.js
# Time limit for a server or a member to respond, in seconds.
patience=60

# Repeats the command until it succeeds; exits with an error after the time limit. The first argument
# names the awaited process.
await() {
  local name=$1 end=$((SECONDS + patience))
  shift
  until "$@"; do
    ((SECONDS < end)) || { echo "Cannot start $name: no response within $patience s; its log is in $folder" >&2; exit 1; }
    sleep 0.1
  done
}

answers() { [[ $("$client" -p "$1" ping 2>/dev/null) == PONG ]]; }

is_ready() {
  kill -0 "$2" 2>/dev/null || { cat "$folder/member-$1.log" >&2; exit 1; }
  curl -sf --max-time 5 -o "$folder/ready" "127.0.0.1:$1/grid/health/ready"
}

# Sends SIGTERM to the processes of these files and waits for each, up to 10 seconds.
terminate() {
  local file
  for file in "$@"; do [[ ! -e $file ]] || kill "$(<"$file")" 2>/dev/null || true; done
  for file in "$@"; do
    for _ in {1..100}; do [[ -e $file ]] && kill -0 "$(<"$file")" 2>/dev/null && sleep 0.1 || break; done
  done
}

stop() {
  # Members first, so that each leaves the cluster.
  terminate "$folder"/member-*.pid
  terminate "$folder"/server-*.pid
  rm -rf "$folder"
}

configuration() {
  cat <<CONFIGURATION
port $1
bind 127.0.0.1
dir "$folder/server-$1"
daemonize yes
pidfile "$folder/server-$1.pid"
logfile "$folder/server-$1.log"
cluster-enabled yes
cluster-node-timeout 2000
cluster-require-full-coverage no
appendonly yes
shutdown-timeout 0
min-replicas-to-write 1
maxmemory-policy noeviction
CONFIGURATION
}

start() {
  local port addresses=()
  command -v "$server" "$client" >/dev/null || { echo "Cannot find $server and $client: apt-get install ${server%-server}" >&2; exit 1; }
  [[ ! -e $folder ]] || { echo "Cannot use $folder: it exists; run make cluster-stop" >&2; exit 1; }
  mkdir "$folder"
  for port in "${server_ports[@]}"; do
    mkdir "$folder/server-$port"
    configuration "$port" >"$folder/server-$port.conf"
    "$server" "$folder/server-$port.conf"
    addresses+=("127.0.0.1:$port")
  done
  for port in "${server_ports[@]}"; do
    await "the server on port $port" answers "$port"
  done
  timeout $patience "$client" --cluster create "${addresses[@]}" --cluster-replicas 1 --cluster-yes >"$folder/create.log" ||
    { cat "$folder/create.log" >&2; exit 1; }
  for port in "${member_ports[@]}"; do
    "$member" serve --port "$port" --enable-group all \
      --engine "redis://${addresses[0]},${addresses[1]},${addresses[2]}" \
      >"$folder/member-$port.log" 2>&1 &
    echo $! >"$folder/member-$port.pid"
    await "the member on port $port" is_ready "$port" $!
  done
  disown -a
  tour
}

tour() {
  local address=http://127.0.0.1
  local one=$address:${member_ports[0]} two=$address:${member_ports[1]} three=$address:${member_ports[2]}
  cat <<TOUR
Members: ${member_ports[*]}. Servers, three primaries and their replicas: ${server_ports[*]}.
Data written to one member can be read from another:

  curl -H 'Content-Type: text/plain' -d 'Ada Lovelace' $one/grid/rest/maps/people/ada
  curl $two/grid/rest/maps/people/ada
  curl -d 'first' $two/grid/rest/queues/jobs
  curl -X DELETE $three/grid/rest/queues/jobs/10
  curl $three/grid/rest/cluster

A failed primary is replaced by its replica within seconds. No confirmed change is lost:

  kill -9 \$(cat $folder/server-${server_ports[0]}.pid)
  curl $two/grid/rest/maps/people/ada

It has no replica now. So changes of its slots get 503, and a stop of the cluster, which cannot be
recorded. All else is served:

  curl -i -d 'Ada' $two/grid/rest/maps/people/ada
  curl -i -d 'dev&' $one/grid/rest/management/cluster/clusterShutdown
  curl -d 'Grace Hopper' $two/grid/rest/maps/people/grace

The failed server becomes a replica when it is started again, and all changes are accepted:

  $server $folder/server-${server_ports[0]}.conf
  curl -d 'Ada King' $two/grid/rest/maps/people/ada

A member that stops leaves the list of members:

  curl -d 'dev&' $three/grid/rest/management/cluster/memberShutdown
  curl $one/grid/rest/cluster

Logs are in $folder. To stop everything: make cluster-stop
TOUR
}

case ${1:-} in
  start) start ;;
  stop) stop ;;
  *) echo "usage: $0 start|stop" >&2; exit 2 ;;
esac
