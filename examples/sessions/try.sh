#!/bin/sh
# Two visitors of index.php. Run: sh try.sh (Debian: apt-get install php-cli php-curl)
# GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
set -eu
cd "$(dirname "$0")"
port=${PORT:-8000}
folder=$(mktemp -d)
php -S "127.0.0.1:$port" index.php 2> "$folder/log" &
server=$!
trap 'kill $server 2> "$folder/ended" || true; rm -r "$folder"' EXIT
until grep -q started "$folder/log"; do
  kill -0 $server 2> "$folder/ended" || { cat "$folder/log" >&2; exit 1; }
  sleep 0.1
done

# visit NAME [QUERY]: requests the page with the visitor's cookies.
visit() {
  printf '%s: ' "$1"
  curl -sS --fail-with-body --max-time 10 \
    --cookie "$folder/$1" --cookie-jar "$folder/$1" "http://127.0.0.1:$port/${2:-}" || {
    cat "$folder/log" >&2
    exit 1
  }
}

visit ann
visit ann
visit bob
visit ann
visit ann '?logout'
visit ann
visit bob
