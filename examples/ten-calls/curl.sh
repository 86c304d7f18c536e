#!/bin/sh
# Ten calls with curl. Run: sh curl.sh
# GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
set -eu
grid=${GRIDNODE_URL:-http://127.0.0.1:5701/grid}
content=$(mktemp)
trap 'rm -f "$content"' EXIT

# call STEP EXPECTED ARGUMENTS...: sends a request and writes the content of the response to the
# file $content. Sets $status and $type. The time limit, 10 s, is longer than the longest poll. No
# --retry: a second offer adds the item twice, a second poll removes another item.
call() {
  step=$1 expected=$2
  shift 2
  result=$(curl -sS --connect-timeout 5 --max-time 10 \
    --output "$content" --write-out '%{http_code} %{content_type}' "$@") || {
    echo "$step: no response" >&2
    exit 1
  }
  status=${result%% *} type=${result#* }
  if [ "$status" != "$expected" ]; then
    echo "$step: status $status, expected $expected: $(cat "$content")" >&2
    exit 1
  fi
}

# The key is "Zoë/1", percent-encoded.
entry=$grid/rest/maps/example-people/Zo%C3%AB%2F1
queue=$grid/rest/queues/example-jobs

# --data-binary sends the bytes unchanged; --data removes line ends from a file.
call put 200 -H 'Content-Type: application/json' --data-binary '{"name":"Zoë"}' "$entry"
echo "put: $status"
call get 200 "$entry"
echo "get: $status, $type, $(cat "$content")"
call 'get missing' 204 "$grid/rest/maps/example-people/nobody"
echo "get missing: $status"
call delete 200 -X DELETE "$entry"
echo "delete: $status"
call clear 200 -X DELETE "$grid/rest/maps/example-people"
echo "clear: $status"

# A 503 without content means that the queue is full.
printf '\000\377\n\200' |
  call offer 200 -H 'Content-Type: application/octet-stream' --data-binary @- "$queue"
echo 'offer: 200'
call size 200 "$queue/size"
echo "size: $(cat "$content")"
# A poll waits up to the given number of seconds. An item can be any bytes: keep it in a file.
call poll 200 -X DELETE "$queue/1"
echo "poll: $status, $type, $(od -An -v -tx1 "$content" | tr -d ' \n')"
call 'poll empty' 204 -X DELETE "$queue/1"
echo "poll empty: $status"
call ready 200 "$grid/health/ready"
echo "ready: $status"
