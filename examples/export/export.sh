#!/bin/sh
# Exports a map to a file of lines of JSON. Run: sh export.sh
# GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
#
# The list is read in pages. Each ends with a line with the cursor of the next one: without that
# line, the response was cut off. `gridnode map import` sets the entries of such a file.
set -eu
map=${GRIDNODE_URL:-http://127.0.0.1:5701/grid}/v1/maps/example-export
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
page=$folder/page

# call STEP EXPECTED ARGUMENTS...: sends a request and writes the content of the response to $page.
call() {
  step=$1 expected=$2
  shift 2
  status=$(curl -sS --connect-timeout 5 --max-time 60 --output "$page" \
    --write-out '%{http_code}' "$@") || {
    echo "$step: no response" >&2
    exit 1
  }
  if [ "$status" != "$expected" ]; then
    echo "$step: status $status, expected $expected: $(cat "$page")" >&2
    exit 1
  fi
}

call clear 204 -X DELETE "$map"
number=0
while [ $number -lt 2500 ]; do
  number=$((number + 1))
  echo "{\"op\":\"set\",\"key\":\"key-$number\",\"value\":\"value $number\",\"timeToLiveSeconds\":600}"
done >"$folder/changes"
call bulk 200 -H 'Content-Type: application/x-ndjson' --data-binary "@$folder/changes" "$map/bulk"
# A line has up to 1 MiB: a list contains the key of a longer value, and its length.
head -c 2000000 /dev/zero >"$folder/long"
call put 201 -X PUT --data-binary "@$folder/long" "$map/entries/key-long"

cursor=
: >"$folder/left"
while :; do
  call list 200 "$map/entries?limit=1000${cursor:+&cursor=$cursor}"
  case $(tail -n 1 "$page") in
    '{"cursor":'*) ;;
    *)
      echo 'list: the response was cut off' >&2
      exit 1 ;;
  esac
  sed '$d' "$page" >"$folder/lines"
  grep -E '^[^"]*"key.*"value(Base64)?":' "$folder/lines" >>"$folder/export"
  # The keys of this example need no percent-encoding.
  grep -vE '"value(Base64)?":' "$folder/lines" |
    sed 's/.*"key":"\([^"]*\)".*/\1/' >>"$folder/left" || true
  cursor=$(tail -n 1 "$page" | sed -n 's/.*"cursor":"\(.*\)".*/\1/p')
  [ -n "$cursor" ] || break
done
while read -r key; do
  call get 200 "$map/entries/$key"
  printf '{"key":"%s","length":%d,"valueBase64":"' "$key" "$(wc -c <"$page")"
  base64 <"$page" | tr -d '\n'
  echo '"}'
done <"$folder/left" >"$folder/long-lines"
cat "$folder/long-lines" >>"$folder/export"

echo "entries: $(wc -l <"$folder/export" | tr -d ' ')"
echo "with a time to live: $(grep -c '"timeToLiveSeconds":' "$folder/export")"
echo "keys of long values: $(cat "$folder/left")"
call clear 204 -X DELETE "$map"
