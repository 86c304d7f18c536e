#!/usr/bin/env bash
# run.sh [EXAMPLE...]: runs all examples, or some, and compares the output of each with expected.txt
# in its folder. It starts a member of the built program, unless GRIDNODE_URL is the address of one. An
# example whose interpreter is missing is skipped; with ALL=1 it fails.
# run.sh --list: prints the names of the examples.
# run.sh --start EXAMPLE: only runs the example. Exits with 77 if its interpreter is missing.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
program=$folder/../dist/bin/gridnode.js
examples=(
  ten-calls/curl.sh
  ten-calls/python-requests.py
  ten-calls/python-http-client.py
  ten-calls/php-curl.php
  ten-calls/php-fsockopen.php
  ten-calls/perl-http-tiny.pl
  ten-calls/JavaHttpClient.java
  ten-calls/JavaHttpUrlConnection.java
  ten-calls/go-net-http.go
  ten-calls/node-fetch.mjs
  ten-calls/lua-socket.lua
  ten-calls/raw-socket.c
  ten-calls/CsharpHttpClient.cs
  ten-calls/powershell.ps1
  work-queue/work_queue.py
  sessions/try.sh
  cache/demo.mjs
  lock/lock.sh
  lock/lock.py
  counter/counter.sh
  counter/counter.py
  export/export.sh
  export/export.mjs
  cron-job/once.sh
)

# need MESSAGE COMMAND...: exits with 77 and the message unless the command succeeds.
need() {
  local message=$1
  shift
  "$@" >/dev/null 2>&1 || { echo "$message" >&2; exit 77; }
}

need_php() { need 'needs PHP 8.1 or newer: apt-get install php-cli' php -r 'exit((int) (PHP_VERSION_ID < 80100));'; }
need_php_curl() { need 'needs the cURL extension: apt-get install php-curl' php -r 'exit((int) !extension_loaded("curl"));'; }
is_java_17() { (($(java -version 2>&1 | sed -nE '1s/.*"([0-9]+).*/\1/p') >= 17)); }
has_requests() { "$1" -c 'import requests'; }
has_luasocket() { "$1" -e 'require "socket.http"'; }

# Prints the first of the programs for which the check succeeds.
first() {
  local check=$1 program
  shift
  for program in "$@"; do
    "$check" "$program" >/dev/null 2>&1 && echo "$program" && return
  done
  return 1
}

start() {
  local file=$folder/$1 built found
  built=$(mktemp -d)
  trap "rm -r '$built'" EXIT
  case $1 in
    ten-calls/curl.sh | lock/*.sh | counter/*.sh | export/*.sh)
      need 'needs curl: apt-get install curl' command -v curl
      sh "$file" ;;
    cron-job/*.sh)
      need 'needs curl: apt-get install curl' command -v curl
      sh "$file" demo ;;
    ten-calls/python-requests.py)
      found=$(first has_requests python3 /usr/bin/python3) || need 'needs requests: apt-get install python3-requests' false
      "$found" "$file" ;;
    *.py)
      need 'needs Python: apt-get install python3' command -v python3
      if [[ $1 == work-queue/* ]]; then python3 "$file" demo; else python3 "$file"; fi ;;
    ten-calls/*.php)
      need_php
      [[ $1 != *curl* ]] || need_php_curl
      php "$file" ;;
    *.pl)
      need 'needs Perl: apt-get install perl' perl -MHTTP::Tiny -e 1
      perl "$file" ;;
    *.java)
      need 'needs Java 17 or newer: apt-get install openjdk-17-jdk-headless' is_java_17
      java "$file" ;;
    *.go)
      need 'needs Go: apt-get install golang-go' command -v go
      # `go run` does not pass on the exit code.
      go build -o "$built/program" "$file"
      "$built/program" ;;
    *.mjs) node "$file" ;;
    *.lua)
      found=$(first has_luasocket lua lua5.4 lua5.3) || need 'needs LuaSocket: apt-get install lua5.4 lua-socket' false
      "$found" "$file" ;;
    *.c)
      need 'needs a C compiler: apt-get install gcc libc6-dev' command -v cc
      cc -Wall -Wextra -Werror -o "$built/program" "$file"
      "$built/program" ;;
    *.cs)
      need 'needs Mono: apt-get install mono-mcs libmono-system-net-http4.0-cil' command -v mcs
      mcs -warnaserror -r:System.Net.Http.dll -out:"$built/program.exe" "$file"
      mono "$built/program.exe" ;;
    *.ps1)
      need 'needs PowerShell 7, which Debian does not have' command -v pwsh
      pwsh -NoProfile -File "$file" ;;
    sessions/try.sh)
      need_php
      need_php_curl
      sh "$file" ;;
    *) echo "There is no example $1" >&2; exit 2 ;;
  esac
}

free_port() {
  node -e 'require("net").createServer().listen(0, "127.0.0.1", function () { console.log(this.address().port); this.close(); })'
}

run_all() {
  local work member example code passed=0 failed=0 skipped=0
  work=$(mktemp -d)
  if [[ -z ${GRIDNODE_URL:-} ]]; then
    : >"$work/log"
    "$program" serve --port 0 --host 127.0.0.1 --config "$folder/member.yaml" >"$work/log" 2>&1 &
    member=$!
    trap "kill $member; rm -r '$work'" EXIT
    until grep -q '"msg":"listening"' "$work/log"; do
      kill -0 "$member" || { cat "$work/log" >&2; exit 1; }
      sleep 0.1
    done
    GRIDNODE_URL=http://127.0.0.1:$(sed -nE 's/.*"port":([0-9]+).*"listening".*/\1/p' "$work/log")/grid
    export GRIDNODE_URL
  else
    trap "rm -r '$work'" EXIT
  fi
  export PORT=${PORT:-$(free_port)}
  for example in "$@"; do
    code=0
    : >"$work/diff"
    "$0" --start "$example" >"$work/output" 2>"$work/errors" || code=$?
    if ((code == 77)) && [[ -z ${ALL:-} ]]; then
      echo "skipped  $example: $(<"$work/errors")"
      skipped=$((skipped + 1))
    elif ((code == 0)) && diff "$folder/$(dirname "$example")/expected.txt" "$work/output" >"$work/diff"; then
      echo "passed   $example"
      passed=$((passed + 1))
    else
      echo "failed   $example, exit code $code"
      cat "$work/errors" "$work/diff"
      failed=$((failed + 1))
    fi
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0))
}

case ${1:-} in
  --list) printf '%s\n' "${examples[@]}" ;;
  --start) start "$2" ;;
  '') run_all "${examples[@]}" ;;
  *) run_all "$@" ;;
esac
