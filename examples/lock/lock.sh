#!/bin/sh
# A lock that ends by itself. Run: sh lock.sh
# GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
#
# The lock is an entry: a program has it that has set the entry when there was none. The entity tag
# of the entry identifies this one lock, so a program that was too slow cannot remove the lock of
# the next one. The time to live ends the lock of a program that has died.
set -eu
locks=${GRIDNODE_URL:-http://127.0.0.1:5701/grid}/v1/maps/example-locks/entries
head=$(mktemp)
content=$(mktemp)
trap 'rm -f "$head" "$content"' EXIT

# call STEP ARGUMENTS...: sends a request. Sets $status, and $tag to the entity tag, if there is one.
# After a 503, or without a response, the lock may have been set: read the entry to find out.
call() {
  step=$1
  shift
  status=$(curl -sS --connect-timeout 5 --max-time 10 --dump-header "$head" \
    --output "$content" --write-out '%{http_code}' "$@") || {
    echo "$step: no response" >&2
    exit 1
  }
  case $status in
    20[0-4] | 404 | 412) ;;
    *)
      echo "$step: status $status: $(cat "$content")" >&2
      exit 1 ;;
  esac
  tag=$(tr -d '\r' <"$head" | sed -n 's/^[Ee][Tt]ag: //p')
}

# lock NAME OWNER SECONDS: sets the lock if there is none. $status is 201 or 412.
lock() {
  call lock -X PUT -H 'If-None-Match: *' -H "Grid-Time-To-Live: $3" --data-binary "$2" "$locks/$1"
}

# extend NAME OWNER SECONDS TAG: $status is 204, and $tag the new tag; or 412, and the lock is lost.
extend() {
  call extend -X PUT -H "If-Match: $4" -H "Grid-Time-To-Live: $3" --data-binary "$2" "$locks/$1"
}

# unlock NAME TAG: $status is 204; or 412, and the lock was lost before.
unlock() { call unlock -X DELETE -H "If-Match: $2" "$locks/$1"; }

call clear -X DELETE "${locks%/entries}"
lock report one 30
one=$tag
echo "one locks: $status"
lock report two 30
call owner "$locks/report"
echo "two locks: 412, the owner is $(cat "$content")"
extend report one 30 "$one"
echo "one extends: $status"
unlock report "$one"
echo "one unlocks with its former tag: $status"
call owner "$locks/report"
unlock report "$tag"
echo "one unlocks: $status"
lock report two 1
two=$tag
echo "two locks for a second, and is slow: $status"
until lock report one 30 && [ "$status" = 201 ]; do sleep 0.2; done
echo "one locks: $status"
unlock report "$two"
echo "two unlocks too late: $status"
call clear -X DELETE "${locks%/entries}"
