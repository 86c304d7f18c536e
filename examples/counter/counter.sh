#!/bin/sh
# A counter that many programs change at once. Run: sh counter.sh
# GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
set -eu
map=${GRIDNODE_URL:-http://127.0.0.1:5701/grid}/v1/maps/example-counters

# call STEP EXPECTED ARGUMENTS...: sends a request and prints the content of the response. No
# --retry: the addition may have been made although there is no response.
call() {
  step=$1 expected=$2
  shift 2
  result=$(curl -sS --connect-timeout 5 --max-time 10 --write-out '\n%{http_code}' "$@") || {
    echo "$step: no response" >&2
    exit 1
  }
  status=${result##*
}
  content=${result%
*}
  if [ "$status" != "$expected" ]; then
    echo "$step: status $status, expected $expected: $content" >&2
    exit 1
  fi
  printf '%s\n' "$content"
}

call clear 204 -X DELETE "$map" >/dev/null
# Without `by`, a POST adds 1. The response has the sum: each is returned once.
for worker in 1 2 3 4; do
  (for _ in 1 2 3 4 5; do call add 200 -X POST "$map/counters/visits" >/dev/null; done) &
done
wait
echo "after 20 visits of 4 programs: $(call get 200 "$map/entries/visits")"
echo "subtract 15: $(call subtract 200 -d by=-15 "$map/counters/visits")"
# A counter is an entry: a number as text. It is set like other entries.
call set 204 -X PUT --data-binary 9223372036854775807 "$map/entries/visits" >/dev/null
call 'add to the greatest number' 409 -X POST "$map/counters/visits" >/dev/null
echo "after the greatest number: $(call get 200 "$map/entries/visits")"
call set 201 -X PUT --data-binary ten "$map/entries/word" >/dev/null
call 'add to a word' 409 -X POST "$map/counters/word" >/dev/null
echo "a word remains: $(call get 200 "$map/entries/word")"
call clear 204 -X DELETE "$map" >/dev/null
