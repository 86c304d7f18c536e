#!/bin/sh
# A job that cron starts on many machines, and that runs on one of them. Run: sh once.sh demo
# In a crontab, the same line on each machine; the job is done once for each name:
#
#     0 3 * * * sh once.sh "report-$(date +\%F)" /usr/local/bin/report
#
# once.sh NAME COMMAND...: waits for the lock NAME, runs the command unless it is marked as done,
# and marks it. If a machine dies, its session ends, and one that waits runs the command. If the
# session is lost meanwhile, the command gets SIGTERM. The command has its fence in GRID_FENCE: it
# is the way to refuse what a former holder of the lock still does.
#
# GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast. WAIT is
# the time to wait for the lock, in seconds; BEAT the interval of the heartbeats, a third of the
# time to live of the sessions. `gridnode cp lock` does this without curl, but for the mark.
set -eu
grid=${GRIDNODE_URL:-http://127.0.0.1:5701/grid}
group=$grid/v1/cp/example-jobs
marks=$grid/v1/maps/example-jobs/entries
wait=${WAIT:-600}
beat=${BEAT:-100}

# call STEP ARGUMENTS...: sends a request; sets $status and $content. Ends the program for others
# than these statuses. A request for the lock may be repeated if its response is lost.
call() {
  step=$1
  shift
  content=$(curl -sS --connect-timeout 5 --write-out '\n%{http_code}' "$@") || {
    echo "$step: no response" >&2
    exit 1
  }
  status=$(printf '%s' "$content" | tail -n 1)
  content=$(printf '%s' "$content" | sed '$d')
  case $status in
    20[0-4] | 404 | 409) ;;
    *)
      echo "$step: status $status: $content" >&2
      exit 1 ;;
  esac
}

# number NAME: prints a number of the JSON in $content.
number() { printf '%s' "$content" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }

# renew PROCESS: sends heartbeats. Ends the process once the session has ended, or two heartbeats
# have failed: then less than three times BEAT has passed.
renew() {
  trap 'kill "$sleeping" 2>/dev/null; exit' TERM
  failed=0
  while :; do
    sleep "$beat" &
    sleeping=$!
    wait "$sleeping"
    code=$(curl -sS --max-time $((beat / 3 + 1)) --output /dev/null --write-out '%{http_code}' \
      -X POST "$group/sessions/$session/heartbeat" 2>/dev/null) || code=000
    case $code in
      204) failed=0 ;;
      404) break ;;
      *)
        failed=$((failed + 1))
        [ "$failed" -lt 2 ] || break ;;
    esac
  done
  kill "$1" 2>/dev/null
}

# close: ends the heartbeats and the session, which releases the lock.
close() {
  [ -z "${renewing:-}" ] || kill "$renewing" 2>/dev/null || :
  [ -z "${session:-}" ] || curl -sS --max-time 10 --output /dev/null -X POST \
    "$group/sessions/$session/close" || :
}

once() {
  name=$1
  shift
  trap close EXIT
  running=
  trap '[ -z "$running" ] || kill "$running"; exit 143' TERM INT HUP
  call session --data-urlencode "name=$(hostname)" "$group/sessions"
  session=$(number id)
  call lock --max-time $((wait + 10)) -d "session=$session&wait=$wait" "$group/locks/$name"
  if [ "$status" != 200 ]; then
    echo "$name: another machine has the lock"
    return 0
  fi
  fence=$(number fence)
  call mark "$marks/$name"
  if [ "$status" = 200 ]; then
    echo "$name: done by $content"
    return 0
  fi
  GRID_FENCE=$fence "$@" &
  running=$!
  renew "$running" >/dev/null &
  renewing=$!
  code=0
  wait "$running" || code=$?
  if [ "$code" != 0 ]; then
    echo "$name: exit code $code"
    return "$code"
  fi
  call done -X PUT -H 'Grid-Time-To-Live: 172800' --data-binary "${HOST:-$(hostname)}" \
    "$marks/$name"
  echo "$name: done"
}

demo() {
  call clear -X DELETE "$grid/v1/maps/example-jobs"
  # Two machines at once: the second one waits, and finds the mark.
  work=$(mktemp -d)
  HOST=one sh "$0" report sh -c "touch '$work/runs'; sleep 1" &
  until [ -f "$work/runs" ]; do sleep 0.1; done
  HOST=two sh "$0" report echo 'this is not printed'
  wait
  # A machine that fails does not mark the job: the next one does it.
  HOST=one sh "$0" import sh -c 'exit 3' || :
  HOST=two sh "$0" import sh -c 'test "$GRID_FENCE" -gt 0 && echo "two imports"'
  # One that does not wait.
  HOST=one sh "$0" backup sh -c "touch '$work/backup'; sleep 1" &
  until [ -f "$work/backup" ]; do sleep 0.1; done
  HOST=two WAIT=0 sh "$0" backup true
  wait
  rm -r "$work"
  call clear -X DELETE "$grid/v1/maps/example-jobs"
}

if [ "$*" = demo ]; then demo; else once "$@"; fi
